#!/usr/bin/env bash
# Real EventSource clients lose nothing: Chromium, npm's `eventsource` and Python's `httpx-sse`
# follow the event streams while their connections are cut at random bytes and the service is
# killed and started again. Each must have seen exactly the records of the journal behind its start.
# Then pages that mean ill try in Chromium what a page can: the service takes nothing of it.
#
#   tests/eventsource/run.sh               with cuts that differ each time; prints their seed
#   SEED=… tests/eventsource/run.sh        the cuts of that seed
#   HARNESS_BIN=… tests/eventsource/run.sh with a binary that is built already
#
# The clients are installed below target/eventsource on the first run, with the package managers'
# own settings; Chromium is the one of the system. Exits with 1 if a check fails, 124 if the time
# is up.
#
# Spec: [HTTP-40] [HTTP-41] [HTTP-42]
set -euo pipefail

EVENTSOURCE_PACKAGE=eventsource@4.1.1
PLAYWRIGHT=playwright-core@1.65.1
HTTPX=(httpx==0.28.1 httpx-sse==0.4.3)
LIMIT=400

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export EVENTSOURCE="$root/target/eventsource"
venv="$EVENTSOURCE/venv"

# Installs a Debian package if a program is missing; only where nobody's machine is changed.
need() {
    command -v "$1" >/dev/null && return
    [[ -n "${CI:-}" ]] || { echo "$1 is missing; install the package $2" >&2; exit 1; }
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2"
}

# Installs an npm package in its version if it is not there.
npm_package() {
    local manifest="$EVENTSOURCE/node_modules/${1%@*}/package.json"
    grep -qs "\"version\": \"${1##*@}\"" "$manifest" && return
    timeout 300 npm install --prefix "$EVENTSOURCE" --no-save --ignore-scripts \
        --no-audit --no-fund --silent "$EVENTSOURCE_PACKAGE" "$PLAYWRIGHT"
}

need python3 python3
need node nodejs
need npm npm
need chromium chromium
CHROMIUM=$(command -v chromium)
export CHROMIUM

mkdir -p "$EVENTSOURCE"
npm_package "$EVENTSOURCE_PACKAGE"
npm_package "$PLAYWRIGHT"
[[ -x "$venv/bin/python" ]] || python3 -m venv "$venv"
timeout 300 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${HTTPX[@]}"

if [[ -z "${HARNESS_BIN:-}" ]]; then
    (cd "$root" && cargo build --locked --quiet)
    HARNESS_BIN="${CARGO_TARGET_DIR:-$root/target}/debug/harness"
fi
export HARNESS_BIN PYTHONDONTWRITEBYTECODE=1
timeout --kill-after=10 "$LIMIT" "$venv/bin/python" "$root/tests/eventsource/check.py"
timeout --kill-after=10 "$LIMIT" "$venv/bin/python" "$root/tests/eventsource/hostile.py"
