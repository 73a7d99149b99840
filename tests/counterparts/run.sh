#!/usr/bin/env bash
# Checks the service against independent implementations of the Messages API.
#
#   tests/counterparts/run.sh               all checks
#   HARNESS_BIN=… tests/counterparts/run.sh the same, with a binary that is built already
#
# llmock, llama.cpp's server (Python) and aimock (Node) are installed below target/counterparts on the
# first run, with the package managers' own settings. Installing them may take a quarter of an hour, and so
# may all checks together. Exits with 1 if a check fails, and 124 if the time is up.
set -euo pipefail

LLMOCK=llmock==0.2.2
AIMOCK=@copilotkit/aimock@1.43.0
LLAMACPP=(xllamacpp==2026.10.11549 gguf==0.19.0)
LIMIT=900

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export COUNTERPARTS="$root/target/counterparts"
venv="$COUNTERPARTS/venv"

# Runs a command in what is left of the time. `timeout` ends the processes that it started.
bounded() {
    local left=$((LIMIT - SECONDS))
    timeout --kill-after=10 "$((left > 0 ? left : 1))" "$@"
}

build() {
    (cd "$root" && cargo build --locked --quiet)
    HARNESS_BIN="${CARGO_TARGET_DIR:-$root/target}/debug/harness"
}

install_python() {
    [[ -x "$venv/bin/python" ]] || bounded python3 -m venv "$venv"
    bounded "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$LLMOCK" "${LLAMACPP[@]}"
}

install_aimock() {
    local manifest="$COUNTERPARTS/node_modules/${AIMOCK%@*}/package.json"
    if ! grep -qs "\"version\": \"${AIMOCK##*@}\"" "$manifest"; then
        bounded npm install --prefix "$COUNTERPARTS" --no-save --ignore-scripts \
            --no-audit --no-fund --silent "$AIMOCK"
    fi
}

[[ -n "${HARNESS_BIN:-}" ]] || build
export HARNESS_BIN
SECONDS=0

mkdir -p "$COUNTERPARTS"
install_python
install_aimock

# All run, whatever the first one says. The network has taken none of their time.
SECONDS=0
status=0
bounded "$venv/bin/python" "$root/tests/counterparts/llmock_check.py" || status=$?
bounded "$venv/bin/python" "$root/tests/counterparts/llamacpp_check.py" || status=$?
bounded node "$root/tests/counterparts/aimock_check.mjs" || status=$?
exit "$status"
