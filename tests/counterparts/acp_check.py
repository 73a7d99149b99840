"""Checks `harness acp` with clients that others wrote: the official libraries for Python and TypeScript, and acpx.

The model is a script: a prompt is a JSON list of the calls that it makes, one in each reply, before it says a text.
Each client edits a file and runs a command, allows and denies calls, cancels a command, and returns to the conversation
in another process. Two of them and a plain client of HTTP share one conversation. Each line of a bridge is held to the
official schema.

    HARNESS_BIN=… python3 tests/counterparts/acp_check.py            all parts
    HARNESS_BIN=… python3 tests/counterparts/acp_check.py share acpx some of them
    python3 tests/counterparts/acp_check.py --install                installs the clients, and nothing else

They are installed in `COUNTERPARTS`, or in a folder that is removed at the end. acpx needs Node 22.13, which is
installed as a package where the system has an older one. Where that fails, the parts with acpx are left out, and a line
says so.
"""

import contextlib
import http.client
import itertools
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from acp_clients import Acpx, Complaints, NodeClient, PythonClient, expect, install  # noqa: E402
from acp_wire import Judge, diffs, story, wires  # noqa: E402
from harness import LIMIT, Failure, Service, wait_until  # noqa: E402
from upstream import Pause, Scripted, call, events  # noqa: E402

TEXT = "All of it is done, and this is the text of the reply."
# The text as its pieces have it.
SAID = "".join(event["delta"].get("text", "") for event in events(TEXT) if "delta" in event)
OPTIONS = {"once": "allow_once", "conversation": "allow_always", "workspace": "allow_always", "deny": "reject_once"}
EDIT = {"tool": "edit", "path": "notes.txt", "old_string": "one", "new_string": "two"}
FURTHER = {"tool": "edit", "path": "notes.txt", "old_string": "two", "new_string": "three"}
RUN = {"tool": "bash", "command": "echo made >made.txt", "access": "write"}
LONG = {"tool": "bash", "command": "touch begun; sleep 600", "access": "write", "timeout_s": 600}
UNTIL = {"tool": "bash", "command": "touch begun; until [ -e go ]; do sleep 0.1; done; touch over", "access": "write"}
# Calls in a story, by their first and last status.
DONE, FAILED = ("call", "pending", "completed"), ("call", "pending", "failed")


def reply(messages, keys=itertools.count(1)):
    """The next call of the last prompt, or the text."""
    calls, made = [], 0
    for message in messages:
        content = message["content"]
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        if message["role"] == "assistant":
            made += 1
        elif given := [text for text in texts if text.startswith(("[{", "[]"))]:
            calls, made = json.loads(given[-1]), 0
    if made < len(calls):
        yield from call(calls[made].pop("tool"), calls[made], f"toolu_{next(keys)}")
        return
    for event in events(TEXT):
        # Pieces that come in one burst are shown as one.
        yield Pause(0.01)
        yield event


class Trial:
    """A service with that model, and the bridges to it."""

    def __init__(self, folder, counterparts):
        self.folder, self.counterparts = Path(folder).resolve(), counterparts
        self.model = Scripted(reply)
        self.service = Service(self.folder / "service", "--base-url", self.model.url(), "--model", "claude-haiku-4-5",
                               model=())
        user = self.folder / "user"
        user.mkdir()
        self.service.environment = {"ANTHROPIC_API_KEY": "sk-ant-of-the-check", "HOME": str(user)}
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(user), "HARNESS_HOME": str(self.service.home)}
        self.logs = []
        self.service.start()

    def workspace(self, name):
        """A folder to work in, with a file."""
        folder = self.folder / "work" / name
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("one\n")
        return folder

    def bridge(self, *flags):
        """The command of a bridge whose lines are on record, and the folder of its log."""
        logs = self.folder / "logs" / str(len(self.logs))
        logs.mkdir(parents=True)
        self.logs.append(logs)
        return [sys.executable, str(HERE / "acp_wire.py"), str(logs), os.environ["HARNESS_BIN"], "acp", *flags], logs


    def wires(self):
        """The logs of all bridges."""
        return [wire for logs in self.logs for wire in wires(logs)]


class Events:
    """A plain client of the events of a conversation."""

    def __init__(self, service, conversation):
        self.seen = []
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=6 * LIMIT)
        connection.request("GET", f"/v1/conversations/{conversation}/events", headers=service.token())
        threading.Thread(target=self.read, args=(connection.getresponse(),), daemon=True).start()
        wait_until("the stream opens", lambda: self.by_type("attached"))

    def read(self, answer):
        """Reads to the end of the stream."""
        for line in answer:
            if line.startswith(b"data: "):
                self.seen.append(json.loads(line[6:]))

    def by_type(self, kind):
        """The events of a type so far."""
        return [event for event in self.seen if event["type"] == kind]


def converse(trial, kind):
    """A conversation, and its replay in another process."""
    work = trial.workspace(kind.__name__)
    notes, cwd = work / "notes.txt", str(work)
    bridge = kind(trial)
    session = bridge.ask("session/new", cwd=cwd, mcpServers=[])["sessionId"]

    updates = bridge.turn(session, [EDIT, RUN])
    expect("the turn", story(updates), [DONE, DONE, ("agent", SAID)])
    expect("the files", (notes.read_text(), (work / "made.txt").read_text()), ("two\n", "made\n"))
    expect("the change", (str(notes), "one\n", "two\n") in diffs(updates), True)
    expect("the number of permissions", len(bridge.asked), 2)
    expect("the options", {option["optionId"]: option["kind"] for option in bridge.asked[0]["options"]}, OPTIONS)

    updates = bridge.turn(session, [FURTHER], "deny")
    expect("the denied turn", story(updates), [FAILED, ("agent", SAID)])
    expect("the file", notes.read_text(), "two\n")

    bridge.choose("once")
    end = bridge.prompt(session, [LONG])
    wait_until("the long command runs", (work / "begun").exists)
    bridge.ask("session/cancel", sessionId=session)
    expect("the end of the cancelled turn", end.result(LIMIT)["stopReason"], "cancelled")
    expect("the cancelled turn", story(bridge.wire.exchange("session/prompt")[0]), [FAILED])

    listed = bridge.ask("session/list", cwd=cwd)["sessions"]
    expect("the list", [(one["sessionId"], one["cwd"]) for one in listed], [(session, cwd)])
    bridge.end()

    bridge = kind(trial)
    bridge.ask("session/load", sessionId=session, cwd=cwd, mcpServers=[])
    expect("the replay", story(bridge.wire.exchange("session/load")[0]), [
        ("user", json.dumps([EDIT, RUN])), DONE, DONE, ("agent", SAID),
        ("user", json.dumps([FURTHER])), FAILED, ("agent", SAID), ("user", json.dumps([LONG])), FAILED,
    ])
    expect("the turn behind the replay", story(bridge.turn(session, [])), [("agent", SAID)])
    bridge.end()

    bridge = kind(trial)
    bridge.ask("session/resume", sessionId=session, cwd=cwd, mcpServers=[])
    bridge.turn(session, [])
    expect("what is sent after resuming", story(bridge.wire.updates()), [("agent", SAID)])
    refused = bridge.begin("session/load", sessionId="absent", cwd=cwd, mcpServers=[]).exception(LIMIT)
    expect("an absent session is refused", refused is not None, True)
    expect("the code", bridge.wire.exchange("session/load")[1]["error"]["code"], -32002)
    bridge.end()


def python(trial):
    """The official library for Python."""
    converse(trial, PythonClient)


def typescript(trial):
    """The official library for TypeScript."""
    converse(trial, NodeClient)


def share(trial):
    """Two bridges and a plain client on one conversation."""
    for kinds in ((PythonClient, NodeClient), (NodeClient, PythonClient)):
        work = trial.workspace(f"share-{kinds[0].__name__}")
        one, other = (kind(trial) for kind in kinds)
        session = one.ask("session/new", cwd=str(work), mcpServers=[])["sessionId"]
        other.ask("session/load", sessionId=session, cwd=str(work), mcpServers=[])
        share_turn(trial, one, other, session, work)


def share_turn(trial, one, other, session, work):
    """A turn that one bridge begins, whose permission the other one gives, and which outlives the first bridge."""
    plain = Events(trial.service, session)
    for bridge in (one, other):
        bridge.choose(None)
    end = one.prompt(session, [UNTIL])
    wait_until("both are asked", lambda: one.asked and other.asked)
    other.choose("once")
    wait_until("the command runs", (work / "begun").exists)
    asked = one.wire.sent("agent", "session/request_permission")[0]["id"]
    cancelled = wait_until("the permission is taken back", lambda: one.wire.sent("agent", "$/cancel_request"))
    expect("the requests that are taken back", [message["params"]["requestId"] for message in cancelled], [asked])
    expect("those of the other bridge", other.wire.sent("agent", "$/cancel_request"), [])
    if isinstance(one, NodeClient):
        wait_until("the library knows", lambda: one.withdrawn)

    # A client may answer nevertheless, and the library for Python can do nothing else. It changes nothing.
    one.choose("deny")
    wait_until("the late answer", lambda: any(side == "client" and message.get("id") == asked and "result" in message
                                              for side, message in one.wire.messages()))
    wait_until("the command is shown", lambda: story(one.wire.updates()) == [("call", "pending", "in_progress")])
    one.end()
    wait_until("the library gives up", end.done)
    expect("the run without its bridge", trial.service.snapshot(session)["summary"]["state"], "running")
    (work / "go").touch()
    ended = wait_until("the end of the run", lambda: plain.by_type("run_ended"))
    expect("the end of the run", ended[0]["outcome"], "completed")
    expect("the command", (work / "over").exists(), True)

    turn = [("user", json.dumps([UNTIL])), DONE, ("agent", SAID)]
    wait_until("the other bridge has the turn", lambda: story(other.wire.updates()) == turn)
    texts = [event["content"] for event in plain.by_type("user") + plain.by_type("text")]
    expect("the texts by HTTP", texts, [turn[0][1], SAID])
    expect("the answers", [event["answer"] for event in plain.by_type("approval_answered")], ["allow"])
    other.end()


def acpx(trial):
    """acpx, which keeps a bridge for a session, and starts another one for the same session later."""
    work = trial.workspace("acpx")
    client = Acpx(trial, work, trial.environment)
    session = json.loads(client.output("--format", "json", "sessions", "new"))["acpxSessionId"]
    words = ("--format", "json", "--approve-all", "prompt")
    expect("the turn", client.turn(*words, json.dumps([EDIT, RUN])), ([DONE, DONE, ("agent", SAID)], "end_turn"))
    expect("the files", ((work / "notes.txt").read_text(), (work / "made.txt").read_text()), ("two\n", "made\n"))

    words = ("--format", "json", "--deny-all", "prompt")
    expect("the denied turn", client.turn(*words, json.dumps([FURTHER])), ([FAILED, ("agent", SAID)], "end_turn"))
    expect("the file", (work / "notes.txt").read_text(), "two\n")

    prompt = client.start("--format", "json", "--approve-all", "prompt", json.dumps([LONG]))
    wait_until("the long command runs", (work / "begun").exists)
    client.output("cancel")
    expect("the cancelled turn", client.turn(process=prompt), ([FAILED], "cancelled"))

    listed = json.loads(client.output("--format", "json", "sessions", "list"))
    expect("the list", (listed["source"], [one["sessionId"] for one in listed["sessions"]]), ("agent", [session]))
    wait_until("all bridges end", lambda: not any(wire.is_alive() for wire in wires(client.logs)))
    expect("the text", client.output("--format", "quiet", "--approve-all", "prompt", "[]"), f"{SAID}\n")
    expect("what is sent after resuming", story(wires(client.logs)[-1].updates()), [("agent", SAID)])
    client.output("sessions", "close")


def started(trial):
    """A service that a bridge starts, and that is there when acpx has ended what the bridge left running."""
    work = trial.workspace("started")
    environment = {**trial.environment, "HARNESS_HOME": str(trial.folder / "started")}
    client = Acpx(trial, work, environment, "--demo")

    def run(*words):
        return subprocess.run([os.environ["HARNESS_BIN"], *words], env=environment, capture_output=True,
                              timeout=2 * LIMIT, check=False).returncode

    try:
        text = client.output("--format", "text", "--approve-all", "exec", "change one to two in notes.txt")
        expect("the end", text.rstrip().endswith("[done] end_turn"), True)
        expect("the file", (work / "notes.txt").read_text(), "two\n")
        expect("the exit code of `harness status`", run("status"), 0)
    finally:
        run("stop", "--force")


PARTS = (python, typescript, share, acpx, started)


def check(folder, names):
    """Runs the parts, and holds the lines of all bridges to the schema."""
    if unknown := set(names) - {part.__name__ for part in PARTS}:
        raise Failure(f"no part is named {unknown}: there are {[part.__name__ for part in PARTS]}")
    judge = Judge(folder / "sdk" / "node_modules" / "@agentclientprotocol" / "sdk" / "schema" / "v1" / "schema.json")
    judge.try_out()
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    for part in PARTS:
        if names and part.__name__ not in names:
            continue
        if part in (acpx, started) and not (folder / "acpx" / "installed").exists():
            print(f"{part.__name__}: NOT CHECKED, since acpx is not installed", flush=True)
            continue
        with tempfile.TemporaryDirectory() as name:
            trial, lines = Trial(name, folder), judge.lines
            try:
                part(trial)
                found = complaints.found + [fault for wire in trial.wires() for fault in judge.complaints(wire)]
                expect(f"complaints about {part.__name__}", found, [])
                print(f"{part.__name__}: ok, {judge.lines - lines} lines of {len(trial.wires())} bridges", flush=True)
            except BaseException:
                for wire in trial.wires():
                    print(wire.log.read_text()[-4000:], wire.errors()[-2000:], sep="\n", file=sys.stderr)
                print(trial.service.last_log(), file=sys.stderr)
                raise
            finally:
                trial.service.kill()
    print(f"{judge.lines} lines are as the schema has them")


def main():
    names = sys.argv[1:]
    with contextlib.ExitStack() as stack:
        counterparts = os.environ.get("COUNTERPARTS") or stack.enter_context(tempfile.TemporaryDirectory())
        folder = Path(counterparts).resolve() / "acp"
        if names == ["--install"]:
            return install(folder)
        if Path(sys.prefix).resolve() == (folder / "venv").resolve():
            return check(folder, names)
        install(folder)
        command = [folder / "venv" / "bin" / "python", __file__, *names]
        return subprocess.run(command, env={**os.environ, "COUNTERPARTS": counterparts}, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as error:
        sys.exit(str(error))
