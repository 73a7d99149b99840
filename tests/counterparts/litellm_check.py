"""Checks the service behind LiteLLM's gateway, in front of a server that takes a field of a beta only with its header.

The gateway keeps headers and leaves fields out, or the other way round, as its version has it: every turn completes, with
betas, with a schema, and with the tools for the web left as they are or switched on. Left as they are, they are off.

Needs `HARNESS_BIN`, the path of the binary, `anthropic` beside the Python that runs this, and `LITELLM`, the gateway's
program.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from harness import DEFAULT, Failure, Service, wait_until  # noqa: E402
from sdk_check import REFUSALS, SCHEMA, Api  # noqa: E402

MODEL = "claude-opus-5-5"
TURNS = 4


def refuse(header, body):
    """The words for a request that has the field of a beta without its header."""
    for name, (field, words) in REFUSALS.items():
        if field in body and name not in header:
            return words
    return None


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def listens(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def check(folder, port, api, web):
    """Runs some turns with the tools for the web set so."""
    first = len(api.requests)
    service = Service(folder, "--refusal-fallback", "on", "--clear-tool-results", "true", "--web-search", web,
                      model=("--model", MODEL))
    service.environment.update({"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "sk-test"})
    service.start()
    try:
        for number in range(TURNS):
            prompt = {"content": f"Prompt {number}."}
            if number == TURNS - 1:
                prompt["schema"] = SCHEMA
            service.order("POST", f"/v1/conversations/{DEFAULT}/prompt", prompt)
            service.wait_for_end(DEFAULT)
        ends = [entry["event"] for entry in service.history(DEFAULT) if entry["event"]["type"] == "run_ended"]
    finally:
        service.kill()
    if len(ends) != TURNS or any(end["outcome"] != "completed" for end in ends):
        raise Failure(f"a turn with web_search={web} failed: {ends}")
    asked = [body for _, _, body in api.requests[first:]]
    if len(asked[-1]["messages"]) != 2 * TURNS - 1:
        raise Failure(f"something was left out: {asked[-1]['messages']}")
    searches = [any(tool["name"] == "web_search" for tool in body["tools"]) for body in asked]
    if any(searches) != (web == "on"):
        raise Failure(f"with web_search={web} the tools are {[tool['name'] for tool in asked[0]['tools']]}")
    print(f"web_search={web}: {TURNS} turns by {len(asked)} requests; the last one has {sorted(asked[-1])}", flush=True)


def main():
    api, port = Api([], refuse), free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        way = {"model": f"anthropic/{MODEL}", "api_base": api.url, "api_key": "k"}
        settings = {"model_list": [{"model_name": MODEL, "litellm_params": way}],
                    "general_settings": {"master_key": "sk-test"}}
        (folder / "gateway.yaml").write_text(json.dumps(settings))
        # It knows its prices and headers without a look at the network.
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True"}
        command = [os.environ["LITELLM"], "--config", str(folder / "gateway.yaml"), "--host", "127.0.0.1", "--port", str(port)]
        with open(folder / "gateway.log", "wb") as log:
            gateway = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            wait_until("the gateway listens", lambda: listens(port), 150)
            for web in ("auto", "on"):
                check(folder / web, port, api, web)
        except Failure as error:
            sys.exit(f"{error}\n{(folder / 'gateway.log').read_text(errors='replace')[-2000:]}")
        finally:
            gateway.terminate()
            gateway.wait()


if __name__ == "__main__":
    main()
