#!/usr/bin/env bash
# Checks the service against independent servers and clients of the Messages API, MCP servers, and clients of the Agent
# Client Protocol.
#
#   tests/counterparts/run.sh               all checks
#   HARNESS_BIN=… tests/counterparts/run.sh the same, with a binary that is built already
#   tests/counterparts/run.sh --gateway     behind LiteLLM's gateway, which is large, and nothing else
#
# llmock, llama.cpp's server and the vendor's client (Python), aimock and the vendor's client (Node), and public MCP
# servers and the clients of editors of both, are installed below target/counterparts on the first run, with the package
# managers' own settings. Installing them may take a quarter of an hour, and so may all checks together. Exits with 1 if a
# check fails, and 124 if the time is up.
set -euo pipefail

LLMOCK=llmock==0.2.2
NODE=(@copilotkit/aimock@1.43.0 @anthropic-ai/sdk@1.14.0 @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31)
MCP=(mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 mcp-server-fetch==2026.10.24)
# It works with the older library only.
MCP_OLD=(mcp-server-sqlite==2025.4.25 'mcp<2')
CLIENT=anthropic==2.14.0
LLAMACPP=(xllamacpp==2026.10.11549 gguf==0.19.0)
# What the gateway needs of its extra `proxy`, of which one package is not in every index.
GATEWAY=(litellm==1.110.2 uvicorn uvloop fastapi starlette backoff pyyaml rq orjson hiredis apscheduler fastapi-sso pyjwt
    python-multipart cryptography pynacl websockets boto3 azure-identity azure-storage-blob mcp httpx2 litellm-proxy-extras
    litellm-enterprise restrictedpython rich inquirerpy tomlkit soundfile expression backports-zstd semver polars granian
    gunicorn)
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
    bounded "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        "$LLMOCK" "$CLIENT" "${LLAMACPP[@]}"
    install_servers mcp "${MCP[@]}"
    install_servers mcp-old "${MCP_OLD[@]}"
}

# Installs packages into a folder of their own.
install_servers() {
    local folder="$COUNTERPARTS/$1"
    shift
    [[ -x "$folder/bin/python" ]] || bounded python3 -m venv "$folder"
    bounded "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

install_node() {
    local package
    for package in "${NODE[@]}"; do
        grep -qs "\"version\": \"${package##*@}\"" "$COUNTERPARTS/node_modules/${package%@*}/package.json" && continue
        # All at once: npm removes what it is not told to keep.
        bounded npm install --prefix "$COUNTERPARTS" --no-save --ignore-scripts \
            --no-audit --no-fund --silent "${NODE[@]}"
        return
    done
}

[[ -n "${HARNESS_BIN:-}" ]] || build
export HARNESS_BIN
SECONDS=0

mkdir -p "$COUNTERPARTS"
if [[ "${1:-}" == --gateway ]]; then
    install_python
    [[ -x "$COUNTERPARTS/gateway/bin/python" ]] || bounded python3 -m venv "$COUNTERPARTS/gateway"
    bounded "$COUNTERPARTS/gateway/bin/python" -m pip install --quiet --disable-pip-version-check "${GATEWAY[@]}"
    LITELLM="$COUNTERPARTS/gateway/bin/litellm" bounded "$venv/bin/python" "$root/tests/counterparts/litellm_check.py"
    exit
fi
install_python
install_node
bounded python3 "$root/tests/counterparts/acp_check.py" --install

# All run, whatever the first one says. The network has taken none of their time.
SECONDS=0
status=0
bounded "$venv/bin/python" "$root/tests/counterparts/llmock_check.py" || status=$?
bounded "$venv/bin/python" "$root/tests/counterparts/llamacpp_check.py" || status=$?
bounded node "$root/tests/counterparts/aimock_check.mjs" || status=$?
bounded "$venv/bin/python" "$root/tests/counterparts/sdk_check.py" --seed 1 || status=$?
bounded "$venv/bin/python" "$root/tests/counterparts/mcp_check.py" || status=$?
bounded "$COUNTERPARTS/acp/venv/bin/python" "$root/tests/counterparts/acp_check.py" || status=$?
exit "$status"
