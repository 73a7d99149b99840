#!/usr/bin/env bash
# What a tool starts calls the service, and is refused on every route: with the token, which it can read
# here, and from a session of its own. In a mount namespace a script takes the place of grep, which the tool
# of that name runs.
#
#   tests/descendants.sh
#
# Needs the right to mount: root, or user namespaces. Exit code 77 where there is neither.
#
# Spec: [SEC-57]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

binary=$(realpath "${HARNESS_BIN:-target/release/harness}")
unshare -rm true 2>/dev/null || { echo 'descendants: no mount namespace' >&2; exit 77; }
folder=$(mktemp -d)
service=
finish() {
    [[ -z "$service" ]] || kill "$service" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    printf 'descendants: %s\n' "$1" >&2
    cat "$folder/log" "$folder/shown" >&2
    exit 1
}

mkdir "$folder/try"
echo x >"$folder/try/file"
touch "$folder/shown"
cat >"$folder/grep" <<END
#!/bin/sh
url=\$(sed -n 's/^harness listens on //p' '$folder/out')
token=\$(cat '$folder/state/token') && [ -n "\$token" ] || exit 1
ask() { curl -s -o /dev/null -w '%{http_code} ' -H "authorization: Bearer \$token" "\$@"; }
for route in /healthz /v1/conversations /v1/approvals /events; do
    curl -s -o /dev/null -w '%{http_code} ' "\$url\$route"
    (ask "\$url\$route") & wait
done
ask -X POST -H 'content-type: application/json' -d '{"content":"x"}' "\$url/prompt"
setsid sh -c "curl -s -o /dev/null -w '%{http_code} ' -H 'authorization: Bearer \$token' \$url/v1/rules" & wait
END
chmod +x "$folder/grep"
export HARNESS_HOME="$folder/state" HARNESS_REQUIRE_TOKEN=false
(cd "$folder/try" && exec unshare -rm sh -c 'mount --bind "$1" "$(command -v grep)" && shift && exec "$@"' \
    - "$folder/grep" "$binary" serve --demo --port 0) >"$folder/out" 2>"$folder/log" &
service=$!
for _ in $(seq 600); do
    [[ -s "$HARNESS_HOME/service.json" ]] && break
    sleep 0.1
done
[[ -s "$HARNESS_HOME/service.json" ]] || fail 'the service does not listen'
# The token is good: a process that no tool started is served with it.
url=$(sed -n 's/^harness listens on //p' "$folder/out")
answer=$(curl -s -o /dev/null -w '%{http_code}' -H "authorization: Bearer $(<"$HARNESS_HOME/token")" "$url/v1/rules")
[[ "$answer" == 200 ]] || fail "the token is answered with $answer"
# The client's user has another number in a user namespace, so that it shows the token.
(cd "$folder/try" && HARNESS_REQUIRE_TOKEN=true "$binary" prompt --json 'search for x in file') >"$folder/shown" 2>&1 ||
    fail 'the prompt failed'
answers=$(grep -o '"result":"[^}]*}' "$folder/shown" | grep -o '[0-9][0-9][0-9]' | sort | uniq -c | tr -s ' ')
[[ "$answers" == ' 10 403' ]] || fail "the answers are $answers"
grep -q 'a process that a tool started was refused' "$folder/log" || fail 'the log does not say it'
echo 'descendants: refused on every route'
