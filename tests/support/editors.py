"""Clients of a conversation whose service is killed: an editor with a `harness acp`, whose lines are judged, and a
plain client of the event stream; that service, and its model. The clients belong to a trial with a `session`, a
`service` and `decisions`: who answers a question about a call, after how long, and how.
"""

import collections
import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from harness import LIMIT, Failure, NoAnswer, Service, wait_until
from upstream import Pause

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "counterparts"))
from acp_wire import Judge  # noqa: E402

KEY = {"ANTHROPIC_API_KEY": "sk-ant-of-the-kills", "HARNESS_REQUIRE_TOKEN": "false"}
FINAL = ("completed", "failed")
# Place of the schema in the folder of the counterparts.
SCHEMA = Path("acp", "sdk", "node_modules", "@agentclientprotocol", "sdk", "schema", "v1", "schema.json")


class Violation(Exception):
    """A promise was broken."""


def texts(message):
    """The texts of a message of a request."""
    content = message["content"]
    return [content] if isinstance(content, str) else [part.get("text", "") for part in content]


def planned_reply(messages):
    """The next reply of a model, by the plan in the last prompt."""
    plan, made = {"replies": []}, 0
    for message in messages:
        if message["role"] == "assistant":
            made += 1
        elif given := [text for text in texts(message) if text.startswith('{"pause"')]:
            plan, made = json.loads(given[-1]), 0
    blocks = plan["replies"][made] if made < len(plan["replies"]) else [{"text": "There is no further reply."}]
    usage = {"input_tokens": 10, "output_tokens": 1}
    yield {"type": "message_start", "message": {"id": "msg_1", "model": "m", "role": "assistant", "content": [],
                                                "usage": usage}}
    for index, block in enumerate(blocks):
        text, call = block.get("text"), block.get("call")
        start = {"type": "text", "text": ""} if text else {"type": "tool_use", "id": call, "name": block["tool"],
                                                          "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for place in range(0, len(text or ""), 16):
            yield Pause(plan["pause"])
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": "text_delta", "text": text[place:place + 16]}}
        if call:
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if "call" in blocks[-1] else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    yield {"type": "message_stop"}


def is_running(process):
    """True while a process is there that has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def processes(folder):
    """The processes with a folder in their command, their environment or as their place."""
    found, mark = {}, str(folder)
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            traces = (command, (place / "environ").read_bytes().decode(errors="replace"), os.readlink(place / "cwd"))
        except OSError:
            continue
        if int(place.name) != os.getpid() and any(mark in trace for trace in traces) and is_running(place.name):
            found[int(place.name)] = command
    return found


class KilledService(Service):
    """The service. A bridge may start it, too, so its settings are in a file."""

    def __init__(self, folder, url):
        super().__init__(folder, model=())
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.home.mkdir(mode=0o700)
        (self.folder / "user").mkdir()
        workspace = self.folder / "workspace"
        settings = {"port": self.port, "base_url": url, "model": "claude-haiku-4-5", "workspace": str(workspace)}
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
        (self.home / "config.toml").write_text("".join(lines))
        self.environment = {**KEY, "HOME": str(self.folder / "user")}

    def surroundings(self):
        """The environment of its clients, one of which may start it."""
        return {"PATH": os.environ["PATH"], "HARNESS_HOME": str(self.home), **self.environment}

    def named(self):
        """The process that the state folder names."""
        try:
            return json.loads((self.home / "service.json").read_text())["pid"]
        except (OSError, ValueError):
            return 0

    def start(self):
        """Starts it, unless a bridge was faster."""
        try:
            super().start()
        except Failure:
            wait_until("the service of a bridge answers", self.answers)

    def answers(self):
        """True if it answers."""
        try:
            return self.call("GET", "/v1/service", headers=self.token()).status == 200
        except NoAnswer:
            return False

    def kill(self):
        """Ends the process that serves, whoever started it."""
        process = self.named()
        if is_running(process):
            os.kill(process, signal.SIGKILL)
            wait_until("the service is dead", lambda: not is_running(process))
        if self.is_alive():
            super().kill()


class AgentLines:
    """The judge of the lines of all bridges. Many lines of a replay are the same."""

    def __init__(self, path):
        self.judge, self.right, self.lock, self.count = None, set(), threading.Lock(), 0
        try:
            self.judge = Judge(path)
            self.judge.try_out()
        except (ImportError, OSError) as error:
            print(f"NOT CHECKED: the lines of the bridges, the schema or jsonschema is missing: {error}", flush=True)

    def fault(self, line, message, state):
        """The fault of a line; `None` if there is none."""
        with self.lock:
            self.count += 1
            if self.judge is None or line in self.right:
                return None
            fault = self.judge.message_fault(message, state)
            if fault is None and message.get("method") == "session/update":
                self.right.add(line)
            return fault and f"{fault}: {line[:600].decode(errors='replace').strip()}"


class Editor:
    """A bridge, and what an editor has from it."""

    def __init__(self, trial, place, earlier=None):
        self.trial, self.place, self.name = trial, place, f"editor-{next(trial.numbers)}"
        self.lock, self.ids = threading.Lock(), itertools.count(1)
        self.state = {"open": {}, "asked": set(), "sessions": set(), "offered": {}}
        # The requests by their ids: the method, the text of a prompt, and the answers.
        self.requests = {}
        # The messages and calls, in their order: the kind, the text or the call, and the status.
        self.parts = {}
        # The questions that are open, and how often each call was asked about.
        self.open, self.asked = {}, collections.Counter()
        self.own, self.faults, self.void = set(), [], set()
        # The calls whose questions it has answered.
        self.chosen = set()
        # True after an outage for which it may have given up following, until its next prompt.
        self.may_be_away = False
        # Those of the bridge before, if the session is resumed: calls without an end, and all ids of messages.
        self.is_resumed, self.floor, self.before, self.used = False, 0, {}, set()
        if earlier:
            self.is_resumed = True
            self.before = {part[1]: part[2] for part in earlier.calls() if part[2] not in FINAL}
            self.used = {key for key in earlier.parts if key[0] != "call"} | earlier.used
        with open(trial.folder / "bridges.log", "ab") as log:
            self.process = subprocess.Popen([os.environ["HARNESS_BIN"], "acp"], env=trial.environment, stderr=log,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        trial.started.append(self.process)
        threading.Thread(target=self.read, daemon=True).start()
        info = {"name": self.name, "version": "1"}
        self.ask("initialize", protocolVersion=1, clientInfo=info, clientCapabilities={})

    def calls(self):
        """The calls that it has, with those of the bridge before."""
        return [part for part in self.parts.values() if part[0] == "call"] + [
            ["call", call, status] for call, status in self.before.items()]

    def is_alive(self):
        """True while it runs."""
        return self.process.poll() is None

    def read(self):
        """Takes the lines of the bridge. The last one of a killed bridge may be a part."""
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break
            try:
                message = json.loads(line)
                with self.lock:
                    if fault := self.trial.lines.fault(line, message, self.state):
                        self.faults.append(fault)
                    self.take(message)
            except Exception as error:  # noqa: BLE001 - told at the end of the round
                self.faults.append(f"{error!r}: {line[:600]}")
        self.process.stdout.close()

    def take(self, message):
        """Does what an editor does with a message."""
        method, params = message.get("method"), message.get("params")
        if method == "session/update":
            self.update(params["update"])
        elif method == "session/request_permission":
            call = params["toolCall"]["toolCallId"]
            self.open[message["id"]] = call
            self.asked[call] += 1
            for delay, option in self.trial.decisions.get(call, {}).get(self.place, ()):
                threading.Timer(delay, self.choose, (message["id"], option)).start()
        elif method == "$/cancel_request":
            self.open.pop(params["requestId"], None)
        elif method is None:
            self.requests[message["id"]][2].append(message)

    def update(self, update):
        """Adds an update to what the editor has."""
        kind, call = update["sessionUpdate"], update.get("toolCallId")
        if kind.endswith("_message_chunk"):
            key, text = (kind[:-14], update["messageId"]), update["content"]["text"]
            self.parts.setdefault(key, [kind[:-14], ""])[1] += text
            if text in self.own:
                self.faults.append(f"its own prompt is sent back: {text[:200]}")
        elif kind == "tool_call":
            if ("call", call) in self.parts:
                self.faults.append(f"the call {call} is there twice")
            self.parts["call", call] = ["call", call, update["status"]]
        elif kind == "tool_call_update":
            if call in self.before:
                self.before[call] = update.get("status", self.before[call])
            elif ("call", call) in self.parts:
                self.parts["call", call][2] = update.get("status", self.parts["call", call][2])
            else:
                self.faults.append(f"an update is for the call {call}, which was not sent")

    def write(self, message):
        """Sends a message. The bridge may be dead."""
        with self.lock:
            if self.trial.lines.judge:
                self.trial.lines.judge.remember(message, self.state)
            try:
                self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
                self.process.stdin.flush()
            except (OSError, ValueError):
                return

    def request(self, method, text=None, **params):
        """Sends a request. Returns its id."""
        name = next(self.ids)
        self.requests[name] = (method, text, [])
        self.write({"id": name, "method": method, "params": params})
        return name

    def ask(self, method, **params):
        """Sends a request, and waits for its answer."""
        answers = self.requests[self.request(method, **params)][2]
        wait_until(f"{method} of {self.name} is answered", lambda: answers or not self.is_alive())
        if not answers or "error" in answers[0]:
            raise Violation(f"answers: {method} of {self.name}: {answers}")
        return answers[0]["result"]

    def attach(self, method):
        """Loads or resumes the session."""
        self.ask(method, sessionId=self.trial.session, cwd=self.trial.cwd, mcpServers=[])
        if method == "session/resume":
            # What comes until the bridge follows may be missed.
            wait_until(f"{self.name} follows", lambda: self.name in self.trial.plain.present)
            self.floor = self.trial.plain.last

    def prompt(self, text):
        """Sends a prompt."""
        self.own.add(text)
        self.may_be_away = False
        prompt = [{"type": "text", "text": text}]
        return self.request("session/prompt", text, sessionId=self.trial.session, prompt=prompt)

    def choose(self, request, option):
        """Answers a question, unless it was taken back."""
        with self.lock:
            call = self.open.pop(request, None)
        if call:
            self.chosen.add(call)
            self.write({"id": request, "result": {"outcome": {"outcome": "selected", "optionId": option}}})

    def kill(self):
        """Ends it with SIGKILL."""
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def leave(self):
        """Closes its standard input. Returns the exit code; that of a kill if it does not end in time."""
        self.process.stdin.close()
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def difference(self, journal):
        """The difference between what the editor has and the journal."""
        with self.lock:
            parts = [tuple(part) for part in self.parts.values() if part[1] not in self.own]
        want = [(seq, part) for seq, part in journal if part[1] not in self.own]
        said = {part[1] for _, part in want}
        parts = [part[:2] + ((part[2] if part[2] in FINAL else "open"),) if part[0] == "call" else part
                 for part in parts if part[0] != "agent" or part[1] in said or not self.is_void(part[1])]
        if self.is_resumed:
            least = sum(seq > self.floor for seq, _ in want)
            want = want[len(want) - max(len(parts), least):]
        want = [part for _, part in want]
        place = next((place for place, (one, other) in enumerate(zip(parts, want)) if one != other),
                     min(len(parts), len(want)))
        if parts == want:
            return []
        return [f"{self.name}, part {place} of {len(parts)} and {len(want)}: it has {parts[place:place + 3]!r:.700} "
                f"and the journal {want[place:place + 3]!r:.700}"]

    def is_void(self, text):
        """True if the text may be of a reply that a killed service left."""
        return any(self.trial.texts[token].startswith(text) for token in self.void)


class PlainClient(threading.Thread):
    """A plain client of the event stream, which comes back where it was."""

    def __init__(self, trial):
        super().__init__(daemon=True)
        self.trial, self.is_wanted = trial, True
        self.events, self.passing, self.faults, self.present = [], [], [], []
        self.last, self.position = 0, None
        self.start()

    def run(self):
        while self.is_wanted:
            try:
                self.follow()
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.02)

    def follow(self):
        """Follows one stream to its end."""
        connection = http.client.HTTPConnection("127.0.0.1", self.trial.service.port, timeout=2 * LIMIT)
        headers = self.trial.service.token() | ({"last-event-id": self.position} if self.position else {})
        connection.request("GET", f"/v1/conversations/{self.trial.session}/events?after=0&name=plain", headers=headers)
        name = None
        for line in connection.getresponse():
            field, _, value = line.decode().strip().partition(": ")
            if field == "id":
                name = value
            elif field == "data":
                self.take(name, json.loads(value))
            elif not field:
                name = None
        connection.close()

    def take(self, name, event):
        """Takes an event."""
        if name and event["type"] != "attached":
            seq = int(name.split("-")[1])
            if seq != self.last + 1:
                self.faults.append(f"event {seq} came behind {self.last}")
            self.last, self.position = seq, name
            self.events.append(event)
        elif event["type"] == "presence":
            self.present = event["names"]
        else:
            self.passing.append(event["type"])
        if event["type"] == "approval_asked":
            for delay, option in self.trial.decisions.get(event["call"], {}).get("plain", ()):
                threading.Timer(delay, self.trial.answer, (event, option)).start()
