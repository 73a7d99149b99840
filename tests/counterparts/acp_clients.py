"""Clients of the Agent Client Protocol that others wrote: the official libraries for Python and TypeScript, and acpx.

A test drives each one by the names of the protocol. `install` puts them into a folder.
"""

import asyncio
import json
import logging
import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from acp_wire import story, wires  # noqa: E402
from harness import LIMIT, Failure, wait_until  # noqa: E402

PIP = ("agent-client-protocol==0.12.1", "jsonschema==4.26.0")
SDK = "@agentclientprotocol/sdk@2.4.0"
ACPX = "acpx@0.19.1"
NODE, OLDEST_NODE = "22.23.3", (22, 13)


def expect(what, found, expected):
    """Fails unless both are equal."""
    if found != expected:
        raise Failure(f"{what}: {found!r:.2000}\ninstead of {expected!r:.2000}")


class Client:
    """A bridge and the client library at its other end."""

    capabilities = {}

    def __init__(self, trial):
        self.updates, self.asked, self.withdrawn = [], [], []
        # Permissions are answered with this option; with none they wait.
        self.option = "once"
        command, self.logs = trial.bridge()
        self.start(command, trial)
        self.wire = wait_until("the bridge starts", lambda: wires(self.logs))[0]
        info = {"name": "acp-check", "version": "1"}
        self.ask("initialize", protocolVersion=1, clientCapabilities=self.capabilities, clientInfo=info)

    def ask(self, method, **params):
        """Calls a method, and waits for its answer."""
        return self.begin(method, **params).result(LIMIT)

    def prompt(self, session, calls):
        """Sends a prompt; its end is in the answer."""
        prompt = [{"type": "text", "text": json.dumps(calls)}]
        return self.begin("session/prompt", sessionId=session, prompt=prompt)

    def turn(self, session, calls, option="once"):
        """Sends a prompt, and returns its updates at its end."""
        self.choose(option)
        expect("the end of the turn", self.prompt(session, calls).result(LIMIT)["stopReason"], "end_turn")
        return self.wire.exchange("session/prompt")[0]

    def choose(self, option):
        """Answers permissions with an option from now on."""
        self.option = option

    def end(self):
        """Closes the standard input of the bridge, which ends then."""
        sent = self.wire.updates()
        wait_until("the library hands on every update", lambda: len(self.updates) >= len(sent))
        self.close()
        wait_until("the bridge ends", lambda: self.wire.exit_code() is not None)
        expect("the exit code", self.wire.exit_code(), 0)


class PythonClient(Client):
    """The official library for Python."""

    methods = {"initialize": "initialize", "session/new": "new_session", "session/load": "load_session",
               "session/resume": "resume_session", "session/list": "list_sessions", "session/prompt": "prompt",
               "session/cancel": "cancel"}

    def start(self, command, trial):
        import acp

        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.bridge = acp.spawn_agent_process(self, *command, env=trial.environment)
        self.agent, _ = self.run(self.bridge.__aenter__()).result(LIMIT)

    def run(self, task):
        return asyncio.run_coroutine_threadsafe(task, self.loop)

    def begin(self, method, **params):
        names = {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name): value for name, value in params.items()}
        return self.run(self.answer(getattr(self.agent, self.methods[method]), names))

    async def answer(self, method, params):
        answer = await method(**params)
        return answer and answer.model_dump(mode="json", by_alias=True)

    async def session_update(self, session_id, update, **_):
        """Called by the library."""
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        """Called by the library."""
        self.asked.append({"options": [option.model_dump(by_alias=True) for option in options]})
        while self.option is None:
            await asyncio.sleep(0.01)
        return {"outcome": {"outcome": "selected", "optionId": self.option}}

    def close(self):
        self.run(self.bridge.__aexit__(None, None, None)).result(LIMIT)
        self.loop.call_soon_threadsafe(self.loop.stop)


class NodeClient(Client):
    """The official library for TypeScript."""

    capabilities = {"session": {"notices": {}}}

    def start(self, command, trial):
        script = trial.counterparts / "sdk" / "acp_client.mjs"
        shutil.copy(HERE / "acp_client.mjs", script)
        self.open = {}
        self.errors = self.logs / "client.txt"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(["node", script, *command], env=trial.environment, text=True, bufsize=1,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Reads the lines of the client."""
        for line in self.process.stdout:
            entry = json.loads(line)
            if "error" in entry:
                self.open.pop(entry["id"]).set_exception(Failure(str(entry["error"])))
            elif "id" in entry:
                self.open.pop(entry["id"]).set_result(entry["result"])
            for name, entries in (("update", self.updates), ("asked", self.asked), ("withdrawn", self.withdrawn)):
                if name in entry:
                    entries.append(entry[name])
        for answer in self.open.values():
            answer.set_exception(Failure("the client has ended"))

    def begin(self, method, **params):
        answer = Future()
        name = f"{method} {id(answer)}"
        self.open[name] = answer
        self.process.stdin.write(json.dumps({"id": name, "method": method, "params": params}) + "\n")
        return answer

    def choose(self, option):
        self.process.stdin.write(json.dumps({"option": option}) + "\n")

    def close(self):
        self.process.stdin.close()
        self.process.wait(LIMIT)
        expect("complaints of the library", self.errors.read_text(), "")


class Complaints(logging.Handler):
    """The complaints of the library for Python."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.found = []

    def emit(self, record):
        # This library cannot be told that a request is taken back.
        if "method=$/cancel_request" not in record.getMessage():
            self.found.append(f"{record.getMessage()}: {record.exc_info and record.exc_info[1]}")


class Acpx:
    """acpx, whose sessions are in the home folder of the trial."""

    def __init__(self, trial, cwd, environment, *flags):
        installed = trial.counterparts / "acpx" / "node_modules"
        node = next(installed.glob("node-*/bin/node"), "node")
        bridge, self.logs = trial.bridge(*flags)
        # The process that keeps a session ends after a second without a prompt.
        self.command = [node, installed / "acpx" / "dist" / "cli.js", "--agent", shlex.join(bridge), "--cwd", cwd,
                        "--ttl", "1"]
        self.environment = environment

    def start(self, *words):
        """Starts a command."""
        return subprocess.Popen([*self.command, *words], env=self.environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def output(self, *words, process=None):
        """The standard output of a command, which must succeed."""
        process = process or self.start(*words)
        try:
            output, errors = process.communicate(timeout=5 * LIMIT)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise Failure(f"acpx {words} takes too long: {process.communicate()}") from error
        if process.returncode != 0:
            raise Failure(f"acpx {words}: {process.returncode}\n{output[-2000:]}{errors[-2000:]}")
        return output

    def turn(self, *words, process=None):
        """The updates that a prompt shows as JSON, and the reason of its end."""
        lines = [json.loads(line) for line in self.output(*words, process=process).splitlines()]
        shown = [line["params"]["update"] for line in lines if line.get("method") == "session/update"]
        return story(shown), lines[-1]["result"]["stopReason"]


def npm(folder, *packages):
    """Installs packages into a folder of their own, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "installed"
    if not mark.exists() or mark.read_text() != " ".join(packages):
        mark.unlink(missing_ok=True)
        flags = ("--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        subprocess.run(["npm", "install", "--prefix", folder, *flags, *packages], check=True, timeout=600)
        mark.write_text(" ".join(packages))


def node_packages():
    """The package with a Node that acpx can use; none where the system has one."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(int(number) for number in version.strip("v\n").split(".")[:2]) >= OLDEST_NODE:
        return []
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return [f"node-{platform.system().lower()}-{machine}@{NODE}"]


def install(folder):
    """Installs the clients."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, timeout=600)
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PIP]
    subprocess.run(command, check=True, timeout=600)
    npm(folder / "sdk", SDK)
    try:
        npm(folder / "acpx", ACPX, *node_packages())
    except subprocess.SubprocessError as error:
        print(f"acpx cannot be installed: {error}", flush=True)
