#!/usr/bin/env bash
# Three terminal clients and one that attaches late, in tmux, while a tool waits for an answer: all show
# what is asked, two answer at the same moment, one of them counts and the others are told whose. Then the
# diff, and the change taken back.
#
#   tests/approvals.sh          checks it
#   tests/approvals.sh --show   prints the screens, too
#
# Spec: [APPR-01] [APPR-02] [APPR-03] [TUI-96] [TUI-97] [TUI-100] [UNDO-03]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

show=${1:-}
binary=$(realpath "${HARNESS_BIN:-target/release/harness}")
folder=$(mktemp -d)

# The server is this script's own: its socket is in the folder, so that nothing that runs beside it has the same.
tm() { tmux -S "$folder/tmux" "$@"; }
screen() { tm capture-pane -p -t "$1"; }
# Clients that lose their terminal keep their drafts before they end, so they are waited for.
finish() {
    local clients panes
    panes=$(tm list-panes -a -F '#{pane_pid}' 2>/dev/null | paste -sd, || true)
    clients=$([[ -z "$panes" ]] || pgrep -P "$panes" || true)
    tm kill-server 2>/dev/null || true
    [[ -z "${service:-}" ]] || kill "$service" 2>/dev/null || true
    for client in $clients ${service:-}; do
        timeout 10 tail --pid "$client" -f /dev/null || true
    done
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    printf 'approvals: %s\n' "$1" >&2
    for pane in ana ben cid dora; do
        printf -- '-- %s\n' "$pane" >&2
        screen "$pane" >&2 || true
    done
    cat "$folder/log" >&2
    exit 1
}

# Waits until a screen shows something, or does not any more.
shows() {
    for _ in $(seq 150); do
        screen "$1" | grep -- "$2" >/dev/null && return
        sleep 0.1
    done
    fail "$1 does not show: $2"
}
hides() {
    for _ in $(seq 150); do
        screen "$1" | grep -- "$2" >/dev/null || return 0
        sleep 0.1
    done
    fail "$1 still shows: $2"
}
shown() { [[ -z "$show" ]] || { printf '\n-- %s\n' "$2"; screen "$1"; }; }

export HARNESS_HOME="$folder/state" TERM=xterm-256color
unset NO_COLOR ACCESSIBLE TMUX EDITOR VISUAL
mkdir "$folder/try"
echo 'hello world' >"$folder/try/notes.txt"
(cd "$folder/try" && exec "$binary" serve --demo --port 0) >"$folder/log" 2>&1 &
service=$!
for _ in $(seq 600); do
    [[ -s "$HARNESS_HOME/service.json" ]] && break
    sleep 0.1
done
[[ -s "$HARNESS_HOME/service.json" ]] || fail 'the service does not listen'

attach() {
    tm -f /dev/null new-session -d -s "$1" -x 90 -y 26 -c "$folder/try" 'bash --norc'
    tm send-keys -t "$1" "'$binary' attach --name $1" Enter
    shows "$1" 'Enter prompt'
}
for client in ana ben cid; do attach "$client"; done

# All see what is asked, also the one that comes later.
tm send-keys -t ana -l 'change hello to goodbye in notes.txt'
tm send-keys -t ana Enter
for client in ana ben cid; do shows "$client" '? edit: changes notes.txt +1 -1'; done
attach dora
for client in ana ben cid dora; do
    for part in '-hello world' '+goodbye world' 'the mode asks before every change' '\[a allow\] ·'; do
        shows "$client" "$part"
    done
done
shown dora 'what the one sees that came late'
# What is typed goes to the draft, from the first letter that answers nothing.
tm send-keys -t cid -l 'look: a d s'
shows cid '│ look: a d s'
shows cid 'Tab or Ctrl+T'
[[ $(cat "$folder/try/notes.txt") == 'hello world' ]] || fail 'it was changed before the answer'
"$binary" conversations | grep 'waits for approval' >/dev/null || fail 'the list does not say what waits'

# Two answer at the same moment, with one key each.
shown ana 'with the focus'
tm send-keys -t ana a ';' send-keys -t ben d
for client in ana ben cid dora; do
    hides "$client" 'Tab or Ctrl+T'
    hides "$client" '\[a allow\]'
done
answered=$(grep -c '"type":"approval_answered"' "$HARNESS_HOME/conversations/"*.jsonl)
[[ $answered == 1 ]] || fail "it was answered $answered times"
if grep -q '"answer":"allow"' "$HARNESS_HOME/conversations/"*.jsonl; then
    told='allowed it' who=ana expected='goodbye world'
else
    told='denied it' who=ben expected='hello world'
fi
shows dora "$who $told"
shown dora 'what another sees of the answer'
for client in ana ben cid dora; do hides "$client" 'Ctrl+C cancels'; done
[[ $(cat "$folder/try/notes.txt") == "$expected" ]] || fail 'the answer is not what was done'
changed=$(grep -c '"type":"files_changed"' "$HARNESS_HOME/conversations/"*.jsonl || true)
if [[ $who == ana ]]; then
    [[ $changed == 1 ]] || fail "it was changed $changed times"
    shows dora 'changes .*notes.txt +1 -1'
    # And taken back.
    tm send-keys -t dora -l '/undo'
    tm send-keys -t dora Enter
    shows dora '1 file taken back'
    shows ben 'restored'
    shown ben 'what another sees of the undo'
    [[ $(cat "$folder/try/notes.txt") == 'hello world' ]] || fail 'it was not taken back'
else
    [[ $changed == 0 ]] || fail 'what was denied was done'
fi

kill "$service"
wait "$service" || fail 'the service did not end well'
service=
echo "approvals: ok, $who answered first"
