#!/usr/bin/env bash
# The first steps of the README and the manual, with the built program: start the demo, watch, prompt, cancel;
# then prompt from the command line, kill the service in a reply, and come back; then queues,
# settings, skills, templates, files, a summary, what it all cost, and changes that are asked about. Last, the shell
# blocks of README and docs/ as they stand there (tests/pages.py).
#
#   tests/first_steps.sh          checks the steps
#   tests/first_steps.sh --show   prints what a newcomer sees, too
#
# Spec: [HTTP-01] [HTTP-02] [HTTP-05] [HTTP-14] [HTTP-20] [CONV-61]
# Spec: [CLI-70] [CLI-71] [CLI-72] [CLI-73] [CLI-75] [CLI-76] [GUIDE-60] [GUIDE-61] [ATT-13]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

show=${1:-}
folder=$(mktemp -d)
service=
client=

finish() {
    [[ -z "$client" ]] || kill "$client" 2>/dev/null || true
    [[ -z "$service" ]] || kill "$service" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    printf 'first steps: %s\n' "$1" >&2
    cat "$folder/events" "$folder/log" >&2
    exit 1
}

# Waits until a file holds a line that matches.
wait_for() {
    for _ in $(seq 600); do
        grep -q -- "$1" "$2" 2>/dev/null && return
        sleep 0.1
    done
    fail "no line like $1"
}

# Keeps in a file what a stream sends, until it has sent a line that matches.
follow() {
    curl --silent --no-buffer "${@:3}" >"$2" &
    local stream=$!
    wait_for "$1" "$2"
    kill "$stream" 2>/dev/null || true
    wait "$stream" 2>/dev/null || true
}

post() {
    curl --silent --show-error --fail-with-body -X POST "$url$1" "${@:2}"
}

touch "$folder/events" "$folder/log"
cargo build --release --locked --quiet
program=$(realpath "${CARGO_TARGET_DIR:-target}/release/harness")

harness() {
    env -i PATH="$PATH" HARNESS_HOME="$folder/state" HARNESS_REQUIRE_TOKEN=false \
        "$program" "$@"
}

serve() {
    harness serve --demo --port 0 >"$folder/out" 2>>"$folder/log" &
    wait_for 'harness listens on' "$folder/out"
    url=$(sed -n 's/^harness listens on //p' "$folder/out")
    # The shell's child is a subshell or the program itself, depending on the shell.
    service=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$folder/state/service.json")
}

serve

curl --silent --no-buffer "$url/events" >"$folder/events" &
client=$!
wait_for ': connected' "$folder/events"

post /prompt -H 'content-type: application/json' \
    -d '{"content": "list src, read README.md lines 1-3 and grep \"fn main\" in src"}' >"$folder/answer"
grep -q '"run_id":1' "$folder/answer" || fail "the prompt was not accepted"
wait_for '"state":"idle"' "$folder/events"
for part in \
    '"type":"user"' \
    '"name":"list_dir","input":{"path":"src"}' \
    '"name":"read","input":{"path":"README.md","start_line":1,"end_line":3}' \
    '"name":"grep","input":{"pattern":"fn main","path":"src","recursive":true}' \
    'main.rs' \
    '# Harness' \
    'fn main() {'; do
    grep -qF -- "$part" "$folder/events" || fail "the events lack $part"
done
if grep -q '"isError":true' "$folder/events"; then fail "a tool failed"; fi

post /prompt -H 'content-type: application/json' -d '{"content": "tell me a long story"}' >/dev/null
follow '"type":"delta"' "$folder/followed" "$url/v1/conversations/default/events"
[[ $(post /cancel) == '{"cancelled":true}' ]] || fail "the run was not cancelled"
wait_for '"state":"idle","message":"cancelled"' "$folder/events"
grep -q '"partial":true' "$folder/events" || fail "the text so far was not kept"

[[ "$show" != --show ]] || cat "$folder/events"

# From the command line, in a conversation of its own.
id=$(harness conversations new --title Bedtime)
harness prompt -c "$id" "list src" >"$folder/reply" 2>"$folder/tools" || fail "the prompt failed"
grep -q 'entries' "$folder/reply" || fail "the reply did not arrive"
harness prompt -c "$id" --key story-1 "tell me a long story" >"$folder/story" 2>"$folder/remarks" &
client=$!
wait_for 'Hour 1' "$folder/story"
follow '"type":"delta"' "$folder/followed" "$url/v1/conversations/$id/events?tail=1"
last=$(sed -n 's/^id: //p' "$folder/followed" | tail -n 1)

# Killed in the middle of the reply, and started again.
kill -KILL "$service"
for _ in $(seq 100); do kill -0 "$service" 2>/dev/null || break; sleep 0.1; done
serve
wait "$client" && fail "an interrupted run is no success"
client=
harness conversations | tee "$folder/list" | grep "$id *interrupted" >/dev/null || fail "the run is not called interrupted"
harness prompt -c "$id" "list src" >"$folder/reply" 2>"$folder/tools" || fail "the prompt failed"
follow '"outcome":"completed"' "$folder/resumed" -H "Last-Event-ID: $last" "$url/v1/conversations/$id/events"
grep -q "^id: $last$" "$folder/resumed" || fail "the stream does not open where the client was"
for part in '"outcome":"interrupted"' '"type":"run_started","run_id":3' '"outcome":"completed"'; do
    grep -qF -- "$part" "$folder/resumed" || fail "the resumed stream lacks $part"
done
harness prompt -c "$id" --key story-1 "tell me a long story" 2>"$folder/remarks" && fail "the key ran again"
harness doctor >"$folder/doctor" || fail "a journal is damaged"
[[ "$show" != --show ]] || cat "$folder/list" "$folder/resumed" "$folder/doctor"

# Runs a command, shows it when asked to, and looks for each part in what it prints.
expect() {
    local parts=()
    while [[ "$1" != -- ]]; do parts+=("$1"); shift; done
    shift
    "$@" >"$folder/shown" 2>&1 || fail "$* failed: $(cat "$folder/shown")"
    [[ "$show" != --show ]] || { echo "\$ $*"; cat "$folder/shown"; }
    for part in "${parts[@]}"; do
        grep -qF -- "$part" "$folder/shown" || fail "$* lacks $part: $(cat "$folder/shown")"
    done
}

# The last conversation of the folder is the one that commands are about.
expect 'entries' -- harness prompt -c default list src
expect "$id" 'Bedtime' 'default' -- harness conversations --here

# Steered while a run is going. A cancel keeps what waits, and the next run says it.
harness prompt "tell me a long story" >"$folder/story" 2>"$folder/remarks" &
client=$!
wait_for 'Hour 1' "$folder/story"
[[ $(harness steer read README.md lines 1-3) == 1 ]] || fail "the steering message has another number"
[[ $(harness follow-up --name ana list src) == 2 ]] || fail "the follow-up has another number"
harness follow-up list actors >/dev/null
expect '1 steering  read README.md lines 1-3' '2 follow-up (ana) list src' -- harness queue
expect 'withdrawn: 3' -- harness queue withdraw 3
expect 'the run was stopped' -- harness cancel
wait "$client" && fail "a cancelled run is no success"
client=
expect 'steering: read README.md lines 1-3' 'read: 3 of ' 'follow-up by ana: list src' 'entries' \
    -- harness continue
expect 'nothing waits' -- harness queue
harness continue >"$folder/shown" 2>&1 && fail "there was something to continue"
grep -q 'there is nothing to continue' "$folder/shown" || fail "it is not said why"

# Behind a limit.
id=$(harness conversations new --max-turns 1)
code=0
harness prompt -c "$id" list src >"$folder/shown" 2>&1 || code=$?
[[ $code == 4 ]] || fail "a limit ends with $code"
grep -q 'stopped: reached max_turns (1)' "$folder/shown" || fail "the limit is not told"
expect '`src` has' -- harness continue -c "$id"
expect 'entries' -- harness prompt -c default list src

expect 'claude-opus-5-5  (own)' 'high  (own)' 'read, grep  (own)' 'other tools       list_dir, edit, write' \
    -- harness settings set model=claude-opus-5-5 thinking=high tools=read,grep
expect 'there is no tool `list_dir`' -- harness prompt list src
harness settings set thinking=lots >"$folder/shown" 2>&1 && fail "a wrong value was taken"
grep -q '"thinking" cannot be "lots": it is off, minimal' "$folder/shown" || fail "it is not said why"
expect 'read, list_dir, grep, edit, write' -- harness settings unset tools thinking

# Written while the service runs.
mkdir -p "$folder/state/skills/release" "$folder/state/templates"
printf -- '---\nname: release\ndescription: What to look at before a release\n---\n%s\n' \
    'Read CHANGELOG.md lines 1-8.' >"$folder/state/skills/release/SKILL.md"
echo 'read $1 lines ${2:-1-3}' >"$folder/state/templates/look.md"
expect 'release  What to look at before a release' -- harness skills
expect 'I will read `CHANGELOG.md` lines 1-8, then list `src`.' -- harness skill release Then list src
expect 'look  read' -- harness templates
expect 'I will read `Cargo.toml` lines 1-3.' -- harness template look Cargo.toml
expect 'read src/main.rs lines 1 to 2' -- harness template look src/main.rs 1-2

expect 'not compacted: ' -- harness compact
expect 'compacted from about ' '.archive in the state folder' -- harness compact --force
compgen -G "$folder/state/conversations/default.*.archive" >/dev/null || fail "the old journal is gone"
curl --silent "$url/v1/conversations/default/history?after=0&limit=1" | grep '"type":"checkpoint"' >/dev/null \
    || fail "the journal does not begin with the summary"
expect 'I got 1 document' -- harness prompt --attach README.md "What is this?"
expect 'claude-opus-5-5 ' '$0.' 'unknown' 'Prices of ' -- harness usage
harness doctor >"$folder/doctor" || fail "a journal is damaged"

# A change: asked about, allowed by somebody else, denied where nobody can answer, and by a rule.
mkdir "$folder/try"
id=$(cd "$folder/try" && harness conversations new)
notes=$folder/try/notes.txt
expect 'write' 'notes.txt +1 -0' \
    -- harness prompt -c "$id" --mode edits 'write "hello world" to notes.txt'
[[ $(cat "$notes") == "hello world" ]] || fail "the file was not written"
harness prompt -c "$id" --asks wait 'change hello to goodbye in notes.txt' >"$folder/reply" 2>"$folder/tools" &
client=$!
wait_for 'waits for an answer' "$folder/tools"
for part in '? 1 edit: changes' '-hello world' '+goodbye world' "harness approve 1 -c $id"; do
    grep -qF -- "$part" "$folder/tools" || fail "the approval lacks $part"
done
expect "1 edit in $id" '+goodbye world' -- harness approvals --all
expect "$id" 'waits for approval' -- harness conversations
[[ $(cat "$notes") == "hello world" ]] || fail "the file was changed before the answer"
expect '1 allowed by ana' -- harness approve 1 -c "$id" --name ana
wait "$client" || fail "the run that was allowed failed"
client=
[[ $(cat "$notes") == "goodbye world" ]] || fail "the file was not changed"
code=0
harness prompt -c "$id" 'change goodbye to hello in notes.txt' >"$folder/reply" 2>"$folder/tools" || code=$?
[[ $code == 3 ]] || fail "a change that nobody allows ends with $code"
grep -q 'denied' "$folder/tools" || fail "it is not said that the change was denied"
expect 'allow edit(*.txt) for this conversation' -- harness rules -c "$id" --allow 'edit(*.txt)'
expect 'notes.txt +1 -1' -- harness prompt -c "$id" 'change goodbye to hello in notes.txt'
[[ $(cat "$notes") == "hello world" ]] || fail "the rule does not hold"
expect 'restored' '-hello world' '+goodbye world' -- harness undo -c "$id" --dry-run
expect 'restored' -- harness undo -c "$id"
[[ $(cat "$notes") == "goodbye world" ]] || fail "the change was not taken back"
[[ "$show" != --show ]] || cat "$folder/tools"

kill -TERM "$service"
for _ in $(seq 50); do kill -0 "$service" 2>/dev/null || break; sleep 0.1; done
kill -0 "$service" 2>/dev/null && fail "the service did not stop as asked"
service=
HARNESS_BIN=$program tests/pages.py
echo "first steps: as README and the manual say"
