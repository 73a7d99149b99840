#!/usr/bin/env bash
# The five commands of docs/workflows.md, as they stand there, from an empty folder: each prints what the page
# says it does, but for times, hashes and the names of folders.
#
#   HARNESS_BIN=target/release/harness tests/workflow_page.sh          checks the page
#   HARNESS_BIN=target/release/harness tests/workflow_page.sh --show   prints what a newcomer sees
#
# Spec: [FLOW-28] [FLOW-31] [FLOW-35] [FLOW-90] [FLOW-91]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

show=${1:-}
page=$(realpath docs/workflows.md)
binary=$(realpath "${HARNESS_BIN:-target/release/harness}")
folder=$(mktemp -d)
service=
finish() {
    [[ -z "$service" ]] || kill "$service" 2>/dev/null || true
    [[ -z "$service" ]] || wait "$service" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    printf 'the page of workflows: %s\n' "$1" >&2
    cat "$folder/log" >&2
    exit 1
}

# The page's part about the five commands, each block in a file: 1.sh, 1.text if its output is shown, 2.sh, …
mkdir "$folder/page" "$folder/bin" "$folder/home" "$folder/greetings"
touch "$folder/log"
awk -v to="$folder/page" '
    /^## / { part += 1 }
    part != 1 { next }
    file && /^```$/ { close(file); file = ""; next }
    file { print > file; next }
    /^```sh$/ { number += 1; file = to "/" number ".sh"; printf "" > file; next }
    /^```text$/ { file = to "/" number ".text"; printf "" > file; next }
' "$page"
[[ $(ls "$folder/page" | grep -c 'sh$') == 5 ]] || fail "these are not five commands"

# Leaves out what is different each time.
plain() {
    sed -E -e 's/\r$//' \
        -e 's/^[0-9]{2}:[0-9]{2}:[0-9]{2}Z /TIME /' \
        -e 's/greetings-[0-9a-f]{6}/greetings-ID/g' \
        -e 's/\b[0-9a-f]{64}\b/HASH/g' -e 's/\b[0-9a-f]{7,8}\b/HASH/g' \
        -e 's/in [0-9]+\.[0-9] s/in N s/' \
        -e 's|/[^ ]*/harness/worktrees/|WORKTREES/|g'
}

ln -s "$binary" "$folder/bin/harness"
export PATH="$folder/bin:$PATH" HOME="$folder/home" HARNESS_PORT=0 HARNESS_REQUIRE_TOKEN=false
export GIT_AUTHOR_NAME=Ana GIT_AUTHOR_EMAIL=ana@localhost
export GIT_COMMITTER_NAME=Ana GIT_COMMITTER_EMAIL=ana@localhost
unset HARNESS_HOME HARNESS_WORKTREES XDG_CACHE_HOME ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN
cd "$folder/greetings"

answer() {
    for _ in $(seq 600); do grep -q 'approve?' "$output" && break; sleep 0.1; done
    grep -q 'approve?' "$output" || fail "nobody is asked"
    echo y
}

for number in 1 2 3 4 5; do
    command=$(<"$folder/page/$number.sh")
    output=$folder/$number.out
    case $number in
        3)
            # It stays, as it does for a reader.
            eval "$command" >"$output" 2>>"$folder/log"
            service=$!
            for _ in $(seq 600); do grep -q 'listens on' "$output" && break; sleep 0.1; done
            grep -q 'listens on' "$output" || fail "the service does not listen"
            ;;
        4)
            # On a terminal, since it asks a person, who answers what was asked.
            touch "$output"
            answer | NO_COLOR=1 timeout 300 script --quiet --flush --return --command "$command" /dev/null >"$output" \
                || fail "command $number failed: $(cat "$output")"
            ;;
        *)
            timeout 300 bash -c "$command" >"$output" 2>&1 || fail "command $number failed: $(cat "$output")"
            ;;
    esac
    [[ "$show" != --show ]] || { echo "\$ $command"; cat "$output"; }
    [[ -f "$folder/page/$number.text" && "$show" != --show ]] || continue
    plain <"$output" >"$folder/seen"
    plain <"$folder/page/$number.text" >"$folder/said"
    diff "$folder/said" "$folder/seen" >&2 || fail "command $number prints something else than the page says"
done

[[ $(git show harness/greetings:notes.txt) == "goodbye world" ]] || fail "the work is not on its branch"
[[ $(git log --format=%s harness/greetings) == $'farewell\ngreeting\nStart' ]] || fail "these are other commits"
[[ $(git status --short) == "?? greetings.toml" ]] || fail "something is in the folder that nobody put there"
echo "the page of workflows: its five commands do what it says"
