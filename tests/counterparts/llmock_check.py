"""Checks the service against llmock, a server of the Messages API that breaks and then judges.

llmock is an independent implementation: it injects one fault a scenario, watches every attempt,
and gives a verdict on the client (`GET /_llmock/verdict`). Each scenario runs a fresh service
against it and prints one line. The first seven faults are those that the verdict grades.

Needs `HARNESS_BIN`, the path of the binary, and `llmock` beside the Python that runs this.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

API_KEY = "test-key"
MODEL = "claude-haiku-4-5-20251001"
# Longer than any run here takes.
RUN_LIMIT = 30.0
# llmock picks the tool that shares words with the prompt and fills its input from the schema:
# `mock-path` for a path, `mock-pattern` for a pattern, 1 for a number, true for a switch.
LIST_DIR = "Please list the dir."
READ = "Please read."
GREP = "Please grep."


@dataclass(frozen=True)
class Scenario:
    """One fault, and what a good client makes of it."""

    name: str
    behaviors: tuple = ()
    prompt: str = LIST_DIR
    # The state that ends the run, and what its message says.
    ends: str = "idle"
    says: tuple = ()
    # How often the service says that it tries again, and how many requests llmock gets.
    retries: int = 0
    attempts: int = 2
    # `isError` of each tool result, in order, and how many calls after those never ran.
    results: tuple = (False,)
    unrun: int = 0
    # Findings that the client cannot avoid, because llmock sees only the wire.
    unavoidable: frozenset = frozenset()
    llmock_flags: tuple = ()
    serve_flags: tuple = ()
    # Whether the next prompt must succeed once llmock breaks nothing any more.
    recovers: bool = True


def fail(status, **more):
    """An HTTP error instead of a reply."""
    return {"type": "fail", "status": status, **more}


def stream_fault(kind, after_chunks=3, **more):
    """A reply that breaks, by default in the middle of the tool call's input."""
    return {"type": "stream_fault", "kind": kind, "after_chunks": after_chunks, **more}


# The rest of a short reply has often been sent when the client closes the connection, on a busy machine. That it asks again
# is in the number of requests.
READ_ON_SEEN = frozenset({"malformed_chunk_ignored"})
NO_RETRY_SEEN = frozenset({"truncated_stream_accepted"})
STALL = stream_fault("stall", stall_seconds=20)
# Gives up well before the end of the stall, and no answer pauses for so long by itself.
IMPATIENT = ("--idle-timeout", "3s")
# Each request takes a little more than half of the quota, so the second one must wait.
QUOTA = ("--tpm", "60000")
HALF_OF_IT = ("--max-tokens", "29900")

SCENARIOS = (
    Scenario("tool loop: list_dir"),
    Scenario("tool loop: read", prompt=READ),
    Scenario("tool loop: grep", prompt=GREP),
    # The seven faults that the verdict grades.
    Scenario("rate limit", (fail(429, retry_after=1.3, times=2),), retries=2, attempts=4),
    Scenario("server error", (fail(500, times=3),), retries=3, attempts=5),
    Scenario(
        "outage",
        (fail(503, times=None),),
        ends="error",
        says=("overloaded_error", "HTTP 503"),
        retries=4,
        attempts=5,
        results=(),
    ),
    Scenario("disconnect", (stream_fault("disconnect"),), retries=1, attempts=3),
    Scenario("truncate", (stream_fault("truncate"),), retries=1, attempts=3),
    Scenario(
        "malformed chunk",
        (stream_fault("malformed"),),
        retries=1,
        attempts=3,
        unavoidable=READ_ON_SEEN,
    ),
    Scenario("stall", (STALL,), retries=1, attempts=3, serve_flags=IMPATIENT),
    # The same and others, elsewhere.
    Scenario("overload", (fail(529, times=2),), retries=2, attempts=4),
    Scenario("quota", retries=1, attempts=3, llmock_flags=QUOTA, serve_flags=HALF_OF_IT),
    Scenario("slow first token", ({"type": "slow_first_token", "seconds": 0.6},)),
    Scenario("slow answer", ({"type": "delay", "seconds": 0.6},)),
    Scenario(
        "disconnect at once", (stream_fault("disconnect", after_chunks=0),), retries=1, attempts=3
    ),
    Scenario(
        "disconnect for good",
        (stream_fault("disconnect", times=None),),
        ends="error",
        says=("interrupted",),
        retries=4,
        attempts=5,
        results=(),
    ),
    Scenario(
        "truncate for good",
        (stream_fault("truncate", times=None),),
        ends="error",
        says=("interrupted", "message_stop"),
        retries=4,
        attempts=5,
        results=(),
        unavoidable=NO_RETRY_SEEN,
    ),
    Scenario(
        # A block that was shown cannot be unsaid, so there is no other attempt.
        "truncate after a whole block",
        (stream_fault("truncate", after_chunks=5),),
        ends="error",
        says=("interrupted", "message_stop"),
        attempts=1,
        results=(),
        unrun=1,
        unavoidable=NO_RETRY_SEEN,
    ),
    Scenario(
        "wrong key",
        (fail(401),),
        ends="error",
        says=("authentication_error", "HTTP 401"),
        attempts=1,
        results=(),
    ),
    Scenario(
        "context overflow",
        ends="error",
        says=("invalid_request_error", "prompt is too long"),
        attempts=1,
        results=(),
        llmock_flags=("--context-window", "3"),
        recovers=False,
    ),
    Scenario(
        "unknown tool", ({"type": "tool_fault", "kind": "unknown_tool"},), results=(True,)
    ),
    Scenario(
        "malformed arguments",
        ({"type": "tool_fault", "kind": "malformed_arguments"},),
        results=(True,),
    ),
)


@contextmanager
def running(command, environment, log, announcement):
    """Runs a server and gives the address that it announces; stops it in the end."""
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield announced_address(process, log, announcement)
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def announced_address(process, log, announcement):
    """Waits until a server has written its address to its log."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        text = Path(log).read_text(errors="replace")
        if found := re.search(announcement, text):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} did not start: {text}")


@contextmanager
def llmock(folder, flags):
    """llmock on a free port."""
    program = str(Path(sys.executable).parent / "llmock")
    command = [program, "serve", "--host", "127.0.0.1", "--port", "0", *flags]
    log = folder / "llmock.log"
    # Plain text, whatever the terminal can do.
    environment = {**os.environ, "NO_COLOR": "1"}
    with running(command, environment, log, r"running on (http://127\.0\.0\.1:\d+)") as address:
        yield address


@contextmanager
def service(folder, base_url, flags):
    """The service under test, with its state and workspace in a folder of their own."""
    command = [os.environ["HARNESS_BIN"], "serve", "--port", "0", "--log", "trace", *flags]
    environment = {
        "PATH": os.environ["PATH"],
        # The requests show no token, also where the checks run in a container.
        "HARNESS_REQUIRE_TOKEN": "false",
        "HOME": str(folder),
        "HARNESS_HOME": str(folder / "home"),
        "HARNESS_WORKSPACE": str(folder / "workspace"),
        "HARNESS_MODEL": MODEL,
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": API_KEY,
    }
    log = folder / "service.log"
    with running(command, environment, log, r"listens on (http://\S+)") as address:
        yield address


def prepare_workspace(folder, prompt):
    """Makes what llmock's made-up arguments name, so that the tool succeeds."""
    target = folder / "workspace" / "mock-path"
    if prompt == READ:
        target.parent.mkdir()
        target.write_text("first line\n")
    else:
        target.mkdir(parents=True)
        (target / "file.txt").write_text("has mock-pattern\n")


def call(address, method, path, body=None):
    """One JSON request."""
    request = urllib.request.Request(address + path, method=method)
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        request.add_header("content-type", "application/json")
    with urllib.request.urlopen(request, data, timeout=10) as answer:
        return json.load(answer)


def run_prompt(address, prompt):
    """Attaches, prompts, and gives all events of the run, the last one being its end."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=RUN_LIMIT)
    try:
        connection.request("GET", "/events", headers={"accept": "text/event-stream"})
        stream = connection.getresponse()
        stream.readline()  # The stream's greeting: from here on nothing is missed.
        call(address, "POST", "/prompt", {"content": prompt})
        return list(events_of_run(stream))
    finally:
        connection.close()


def events_of_run(stream):
    """The events up to the first `idle` or `error`."""
    deadline = time.monotonic() + RUN_LIMIT
    while time.monotonic() < deadline:
        line = stream.readline()
        if not line:
            raise RuntimeError("the event stream ended before the run")
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line.removeprefix(b"data: "))
        yield event
        if event["type"] == "status" and event["state"] in ("idle", "error"):
            return
    raise RuntimeError("the run did not end")


def faults_in_events(scenario, events):
    """What is wrong with the events of the run."""
    end = events[-1]
    if end["state"] != scenario.ends:
        yield f"ended with {end['state']} instead of {scenario.ends}: {end['message']!r}"
    for part in scenario.says:
        if part not in end["message"]:
            yield f"the last message lacks {part!r}: {end['message']!r}"
    if (events[0]["type"], events[0].get("content")) != ("user", scenario.prompt):
        yield f"the first event is not the prompt: {events[0]}"
    remarks = [event["message"] for event in events if event.get("state") == "thinking"]
    retries = [remark for remark in remarks if remark.startswith("retrying")]
    if len(retries) != scenario.retries:
        yield f"{len(retries)} retries shown instead of {scenario.retries}: {remarks}"
    results = [event for event in events if event["type"] == "tool_result"]
    if [result["isError"] for result in results] != list(scenario.results):
        yield f"tool results {results} instead of isError {scenario.results}"
    calls = [event["id"] for event in events if event["type"] == "tool_call"]
    ran = calls[: len(calls) - scenario.unrun]
    if ran != [result["id"] for result in results]:
        yield f"calls {calls} with {scenario.unrun} not run do not match {results}"
    if scenario.ends == "idle" and events[-2]["type"] != "text":
        yield f"no text before the end: {events[-2]}"


def faults_in_verdict(scenario, address):
    """What llmock holds against the client."""
    verdict = call(address, "GET", "/_llmock/verdict")
    codes = {finding["code"] for finding in verdict["findings"]}
    if codes - scenario.unavoidable:
        yield f"verdict: {json.dumps(verdict)}"
    if verdict["attempts"] != scenario.attempts:
        yield f"{verdict['attempts']} requests instead of {scenario.attempts}"
    pending = call(address, "GET", "/_llmock/scenario")["pending"]
    if any(behavior["times"] is not None for behavior in pending):
        yield f"a fault was never met: {pending}"


def faults_in_requests(address):
    """Requests in which a tool call is not answered by the very next message."""
    for record in call(address, "GET", "/_llmock/requests")["requests"]:
        messages = record["body"]["messages"]
        for message, following in zip(messages, [*messages[1:], {"content": ""}], strict=True):
            calls = ids(message, "tool_use", "id")
            answers = ids(following, "tool_result", "tool_use_id")
            if calls != answers:
                yield f"request {record['seq']}: calls {calls} are answered by {answers}"


def ids(message, kind, field):
    """The ids of a message's blocks of one kind."""
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    return [block[field] for block in blocks if block["type"] == kind]


def faults_in_recovery(scenario, llmock_address, address):
    """What is wrong with the next prompt, when nothing breaks any more."""
    if scenario.ends == "error" and scenario.recovers:
        call(llmock_address, "DELETE", "/_llmock/scenario")
        end = run_prompt(address, scenario.prompt)[-1]
        if end["state"] != "idle":
            yield f"the next prompt ended with {end}"


def faults_in_files(folder):
    """Files of the service, its log among them, that hold the API key."""
    files = [folder / "service.log", *(folder / "home").rglob("*")]
    for file in files:
        if file.is_file() and API_KEY.encode() in file.read_bytes():
            yield f"{file.relative_to(folder)} holds the API key"


def faults_of(scenario, folder, llmock_address):
    """Runs one scenario against a running llmock and gives all that is wrong."""
    call(llmock_address, "POST", "/_llmock/reset")
    if scenario.behaviors:
        call(llmock_address, "POST", "/_llmock/scenario", {"behaviors": scenario.behaviors})
    prepare_workspace(folder, scenario.prompt)
    with service(folder, llmock_address + "/anthropic", scenario.serve_flags) as address:
        events = run_prompt(address, scenario.prompt)
        faults = [
            *faults_in_events(scenario, events),
            *faults_in_verdict(scenario, llmock_address),
            *faults_in_recovery(scenario, llmock_address, address),
            *faults_in_requests(llmock_address),
        ]
    if API_KEY in json.dumps(events):
        faults.append("the events hold the API key")
    if faults:
        faults.append("events: " + json.dumps(events))
    return [*faults, *faults_in_files(folder)]


def report(scenario, faults, seconds):
    """One line for a scenario, and one more for each fault."""
    print(f"{'FAIL' if faults else 'ok  '} llmock: {scenario.name} ({seconds:.1f} s)", flush=True)
    for fault in faults:
        print(f"       {fault}", flush=True)


def end_of_log(folder):
    """The last lines that the service logged."""
    log = folder / "service.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return [f"log: {line}" for line in lines[-5:]]


def main():
    """Runs all scenarios, or those whose names are given."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = [scenario for scenario in SCENARIOS if scenario.name in sys.argv[1:]]
    failed = False
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {}
        for number, scenario in enumerate(wanted or SCENARIOS):
            folder = top / str(number)
            folder.mkdir()
            flags = scenario.llmock_flags
            if flags not in servers:
                servers[flags] = stack.enter_context(llmock(folder, flags))
            start = time.monotonic()
            try:
                faults = faults_of(scenario, folder, servers[flags])
            except (OSError, RuntimeError, http.client.HTTPException) as error:
                faults = [f"{type(error).__name__}: {error}"]
            if faults:
                faults += end_of_log(folder)
            report(scenario, faults, time.monotonic() - start)
            failed = failed or bool(faults)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
