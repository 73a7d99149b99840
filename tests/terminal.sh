#!/usr/bin/env bash
# Two terminal clients on one conversation, in tmux: a prompt in one is seen in both while the reply
# streams, with its tools; Ctrl+C in the other cancels it; both end with the same text. Then what
# only a real shell and a real multiplexer show: suspend and resume, pasting, another size; a file that
# goes along, a command, the prompts of the past, and going back to one.
#
#   tests/terminal.sh          checks it
#   tests/terminal.sh --show   prints the screens, too
#
# Spec: [TUI-50] [TUI-51] [TUI-52] [TUI-57] [TUI-162] [TUI-166] [TUI-169] [TUI-170] [TUI-171] [TERM-04]
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
    printf 'terminal: %s\n' "$1" >&2
    for pane in ana ben; do
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
# Waits until both screens show the same of the conversation.
alike() {
    for _ in $(seq 150); do
        [[ "$(said ana)" == "$(said ben)" ]] && return
        sleep 0.1
    done
    fail "$1"
}
# What a screen shows of the conversation: without the first row, and only down to the line below.
# A client names itself `you`.
said() { screen "$1" | sed -e 1d -e '/^──/,$d' -e 's/^ *┃ you$/ ┃ ana/' -e 's/by you$/by ben/'; }
shown() { [[ -z "$show" ]] || { printf '\n-- %s\n' "$2"; screen "$1"; }; }

export HARNESS_HOME="$folder/state" TERM=xterm-256color
unset NO_COLOR ACCESSIBLE TMUX EDITOR VISUAL
"$binary" serve --demo --port 0 >"$folder/log" 2>&1 &
service=$!
for _ in $(seq 600); do
    [[ -s "$HARNESS_HOME/service.json" ]] && break
    sleep 0.1
done
[[ -s "$HARNESS_HOME/service.json" ]] || fail 'the service does not listen'

for client in ana ben; do
    tm -f /dev/null new-session -d -s "$client" -x 100 -y 32 'bash --norc'
    tm send-keys -t "$client" "'$binary' attach --name $client" Enter
done
shows ana '2 clients: you, ben'
shows ben '2 clients: you, ana'

# A prompt in one is seen in both, with its tools.
tm send-keys -t ana -l 'read README.md lines 1-3 and grep "fn main" in src'
tm send-keys -t ana Enter
for client in ana ben; do
    shows "$client" 'read README.md lines 1-3 and grep'
    shows "$client" '▸ read README.md lines 1 to 3 · 3 of '
    shows "$client" '▸ grep "fn main" src · 1 hit in 1 file'
done
for client in ana ben; do
    shows "$client" 'The tools have answered'
    hides "$client" 'Ctrl+C cancels'
done
alike 'the screens differ'
shown ana 'what ana sees'
shown ben 'what ben sees'

# A long reply is seen in both while it streams, and cancelled by the other.
tm send-keys -t ana -l 'tell me a long story'
tm send-keys -t ana Enter
for client in ana ben; do
    # The word for the activity changes; that something can be cancelled lasts.
    shows "$client" 'Ctrl+C cancels'
    shows "$client" 'Hour 1'
done
shown ben 'what ben sees of a reply that streams'
tm send-keys -t ben C-c
for client in ana ben; do
    hides "$client" 'Ctrl+C cancels'
    shows "$client" 'cancelled'
done
shows ana 'cancelled by ben'
alike 'the screens differ after the cancel'

# Another size, and text pasted by tmux, with line ends that do not send it.
tm resize-window -t ana -x 60 -y 20
shows ana 'cancelled'
tm set-buffer $'first line\nsecond line'
tm paste-buffer -p -t ana
shows ana '│ second line'
tm send-keys -t ana C-u
tm send-keys -t ana C-j
tm send-keys -t ana C-u
shows ana 'Enter prompt'

# A file of the folder is completed and goes along; both see it behind the prompt.
tm send-keys -t ben -l 'sum up @specs/httpmd'
shows ben 'specs/http.md'
tm send-keys -t ben Enter
shows ben 'attached  \[1\] specs/http.md'
shown ben 'what ben sees of a file that goes along'
tm send-keys -t ben Enter
for client in ana ben; do
    shows "$client" '\[http.md · text/plain'
    hides "$client" 'Ctrl+C cancels'
done

# A command that one runs is seen by both.
tm send-keys -t ben -l '!printf "%s-%s" run by-ben'
tm send-keys -t ben Enter
for client in ana ben; do
    shows "$client" 'run by-ben · exit 0'
done

# What was written before is found, and going back to it leaves the other where it is.
tm send-keys -t ben C-r
shows ben 'Prompts of the past'
tm send-keys -t ben -l 'SUM UP'
shows ben '1 of '
tm send-keys -t ben Enter
shows ben '│ sum up @specs/http.md'
tm send-keys -t ben C-u
tm send-keys -t ana -l '/rewind'
tm send-keys -t ana Enter
shows ana 'Go on from before'
tm send-keys -t ana Enter
shows ana '│ sum up'
shows ben 'branched by ana'
shown ana 'what ana sees of a branch'
tm send-keys -t ana C-u

# Back to the shell, and to the client again with its draft.
tm send-keys -t ana -l 'a draft'
shows ana 'a draft'
tm send-keys -t ana C-z
shows ana 'Stopped'
tm send-keys -t ana 'fg' Enter
shows ana '│ a draft'
tm send-keys -t ana C-u C-c
shows ana 'harness attach'

# Who leaves is seen to leave; the conversation goes on.
shows ben '1 client: you'
# Within a second of its cancel Ctrl+C does not leave.
tm send-keys -t ben C-d
shows ben 'harness attach'
kill "$service"
wait "$service" || fail 'the service did not end well'
service=
rm -f "$HARNESS_HOME/service.json"

# `harness` alone starts a service, which outlives it and its terminal.
tm send-keys -t ben "clear; '$binary' --demo" Enter
shows ben 'Enter prompt'
tm send-keys -t ben -l 'hello'
tm send-keys -t ben Enter
shows ben 'built-in demo'
tm kill-session -t ben
sleep 0.5
"$binary" conversations | grep default >/dev/null || fail 'the service did not outlive its terminal'
service=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$HARNESS_HOME/service.json")
kill "$service"
service=
echo 'terminal: ok'
