#!/usr/bin/env bash
# The first steps of the README, with the built program: start the demo, watch, prompt, cancel.
#
#   tests/first_steps.sh          checks the steps
#   tests/first_steps.sh --show   prints what a newcomer sees, too
#
# Spec: [HTTP-01] [HTTP-02] [HTTP-05] [HTTP-14]
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
env -i PATH="$PATH" HARNESS_HOME="$folder/state" \
    "${CARGO_TARGET_DIR:-target}/release/harness" serve --demo --port 0 \
    >"$folder/out" 2>"$folder/log" &
service=$!
wait_for 'harness listens on' "$folder/out"
url=$(sed -n 's/^harness listens on //p' "$folder/out")

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

kill -TERM "$service"
wait "$service" || fail "the service did not stop as asked"
service=
[[ "$show" != --show ]] || cat "$folder/events"
echo "first steps: as the README says"
