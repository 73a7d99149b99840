#!/usr/bin/env bash
# The first steps of the README, with the built program: start the demo, watch, prompt, cancel;
# then prompt from the command line, kill the service in a reply, and come back.
#
#   tests/first_steps.sh          checks the steps
#   tests/first_steps.sh --show   prints what a newcomer sees, too
#
# Spec: [HTTP-01] [HTTP-02] [HTTP-05] [HTTP-14] [HTTP-20] [CONV-61]
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
    for _ in $(seq 100); do
        grep -q -- "$1" "$2" 2>/dev/null && return
        sleep 0.1
    done
    fail "no line like $1"
}

post() {
    curl --silent --show-error --fail-with-body -X POST "$url$1" "${@:2}"
}

touch "$folder/events" "$folder/log"
cargo build --release --locked --quiet

harness() {
    env -i PATH="$PATH" HARNESS_HOME="$folder/state" \
        "${CARGO_TARGET_DIR:-target}/release/harness" "$@"
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
sleep 1
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
curl --silent --max-time 1 "$url/v1/conversations/$id/events?tail=1" >"$folder/followed" || true
last=$(sed -n 's/^id: //p' "$folder/followed" | tail -n 1)

# Killed in the middle of the reply, and started again.
kill -KILL "$service"
for _ in $(seq 100); do kill -0 "$service" 2>/dev/null || break; sleep 0.1; done
serve
wait "$client" && fail "an interrupted run is no success"
client=
harness conversations | tee "$folder/list" | grep -q "$id *interrupted" || fail "the run is not called interrupted"
harness prompt -c "$id" "list src" >"$folder/reply" 2>"$folder/tools" || fail "the prompt failed"
curl --silent --max-time 2 -H "Last-Event-ID: $last" "$url/v1/conversations/$id/events" >"$folder/resumed" || true
grep -q "^id: $last$" "$folder/resumed" || fail "the stream does not open where the client was"
for part in '"outcome":"interrupted"' '"type":"run_started","run_id":3' '"outcome":"completed"'; do
    grep -qF -- "$part" "$folder/resumed" || fail "the resumed stream lacks $part"
done
harness prompt -c "$id" --key story-1 "tell me a long story" 2>"$folder/remarks" && fail "the key ran again"
harness doctor >"$folder/doctor" || fail "a journal is damaged"
[[ "$show" != --show ]] || cat "$folder/list" "$folder/resumed" "$folder/doctor"

kill -TERM "$service"
for _ in $(seq 50); do kill -0 "$service" 2>/dev/null || break; sleep 0.1; done
kill -0 "$service" 2>/dev/null && fail "the service did not stop as asked"
service=
echo "first steps: as the README says"
