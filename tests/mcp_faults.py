#!/usr/bin/env python3
"""A thousand faults of MCP servers by chance, in conversations whose model is a script: HARNESS_BIN is the program,
built with `cargo build --release`.

    tests/mcp_faults.py [--faults N] [--seed N] [--only KIND,…] [--without KIND,…] [--keep-going]

Several conversations in several folders call the tools of two servers, a fake one with two limits of time. It dies,
hangs, floods, lies and changes, as the input of each call says. Some calls are cancelled, some conversations deleted,
and servers and the service itself are killed from outside. After each fault the run has ended with one result for each
call, a failure names the server, the next call works, and the service answers and has not grown. At the end no process
of a server is left. The seed names the faults; their times are not the same twice.

`--only` makes faults of these kinds alone, and `--without` none of these. `--keep-going` uses a new folder after each
violation; without it the first one ends the trial.

Spec: [MCP-05] [MCP-06] [MCP-07] [MCP-13] [CONV-34] [CONV-44] [CONV-61]
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import Failure, Journal, NoAnswer, Service, wait_until  # noqa: E402

# Number of folders, each with a thread that makes faults in it.
FOLDERS = 6
# Number of faults after which a conversation is left for a new one, which keeps requests small.
FAULTS_EACH = 12
# Number of times that the service is killed in a thousand faults, and the most starts without an answer.
SERVICE_KILLS, MUTE_STARTS = 5, 2
# Maximum time of an answer of the service, of a run, of the service's end, and until its servers have ended.
ANSWER_LIMIT, RUN_LIMIT, STOP_LIMIT, GONE_LIMIT = 5.0, 60.0, 6.0, 10.0
# Maximum resident memory of the service, in MiB.
MEMORY_LIMIT = 400
# The servers: the limit of one call of each, in milliseconds.
SERVERS = {"steady": 30_000, "hasty": 1_500}
# The words of the fake server in its own errors.
OWN_WORDS = "the fake server"
REFUSED = "harness mcp accept"

# The fake server. Its arguments are the folder of the trial, for which processes are searched, and its name.
SERVER = r'''
import json, os, signal, sys, time

MARKER, NAME = sys.argv[1:]
state = {"stubborn": False}
waiting = []


def write(data, to=1):
    while data:
        data = data[os.write(to, data):]


def say(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def hear():
    if waiting:
        return waiting.pop(0)
    line = sys.stdin.buffer.readline()
    if line:
        return json.loads(line)
    while state["stubborn"]:
        time.sleep(60)
    sys.exit(0)


def text(id, words, is_error=False):
    say(id=id, result={"content": [{"type": "text", "text": words}], "isError": is_error})


def forever():
    while True:
        time.sleep(60)


def file(name):
    try:
        with open(name) as opened:
            return json.load(opened)
    except (OSError, ValueError):
        return {}


def killed(id, given, meta):
    os.kill(os.getpid(), signal.SIGKILL)


def exits(id, given, meta):
    write(b"the fake server has no more ideas\n", 2)
    os._exit(given["code"])


def hangs(id, given, meta):
    forever()


def hangs_alone(id, given, meta):
    pass


def late(id, given, meta):
    time.sleep(given["seconds"])
    text(id, "too late")


def half(id, given, meta):
    line = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "x" * 900}]}})
    write(line.encode()[:given["bytes"]])
    os._exit(0)


def junk(id, given, meta):
    lines = [b"Welcome!", b"\xff\xfe\x00", b"{", b"[]", b"null", b"17", b'"text"', b'{"jsonrpc":"2.0"}', b"",
             b'{"jsonrpc":"1.0","id":1}', b'{"jsonrpc":"2.0","id":{},"result":{}}', b"\x1b[2J\r", b"[" * 5000]
    write(b"".join(lines[number] + b"\n" for number in given["lines"]))
    text(id, given["words"])


def junk_flood(id, given, meta):
    write(b'{"jsonrpc":"2.0","odd":true}\n' * 20000)
    text(id, given["words"])


def wrong_id(id, given, meta):
    for shift in given["shifts"]:
        text(id + shift if isinstance(shift, int) else shift, "for another call")


def twice(id, given, meta):
    text(id, given["words"])
    text(id, "again")
    say(id=id, error={"code": 1, "message": "and again"})


def odd_type(id, given, meta):
    say(id=id, **{given["member"]: given["value"]})


def deep(id, given, meta):
    nested = b'{"a":' * 50000 + b"1" + b"}" * 50000
    write(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (id, nested))


def error_object(id, given, meta):
    say(id=id, error={"code": given["code"], "message": given["words"], "data": given["data"]})


def huge(id, given, meta):
    text(id, "y" * 5000000)


def long_line(id, given, meta):
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
    for _ in range(20):
        write(b"z" * 1000000)
    forever()


def stderr_flood(id, given, meta):
    line = b"\x1b[31mthe fake server complains\x1b[0m" + b"." * 70 + (b"\n" if given["has_lines"] else b"")
    write(line * (5000000 // len(line)), 2)
    text(id, given["words"])


def notifications(id, given, meta):
    token = meta.get("progressToken")
    kinds = [("notifications/progress", {"progressToken": token, "progress": 1, "message": "on it"}),
             ("notifications/progress", {"progressToken": "another", "progress": 2, "total": 0}),
             ("notifications/tools/list_changed", {}), ("notifications/resources/list_changed", {}),
             ("notifications/message", {"level": "error", "data": {"a": "\x1b[2J"}}),
             ("notifications/cancelled", {"requestId": id}), ("notifications/none/such", {"x": [1]})]
    lines = [json.dumps({"jsonrpc": "2.0", "method": method, "params": more}) for method, more in kinds]
    write(("\n".join(lines) + "\n").encode() * (20000 // len(lines)))
    text(id, given["words"])


ASKED = {
    "ping": {}, "roots/list": {}, "no/such": {"a": 1},
    "sampling/createMessage": {"maxTokens": 9, "messages": []},
    "elicitation/create": {"message": "The password?", "requestedSchema": {"type": "object", "properties": {}}},
}


def requests(id, given, meta):
    for number, method in enumerate(given["methods"]):
        say(id="asked-%d" % number, method=method, params=ASKED[method])
    answered = 0
    while answered < len(given["methods"]):
        message = json.loads(sys.stdin.buffer.readline())
        if str(message.get("id")).startswith("asked-"):
            answered += 1
        else:
            waiting.append(message)
    text(id, given["words"])


def request_flood(id, given, meta):
    for start in range(0, given["count"], 100):
        line = b'{"jsonrpc":"2.0","id":"flood-%d","method":"' + given["method"].encode() + b'"}\n'
        write(b"".join(line % number for number in range(start, start + 100)))
    text(id, given["words"])


def closes_output(id, given, meta):
    os.close(1)
    forever()


def closes_input(id, given, meta):
    os.close(0)
    forever()


def closes_input_after(id, given, meta):
    text(id, given["words"])
    os.close(0)
    forever()


def deaf(id, given, meta):
    text(id, given["words"])
    forever()


def stubborn(id, given, meta):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    state["stubborn"] = True
    text(id, given["words"])


def fork(holds):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for number in () if holds else (0, 1, 2):
            os.close(number)
        os.fork()
        forever()


def grandchildren(id, given, meta):
    for _ in range(3):
        fork(given["holds"])
    text(id, given["words"])


def fork_hold(id, given, meta):
    fork(True)
    os._exit(0)


def endless(id, given, meta):
    line = json.dumps({"jsonrpc": "2.0", "method": given["method"], "params": {}}).encode() + b"\n"
    while True:
        write(line * 100)


def listed_changed(id, given, meta):
    say(method="notifications/tools/list_changed")
    text(id, given["words"])


def sleeps(id, given, meta):
    time.sleep(given["seconds"])
    text(id, given["words"])


def call(id, name, given, meta):
    if name != "fault":
        return text(id, "%s said %s" % (name, given["text"]))
    with open("called-%s-%s" % (NAME, given["number"]), "w"):
        pass
    return globals()[given["kind"]](id, given, meta)


def begin(id):
    start = file("start-" + NAME)
    time.sleep(start.get("seconds", 0))
    if "exit" in start:
        write(b"the fake server does not want to\n", 2)
        sys.exit(start["exit"])
    if "is_mute" in start:
        forever()
    if "odd" in start:
        return say(id=id, **start["odd"])
    say(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                       "serverInfo": {"name": "fake", "version": "1"}})


def tool_list(id, given):
    now, listed, schema = file("described-" + NAME), file("listed-" + NAME), {"type": "object"}
    names, more = ["fault", "echo", "shift"], {}
    way = listed.get("way")
    if way == "dies":
        os._exit(4)
    if way == "unanswered":
        return
    if way == "answered":
        return say(id=id, **listed["answer"])
    if way == "endless":
        more["nextCursor"] = given.get("cursor", "") + "x"
    if way == "many":
        names += ["more-%d" % number for number in range(600)]
    if way == "shorter":
        names.remove("echo")
    tools = [{"name": name, "description": now.get(name, "Does " + name), "inputSchema": schema} for name in names]
    say(id=id, result={"tools": tools, **more})


while True:
    message = hear()
    method, more = message.get("method"), message.get("params") or {}
    if method == "initialize":
        begin(message["id"])
    elif method == "tools/list":
        tool_list(message["id"], more)
    elif method == "tools/call":
        call(message["id"], more["name"], more.get("arguments") or {}, more.get("_meta") or {})
    elif method == "ping":
        say(id=message["id"], result={})
'''


class Api(ThreadingHTTPServer):
    """A Messages API that answers a prompt with the calls that its marker names, and their results with a word."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        # The calls of a prompt by its marker, as pairs of a tool and its input.
        self.scripts = {}
        # The ids of the calls whose results a request had.
        self.answered = set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """The service may be killed at any time."""

    def next_calls(self, messages):
        """Notes the results in the last message, and gives the marker and the calls that answer it."""
        content = messages[-1]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        words = [block["text"] for block in blocks if block["type"] == "text"]
        with self.lock:
            for block in blocks:
                if block["type"] == "tool_result":
                    self.answered.add(block["tool_use_id"])
            found = re.search(r"\[(\S+)\]", words[-1]) if words else None
            return (found[1], self.scripts.pop(found[1], [])) if found else ("", [])


class Handler(BaseHTTPRequestHandler):
    """One connection of the service to the API."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        """Nothing is printed."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        marker, calls = self.server.next_calls(request["messages"])
        blocks = [({"type": "tool_use", "id": call_id(marker, number), "name": name, "input": {}},
                   {"type": "input_json_delta", "partial_json": json.dumps(given)})
                  for number, (name, given) in enumerate(calls)]
        if not blocks:
            blocks = [({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"})]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [{"type": "message_start", "message": message}]
        for index, (block, delta) in enumerate(blocks):
            events += [{"type": "content_block_start", "index": index, "content_block": block},
                       {"type": "content_block_delta", "index": index, "delta": delta},
                       {"type": "content_block_stop", "index": index}]
        stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        events += [{"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
        self.answer("text/event-stream", body)

    def do_GET(self):
        """Lists no model."""
        self.answer("application/json", b'{"data":[],"has_more":false,"first_id":null,"last_id":null}')

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def call_id(marker, number):
    """The id of a call."""
    return f"toolu_{marker}_{number}"


def processes(text):
    """The processes with a text in their command line: the id, the line and the folder of each."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in line:
                found.append((int(place.name), line, os.readlink(place / "cwd")))
        except OSError:
            continue
    return found


@dataclass
class Kind:
    """A kind of fault."""

    # How often it is made, beside the others.
    weight: float
    server: str
    # The result of the call: `works`, `fails`, or `any`.
    outcome: str = "fails"
    # True if the call after it may fail in its place.
    harms_next: bool = False
    # True if the server is started again after it: the processes before it have to end.
    restarts: bool = False


KINDS = {
    # Faults of the server in a call.
    "killed": Kind(6, "steady", restarts=True), "exits": Kind(6, "steady", restarts=True),
    "half": Kind(5, "steady", restarts=True), "fork_hold": Kind(4, "steady", restarts=True),
    "hangs": Kind(4, "hasty"), "hangs_alone": Kind(4, "hasty"), "late": Kind(4, "hasty", "any"),
    "wrong_id": Kind(4, "hasty"),
    "odd_type": Kind(6, "hasty", "any"), "deep": Kind(2, "hasty", "any"), "error_object": Kind(6, "hasty", "any"),
    "junk": Kind(6, "steady", "works"), "junk_flood": Kind(2, "hasty", "any"), "twice": Kind(3, "steady", "works"),
    "huge": Kind(4, "steady", "works"), "long_line": Kind(3, "hasty"), "stderr_flood": Kind(5, "steady", "works"),
    "notifications": Kind(3, "steady", "works"), "endless": Kind(1, "hasty"),
    "requests": Kind(6, "steady", "works"), "request_flood": Kind(2, "steady", "any"),
    "closes_output": Kind(5, "steady", restarts=True), "closes_input": Kind(3, "hasty", restarts=True),
    "closes_input_after": Kind(3, "steady", "works", harms_next=True, restarts=True),
    "deaf": Kind(3, "hasty", "works", harms_next=True),
    "stubborn": Kind(4, "steady", "works"), "grandchildren": Kind(5, "steady", "works"),
    # Faults of its start, and of the list of its tools.
    "slow_start": Kind(3, "steady", "works"), "dead_start": Kind(4, "steady"), "odd_start": Kind(3, "steady", "any"),
    "mute_start": Kind(0, "steady"),
    "bad_list": Kind(4, "steady", "any"), "bad_list_at_start": Kind(3, "steady", "any"),
    "changed": Kind(5, "steady", "works"), "changed_at_start": Kind(4, "steady"),
    # Faults from outside.
    "killed_outside": Kind(5, "steady", restarts=True), "killed_idle": Kind(4, "steady", restarts=True),
    "cancelled": Kind(6, "steady"), "cancelled_hang": Kind(3, "hasty"), "cancelled_start": Kind(3, "steady"),
    "deleted": Kind(4, "steady"), "service_killed": Kind(0, "steady"),
}
# Those that are one call, with the result that the kind names.
PLAIN = list(KINDS)[:list(KINDS).index("slow_start")]
VALUES = ("text", None, [1, [2]], 7.5, True, {}, {"content": "text"}, {"content": [7, {"type": "text"}, {}]},
          {"isError": "yes", "content": []})
STARTS = ({"result": 7}, {"result": {}}, {"error": {"code": -32000, "message": f"{OWN_WORDS} is closed"}},
          {"result": {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "", "version": ""}}},
          {"result": {"protocolVersion": 7, "capabilities": [], "serverInfo": None}})
LISTS = ("dies", "endless", "many", "shorter", "answered", "answered", "unanswered")
NOTICES = ("notifications/tools/list_changed", "notifications/message", "notifications/none")


def input_of(kind, chance):
    """The input of a call that makes a fault."""
    codes = (0, -1, -32603, 2**31 - 1, -2**31, 2**31, 1e300, "text", None)
    escapes = f"{OWN_WORDS} says \x1b[2J\x1b]0;title\x07\x9b31m\r\u202e no"
    answered = {"way": "answered", "answer": {"result": chance.choice(VALUES)}}
    bad_list = [answered if way == "answered" else {"way": way} for way in (chance.choice(LISTS),)][0]
    return {
        "exits": {"code": chance.choice((0, 1, 3, 255))},
        "late": {"seconds": SERVERS["hasty"] / 1000 + chance.choice((0.01, 0.1, 0.4))},
        "half": {"bytes": chance.choice((1, 2, 20, 500, 900))},
        "junk": {"lines": [chance.randrange(13) for _ in range(chance.choice((1, 3, 40)))]},
        "wrong_id": {"shifts": [chance.choice((1000, 777, -1000, None, "none", 2.5)) for _ in range(3)]},
        "odd_type": {"member": chance.choice(("result", "result", "result", "error", "none")),
                     "value": chance.choice(VALUES)},
        "error_object": {"code": chance.choice(codes), "words": escapes, "data": chance.choice(VALUES)},
        "stderr_flood": {"has_lines": chance.random() < 0.5},
        "requests": {"methods": [chance.choice(REQUESTS) for _ in range(chance.choice((1, 5, 50)))]},
        "request_flood": {"count": chance.choice((500, 5000, 200_000)), "method": chance.choice(("ping", "no/such"))},
        "endless": {"method": chance.choice(NOTICES)},
        "grandchildren": {"holds": chance.random() < 0.5},
        "slow_start": {"seconds": chance.uniform(0.5, 2)},
        "odd_start": {"odd": chance.choice(STARTS)},
        "bad_list": bad_list,
        # Without an answer it is a start that has none, which takes long.
        "bad_list_at_start": {"way": "dies"} if bad_list["way"] == "unanswered" else bad_list,
        "changed": {"tool": chance.choice(("echo", "shift"))},
        "changed_at_start": {"tool": chance.choice(("echo", "shift"))},
        "dead_start": {"seconds": chance.choice((0, 0, 0.3)), "exit": chance.choice((0, 1))},
    }.get(kind, {})


REQUESTS = ("ping", "roots/list", "no/such", "sampling/createMessage", "elicitation/create")


@dataclass
class Fault:
    """A fault that will be made."""

    number: int
    kind: str
    given: dict
    # Calls of the same reply: before it, and after it.
    before: int = 0
    after: int = 0
    # True if another conversation calls the same process at the same time.
    is_shared: bool = False

    @property
    def server(self):
        """The server whose fault it is."""
        return KINDS[self.kind].server

    @property
    def words(self):
        """The words by which an answer of the server is known."""
        return self.given.get("words", f"{OWN_WORDS} has done {self.number}")


def planned_faults(seed, count, only, without):
    """The faults of a seed, in their order."""
    chance = random.Random(seed)
    names = only or [name for name, kind in KINDS.items() if kind.weight and name not in without]
    kinds = chance.choices(names, [KINDS[name].weight or 1 for name in names], k=count)
    if not only:
        rare = ["service_killed"] * max(1, round(count * SERVICE_KILLS / 1000)) + ["mute_start"] * MUTE_STARTS
        for place, kind in zip(chance.sample(range(count), min(count, len(rare))), rare):
            kinds[place] = kind
    faults = []
    for number, kind in enumerate(kinds):
        fault = Fault(number, kind, input_of(kind, chance))
        if kind in PLAIN and chance.random() < 0.3:
            fault.before, fault.after = chance.randrange(3), chance.randrange(3)
        fault.is_shared = kind in PLAIN and chance.random() < 0.15
        faults.append(fault)
    return faults


class Violation(Exception):
    """A fault harmed more than one call."""


@dataclass
class Figures:
    """The numbers that are printed at the end."""

    made: collections.Counter = field(default_factory=collections.Counter)
    slowest: float = 0.0
    memory: float = 0.0
    interrupted: int = 0
    violations: list = field(default_factory=list)


class Trial:
    """The service, its servers, and the numbers about it."""

    def __init__(self, root, seed, keeps_going):
        self.root, self.seed, self.keeps_going = Path(root).resolve(), seed, keeps_going
        self.api = Api()
        self.service = Service(self.root, model=("--model", "claude-sonnet-5"))
        # Contained servers need not see what a version manager puts in the place of Python.
        python = str(Path(sys.executable).resolve().parent)
        self.service.environment.update({
            "ANTHROPIC_BASE_URL": self.api.url(), "ANTHROPIC_API_KEY": "sk-test", "HOME": str(self.root),
            "PATH": f"{python}:{os.environ['PATH']}",
        })
        self.figures, self.lock, self.kill_lock = Figures(), threading.Lock(), threading.Lock()
        # True once its memory was over the limit, which is reported once.
        self.has_grown = False
        # Number of times that the service was killed. `runs` is unset while it does not run.
        self.kills, self.runs, self.is_over = 0, threading.Event(), threading.Event()

    def start(self):
        """Starts the service, adds the servers and accepts them."""
        self.service.start()
        self.runs.set()
        work = self.service.folder / "workspace"
        (work / "server.py").write_text(SERVER)
        for name, limit in SERVERS.items():
            entry = {"command": "python3", "args": ["-I", "-S", "server.py", str(self.root), name], "timeout": limit}
            self.service.order("PUT", f"/v1/mcp/{name}", entry)
            tested = self.service.order("POST", f"/v1/mcp/{name}/test", {"workspace": str(work)})
            self.service.order("POST", f"/v1/mcp/{name}/accept", {"digest": tested["digest"]})

    def look(self):
        """Looks at the service: it answers, and has not grown."""
        kills = self.kills
        if not self.runs.wait(RUN_LIMIT):
            raise Violation("the service was not started again")
        begun = time.monotonic()
        try:
            self.service.expect(200, "GET", "/v1/service")
        except NoAnswer as error:
            self.forgive(kills, error)
            return
        took = time.monotonic() - begun
        memory = self.memory()
        with self.lock:
            self.figures.slowest = max(self.figures.slowest, took)
            self.figures.memory = max(self.figures.memory, memory)
        if took > ANSWER_LIMIT:
            raise Violation(f"the service answered after {took:.1f} s")
        if memory > MEMORY_LIMIT and not self.has_grown:
            self.has_grown = True
            raise Violation(f"the service had {memory:.0f} MiB of memory")

    def memory(self):
        """The most resident memory that the service had, in MiB."""
        try:
            status = Path(f"/proc/{self.service.process.pid}/status").read_text()
        except OSError:
            return 0.0
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def forgive(self, kills, error):
        """Waits for the service if it was killed by this trial since then; else the error is a violation."""
        if self.kills == kills and self.runs.is_set():
            state = "runs" if self.service.is_alive() else f"ended with {self.service.process.returncode}"
            raise Violation(f"the service does not answer, and {state}: {error}")
        if not self.runs.wait(RUN_LIMIT):
            raise Violation("the service was not started again")

    def kill_service(self):
        """Kills the service, waits until its servers have ended, and starts it again. Gives the number of kills, and
        the processes that have not ended."""
        with self.kill_lock:
            self.runs.clear()
            self.kills += 1
            kills, left = self.kills, []
            self.service.kill()
            try:
                wait_until("the servers end", lambda: not processes(str(self.root)), GONE_LIMIT)
            except Failure:
                left = processes(str(self.root))
            self.service.start()
            self.runs.set()
            return kills, left

    def watch(self):
        """Looks at the service again and again."""
        while not self.is_over.wait(0.2):
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - reported at the end
                self.violate("between the faults", error)

    def violate(self, place, error):
        """Prints a violation, the first one with the end of the log. It ends the trial unless that keeps going."""
        line = f"seed {self.seed}, {place}: {error if isinstance(error, (Violation, Failure)) else repr(error)}"
        with self.lock:
            self.figures.violations.append(line)
            log = f"\n{self.service.last_log()}" if len(self.figures.violations) == 1 else ""
            print(f"VIOLATION {line}{log}", flush=True)
        if not self.keeps_going:
            self.is_over.set()


@dataclass
class CallResult:
    """The result of a call, as the journal has it."""

    text: str
    is_error: bool


class Talk:
    """A conversation in which the model calls tools."""

    def __init__(self, trial, folder, is_parallel):
        self.trial, self.service, self.is_parallel = trial, trial.service, is_parallel
        settings = {"tool_execution": "parallel" if is_parallel else "sequential"}
        made = {"workspace": str(folder), "settings": settings}
        self.id = self.service.expect(201, "POST", "/v1/conversations", made)["id"]
        self.path = f"/v1/conversations/{self.id}"
        rules = {"add": [{"action": "allow", "rule": f"mcp({name}.* *)"} for name in SERVERS]}
        self.service.order("PATCH", f"{self.path}/rules", rules)

    def prompt(self, marker, calls):
        """Sends a prompt that the model answers with calls, each a server, a tool and an input; gives the run."""
        named = [(f"mcp__{server}__{tool}", given) for server, tool, given in calls]
        with self.trial.api.lock:
            self.trial.api.scripts[marker] = named
        return self.service.order("POST", f"{self.path}/prompt", {"content": f"Make it [{marker}]."})["run_id"]

    def wait_for_end(self):
        """Waits for the end of the run."""
        deadline = time.monotonic() + RUN_LIMIT
        while self.service.snapshot(self.id)["summary"]["state"] == "running":
            if time.monotonic() > deadline:
                raise Violation(f"the run has not ended within {RUN_LIMIT:.0f} s")
            time.sleep(0.03)

    def results(self, marker, run, count, outcome="completed"):
        """Waits for the end of a run, and gives the results of its calls."""
        self.wait_for_end()
        results, ends = collections.defaultdict(list), []
        for line in self.service.journal(self.id).lines:
            data = line.record["data"]
            if line.record["type"] == "tool_result":
                results[data["id"]].append(CallResult(data["result"], data["is_error"]))
            elif line.record["type"] == "run_ended" and data["run"] == run:
                ends.append(data["outcome"])
        if ends != [outcome]:
            raise Violation(f"the run of {marker} has the ends {ends} instead of {outcome}")
        found = []
        for number in range(count):
            own = results[call_id(marker, number)]
            if len(own) != 1:
                raise Violation(f"call {number} of {marker} has {len(own)} results: {str(own)[:300]}")
            with self.trial.api.lock:
                is_sent = call_id(marker, number) in self.trial.api.answered
            if outcome == "completed" and not is_sent:
                raise Violation(f"the model was not sent the result of call {number} of {marker}")
            found += own
        return found

    def check_journal(self):
        """Looks at all calls of the conversation: each has one result, unless it was skipped."""
        calls, results, skipped = set(), collections.Counter(), set()
        for line in self.service.journal(self.id).lines:
            data = line.record["data"]
            if line.record["type"] == "block" and data["block"]["type"] == "tool_use":
                calls.add(data["block"]["id"])
            elif line.record["type"] == "tool_result":
                results[data["id"]] += 1
            elif line.record["type"] == "calls_skipped":
                skipped |= calls - set(results)
        wrong = {call: results[call] for call in calls - skipped if results[call] != 1}
        if wrong or set(results) - calls:
            raise Violation(f"the journal has calls without one result: {wrong}, {set(results) - calls}")


class Worker:
    """A folder with two conversations, in which faults are made one after the other."""

    def __init__(self, trial, place, faults):
        self.trial, self.service, self.place, self.faults = trial, trial.service, place, faults
        # Number of folders that were left behind, and of faults in this one.
        self.generation, self.count = 0, 0
        # The conversation with the faults, and the one beside it. `None` until they are made.
        self.talk = self.beside = None
        # Number of times that the service was killed, as far as this worker has to know.
        self.kills = 0

    def run(self):
        """Makes the faults."""
        for fault in self.faults:
            if self.trial.is_over.is_set():
                return
            self.kills = self.trial.kills
            try:
                self.attempt(fault)
            except Exception as error:  # noqa: BLE001 - reported at the end
                try:
                    self.recover(fault, error)
                except Exception as last:  # noqa: BLE001
                    self.trial.violate(f"fault {fault.number} ({fault.kind} of {fault.server})", last)
                    self.leave()

    def leave(self):
        """Leaves the folder and its conversations for new ones."""
        self.generation, self.count, self.talk = self.generation + 1, 0, None

    def attempt(self, fault):
        """Makes a fault, and looks at all that it may harm."""
        with self.trial.lock:
            self.trial.figures.made[fault.kind] += 1
        if self.count % FAULTS_EACH == 0 or self.talk is None:
            self.begin()
        self.count += 1
        kind = KINDS[fault.kind]
        old = self.processes(fault) if kind.restarts else set()
        made = getattr(self, f"make_{fault.kind}", self.make_plain)
        made(fault)
        is_last = not (fault.before or fault.after or fault.is_shared or kind.harms_next)
        if kind.restarts and is_last and fault.kind in PLAIN:
            old |= self.processes(fault)
        self.trial.look()
        self.echo(fault)
        self.talk.check_journal()
        self.trial.look()
        if old:
            wait_until(f"the server of before the fault ends, of the processes {old}",
                       lambda: not old & self.processes(fault), GONE_LIMIT)

    def recover(self, fault, error):
        """Looks at the conversation after the service was killed in the middle of a fault; if it was not, that was a
        violation."""
        while True:
            if self.kills == self.trial.kills and not isinstance(error, NoAnswer):
                raise error
            kills, self.kills = self.kills, self.trial.kills
            self.trial.forgive(kills, error)
            with self.trial.lock:
                self.trial.figures.interrupted += 1
            if self.talk is None:
                return
            try:
                self.reset(fault.server)
                self.talk.wait_for_end()
                if KINDS[fault.kind].harms_next:
                    self.echo(fault, f"harmed{self.kills}", "any")
                self.echo(fault, f"recovered{self.kills}")
                self.talk.check_journal()
                return
            except Exception as again:  # noqa: BLE001 - looked at in the next round
                error = again

    def begin(self):
        """Begins conversations, and deletes those before."""
        old, self.talk = [self.talk, self.beside] if self.talk else [], None
        self.folder = self.trial.root / f"folder-{self.place}-{self.generation}"
        self.folder.mkdir(exist_ok=True)
        (self.folder / "server.py").write_text(SERVER)
        for talk in old:
            self.service.expect(200, "DELETE", talk.path)
        self.beside = Talk(self.trial, self.folder, False)
        self.talk = Talk(self.trial, self.folder, self.place % 2 == 0)

    def processes(self, fault):
        """The processes of the server in this folder."""
        return {pid for pid, line, folder in processes(str(self.trial.root))
                if line.rstrip().endswith(f" {fault.server}") and folder == str(self.folder)}

    def call(self, fault, marker, tool, given, outcome, words=""):
        """Lets the model make one call, and looks at its result."""
        marker = f"{fault.number}-{marker}"
        run = self.talk.prompt(marker, [(fault.server, tool, given)])
        self.check(fault, marker, self.talk.results(marker, run, 1)[0], outcome, words)

    def check(self, fault, marker, result, outcome, words):
        """Looks at a result: it is as expected, and a failure names the server or has its words."""
        is_right = {"works": not result.is_error, "fails": result.is_error, "any": True}[outcome]
        is_right = is_right and (words in result.text or (outcome == "any" and result.is_error))
        if result.is_error and not any(word in result.text for word in (fault.server, OWN_WORDS)):
            is_right = False
        if not is_right:
            wanted = f"{outcome} with {words!r}" if words else outcome
            raise Violation(f"call {marker} ({wanted}) has {'the error' if result.is_error else 'the result'} "
                            f"{result.text[:400]!r}")

    def echo(self, fault, marker="echo", outcome="works"):
        """Calls a tool that works."""
        given = {"text": f"hello {fault.number}"}
        self.call(fault, marker, "echo", given, outcome, f"echo said hello {fault.number}")

    # Faults of the server in a call.

    def make_plain(self, fault):
        """Makes a fault by one call, among others of the same reply."""
        marker, kind = f"{fault.number}-fault", KINDS[fault.kind]
        if fault.is_shared:
            given = {"kind": "sleeps", "number": f"{fault.number}-beside", "seconds": 0.1, "words": fault.words}
            shared = self.beside.prompt(f"{marker}-beside", [(fault.server, "fault", given)])
        echo = (fault.server, "echo", {"text": marker})
        given = {"words": fault.words, **fault.given, "kind": fault.kind, "number": fault.number}
        calls = [echo] * fault.before + [(fault.server, "fault", given)] + [echo] * fault.after
        run = self.talk.prompt(marker, calls)
        for number, result in enumerate(self.talk.results(marker, run, len(calls))):
            if number == fault.before:
                words = {"huge": "yyyy", "odd_type": "", "deep": "", "late": "too late"}.get(fault.kind, fault.words)
                # The fault of the one beside it may be this one.
                outcome = "any" if fault.is_shared and kind.harms_next else kind.outcome
                self.check(fault, marker, result, outcome, "" if outcome == "fails" else words)
            else:
                # Calls that run at the same time share the fault.
                is_harmed = self.talk.is_parallel or fault.is_shared or (number > fault.before and kind.harms_next)
                self.check(fault, marker, result, "any" if is_harmed else "works", f"echo said {marker}")
        if fault.is_shared:
            result = self.beside.results(f"{marker}-beside", shared, 1)[0]
            self.check(fault, f"{marker}-beside", result, "any", fault.words)
            self.beside.check_journal()
        if kind.harms_next:
            self.call(fault, "harmed", "echo", {"text": "x" * 200_000}, "any", "echo said")

    # Faults of its start, and of the list of its tools.

    def order(self, what, fault, given):
        """Orders the server to start, list or describe its tools in another way, by a file."""
        (self.folder / f"{what}-{fault.server}").write_text(json.dumps(given))

    def reset(self, server):
        """Takes all orders to the server back."""
        for what in ("start", "listed", "described"):
            (self.folder / f"{what}-{server}").unlink(missing_ok=True)

    def end_server(self, fault, marker="before"):
        """Lets the server exit."""
        given = {"kind": "exits", "code": 0, "number": f"{fault.number}-{marker}"}
        self.call(fault, marker, "fault", given, "fails")

    def say_changed(self, fault, marker):
        """Lets the server say that its tools have changed."""
        given = {"kind": "listed_changed", "number": f"{fault.number}-{marker}", "words": fault.words}
        self.call(fault, marker, "fault", given, "works", fault.words)

    def make_slow_start(self, fault):
        """Starts a server that is slow."""
        self.end_server(fault)
        self.order("start", fault, fault.given)
        self.call(fault, "slow", "echo", {"text": fault.words}, "works", fault.words)
        self.reset(fault.server)

    def make_dead_start(self, fault, count=2):
        """Starts a server that does not start."""
        self.end_server(fault)
        self.order("start", fault, fault.given)
        for number in range(count):
            self.call(fault, f"dead{number}", "echo", {"text": fault.words}, "fails", "did not start")
        self.reset(fault.server)

    def make_mute_start(self, fault):
        """Starts a server that does not answer."""
        fault.given = {"is_mute": True}
        self.make_dead_start(fault, 1)

    def make_odd_start(self, fault):
        """Starts a server that says nonsense first."""
        self.end_server(fault)
        self.order("start", fault, fault.given)
        self.call(fault, "odd", "echo", {"text": fault.words}, "any", fault.words)
        self.reset(fault.server)

    def make_bad_list(self, fault):
        """Lets a server have a bad list of tools in the middle. Calls may fail until it has a good one and says so."""
        self.echo(fault, "warm")
        self.order("listed", fault, fault.given)
        self.say_changed(fault, "bad")
        self.call(fault, "unlisted", "echo", {"text": fault.words}, "any", fault.words)
        self.reset(fault.server)
        if fault.given["way"] in ("shorter", "answered"):
            given = {"kind": "listed_changed", "number": fault.number, "words": fault.words}
            # It may be of the tools that are gone.
            self.call(fault, "good", "fault", given, "any", fault.words)

    def make_bad_list_at_start(self, fault):
        """Starts a server with a bad list of tools."""
        self.end_server(fault)
        self.order("listed", fault, fault.given)
        self.call(fault, "unlisted", "echo", {"text": fault.words}, "any", fault.words)
        self.reset(fault.server)
        if fault.given["way"] == "shorter":
            self.say_changed(fault, "good")

    def make_changed(self, fault):
        """Changes a tool in the middle, and changes it back."""
        tool, other = fault.given["tool"], "shift" if fault.given["tool"] == "echo" else "echo"
        self.echo(fault, "warm")
        self.order("described", fault, {tool: "Does evil"})
        self.say_changed(fault, "change")
        for number in range(2):
            self.call(fault, f"refused{number}", tool, {"text": fault.words}, "fails", REFUSED)
        self.call(fault, "other", other, {"text": fault.words}, "works", fault.words)
        self.reset(fault.server)
        self.say_changed(fault, "back")
        self.call(fault, "again", tool, {"text": fault.words}, "works", fault.words)

    def make_changed_at_start(self, fault):
        """Starts a server with a tool that was changed, and again with the accepted one."""
        tool, other = fault.given["tool"], "shift" if fault.given["tool"] == "echo" else "echo"
        self.end_server(fault)
        self.order("described", fault, {tool: "Does evil"})
        self.call(fault, "refused", tool, {"text": fault.words}, "fails", REFUSED)
        self.call(fault, "other", other, {"text": fault.words}, "works", fault.words)
        self.reset(fault.server)
        self.end_server(fault, "after")

    # Faults from outside.

    def begin_call(self, fault, kind="sleeps", seconds=60):
        """Begins a call that takes long, and waits until the server has it; gives the marker and the run."""
        marker = f"{fault.number}-long"
        given = {"kind": kind, "number": fault.number, "seconds": seconds, "words": fault.words}
        run = self.talk.prompt(marker, [(fault.server, "fault", given)])
        called = self.folder / f"called-{fault.server}-{fault.number}"
        wait_until("the server has the call", called.exists, RUN_LIMIT)
        return marker, run

    def kill_server(self, fault):
        """Kills the processes of the server in this folder."""
        found = self.processes(fault)
        if not found:
            raise Violation(f"{fault.server} does not run in {self.folder}")
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def make_killed_outside(self, fault):
        """Kills the server in a call."""
        marker, run = self.begin_call(fault)
        self.kill_server(fault)
        self.check(fault, marker, self.talk.results(marker, run, 1)[0], "fails", "")

    def make_killed_idle(self, fault):
        """Kills the server while it is not called. The next call may fail."""
        self.echo(fault, "warm")
        self.kill_server(fault)
        self.echo(fault, "harmed", "any")

    def cancel(self, marker, run):
        """Cancels a run, whose call then has a result."""
        begun = time.monotonic()
        answer = self.service.order("POST", f"{self.talk.path}/cancel", {"run_id": run})
        if answer != {"cancelled": True}:
            raise Violation(f"the run of {marker} was not cancelled: {answer}")
        result = self.talk.results(marker, run, 1, "cancelled")[0]
        took = time.monotonic() - begun
        if took > ANSWER_LIMIT or not result.is_error:
            raise Violation(f"the cancel of {marker} took {took:.1f} s: {result.text[:200]!r}")

    def make_cancelled(self, fault):
        """Cancels a call. The server learns it once it has ended that call."""
        self.cancel(*self.begin_call(fault, seconds=0.5))

    def make_cancelled_hang(self, fault):
        """Cancels a call of a server that hangs. The next call may fail, since a cancel alone harms none."""
        self.cancel(*self.begin_call(fault, "hangs"))
        self.echo(fault, "harmed", "any")

    def make_cancelled_start(self, fault):
        """Cancels a call that waits for the start of the server."""
        self.end_server(fault)
        self.order("start", fault, {"seconds": 2})
        marker = f"{fault.number}-cancelled"
        run = self.talk.prompt(marker, [(fault.server, "echo", {"text": "never"})])
        wait_until("the server is being started", lambda: self.processes(fault), RUN_LIMIT)
        self.cancel(marker, run)
        self.reset(fault.server)

    def make_deleted(self, fault):
        """Deletes a conversation in a call, which is refused, and again after a cancel."""
        marker, run = self.begin_call(fault, seconds=0.5)
        answer = self.service.call("DELETE", self.talk.path, headers=self.service.token())
        if answer.status != 409:
            raise Violation(f"a conversation was deleted in a run: {answer.status} {answer.body}")
        self.cancel(marker, run)
        self.talk.check_journal()
        self.begin()

    def make_service_killed(self, fault):
        """Kills the service in a call."""
        marker, run = self.begin_call(fault)
        self.kills, left = self.trial.kill_service()
        if left:
            raise Violation(f"processes are left of a service that was killed: {left}")
        self.echo(fault, "after")
        result = self.talk.results(marker, run, 1, "interrupted")[0]
        if not result.is_error or "effect unknown" not in result.text:
            raise Violation(f"the call of a killed service has the result {result.text[:200]!r}")


def stop(trial, workers):
    """Stops the service while servers are stubborn and called, and looks for processes that are left."""
    for worker in workers:
        worker.leave()
        worker.begin()
        worker.make_plain(Fault(10_000 + worker.place, "stubborn", {}))
        worker.make_plain(Fault(20_000 + worker.place, "grandchildren", {"holds": True}))
        worker.begin_call(Fault(30_000 + worker.place, "stubborn", {}))
    # The service, and each server with its three times two descendants.
    expected, running = 1 + len(workers) * 7, len(processes(str(trial.root)))
    if running < expected:
        raise Violation(f"{running} processes are found, and there have to be {expected}")
    begun = time.monotonic()
    trial.service.process.send_signal(signal.SIGTERM)
    wait_until("the service ends", lambda: not trial.service.is_alive(), STOP_LIMIT)
    took = time.monotonic() - begun
    if trial.service.process.returncode != 0:
        raise Violation(f"the service ended with {trial.service.process.returncode}")
    wait_until("no process of a server is left", lambda: not processes(str(trial.root)), GONE_LIMIT)
    print(f"the service ended within {took:.1f} s, and its servers within {time.monotonic() - begun:.1f} s")


def make_faults(trial, faults):
    """Makes the faults in several folders at the same time, and stops the service."""
    trial.start()
    workers = [Worker(trial, place, faults[place::FOLDERS]) for place in range(FOLDERS)]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    watcher = threading.Thread(target=trial.watch)
    for thread in [*threads, watcher]:
        thread.start()
    for thread in threads:
        thread.join()
    trial.is_over.set()
    watcher.join()
    if trial.keeps_going or not trial.figures.violations:
        try:
            stop(trial, workers)
        except (Violation, Failure) as error:
            trial.violate("at the end", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--only", type=lambda names: names.split(","))
    parser.add_argument("--without", type=lambda names: names.split(","), default=[])
    parser.add_argument("--keep-going", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mcp-faults-", ignore_cleanup_errors=True) as root:
        trial = Trial(root, options.seed, options.keep_going)
        try:
            make_faults(trial, planned_faults(options.seed, options.faults, options.only, options.without))
        finally:
            trial.service.kill()
        logged = trial.service.log.stat().st_size / 2**20
    figures = trial.figures
    for kind, count in sorted(figures.made.items()):
        print(f"{count:6} {kind}")
    print(f"{sum(figures.made.values())} faults, {figures.interrupted} of them interrupted by the end of the service; "
          f"slowest answer {figures.slowest:.2f} s, most memory {figures.memory:.0f} MiB, "
          f"{logged:.1f} MiB of log, {time.monotonic() - begun:.0f} s", flush=True)
    if figures.violations:
        sys.exit(f"violations: {len(figures.violations)}; the first one: {figures.violations[0]}")


if __name__ == "__main__":
    main()
