#!/usr/bin/env bash
# A server of the Model Context Protocol over standard input and output, for tests. It notes what it hears in the file
# `heard` of its folder, where it may write, and describes the tool `echo` by the file `description` there.
heard=heard
touch "$heard" 2>/dev/null || heard=/dev/null
echo "started with $*" >&2

say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
text() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}],\"isError\":${2:-false}}"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":%s}' "$1" "$2" "${3:-{\"type\":\"object\"\}}"; }

list() {
  local all
  all=$(tool echo "$(cat description 2>/dev/null || echo Says it again)" \
    '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}')
  for name in where secret write fail die hang deaf asks shut junk flood huge leave bash list.more; do
    all+=",$(tool "$name" "Does $name")"
  done
  all+=",$(tool broken 'Its schema is none' '{"type":"array"}')"
  answer "{\"tools\":[$all]}"
}

call() {
  case $1 in
    echo) [[ $line =~ \"text\":\"([^\"]*)\" ]] && text "you said ${BASH_REMATCH[1]}" ;;
    where) text "$PWD ${ANTHROPIC_API_KEY:-no key} ${PASSED:-nothing passed}" ;;
    secret) text "the secret is $DEMO_TOKEN" ;;
    write) (echo made >made.txt) 2>/dev/null && text "made it" || text "cannot write" true ;;
    fail) text "it did not work" true ;;
    die) echo "out of ideas" >&2; exit 3 ;;
    hang) ;;
    deaf) exec sleep 1000 ;;
    shut) text "closes its input"; exec <&-; sleep 1000 ;;
    asks) answer '{"resultType":"input_required","inputRequests":{},"requestState":"x"}' ;;
    junk) say '{"jsonrpc":"2.0","id":9,"method":"no/such"}'; say 'this is no JSON'; say '{"jsonrpc":"2.0"}'; say '[]'; text "behind junk" ;;
    flood) head -c 20000000 /dev/zero | tr '\0' 'x' >&2; echo >&2; text "behind a flood" ;;
    huge) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
      head -c 3000000 /dev/zero | tr '\0' 'y'
      say '"}]}}' ;;
    leave) setsid sleep "$STAYS" >/dev/null 2>&1 & text "left something" ;;
    bash) text "not the shell" ;;
    *) text "no such tool" true ;;
  esac
}

while IFS= read -r line; do
  printf '%s\n' "$line" >>"$heard"
  id=
  [[ $line =~ ^\{\"jsonrpc\":\"2.0\",\"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"method":"initialize"'*)
      [[ $1 == mute ]] && continue
      [[ $1 == dead ]] && { echo "no such database" >&2; exit 1; }
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"demo","version":"1.2"}}' ;;
    *'"method":"tools/list"'*) list ;;
    *'"method":"tools/call"'*) [[ $line =~ \"name\":\"([^\"]*)\" ]] && call "${BASH_REMATCH[1]}" ;;
  esac
done
