#!/usr/bin/env python3
"""What a command of the model costs everybody else, measured from outside: HARNESS_BIN is the program,
built with `cargo build --release`. Each part gets a service of its own, with a scripted model behind it;
`commands.py NAME…` runs some of them. A table in the end says what was measured; a bound that is missed
is a failure.

Spec: [BASH-08] [BASH-09] [BASH-12] [BASH-202] [EVENT-33] [SEC-57] [SEC-201] [TOOL-52]
"""

import http.client
import json
import math
import os
import re
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import Failure, NoAnswer, Service, wait_until  # noqa: E402
from upstream import Pause, Scripted, call, events  # noqa: E402

MIB = 1024 * 1024
# What the service may grow by while a command writes 1 GB, in MiB.
MOST_GROWTH = 100
# How much later the pieces of another conversation's reply may come, in seconds.
MOST_DELAY = 0.020
# How late the service may answer while a command takes too much, in seconds.
MOST_ANSWER = 0.2
# How many pieces a paced reply has, and the seconds between them.
PIECES, PACE = 200, 0.01
# How often that is measured: what counts is the middle one, since others use the machine, too.
ROUNDS = 5
# How long a command may take here, in seconds.
LIMIT = 120

# What was measured: the part, what, how much, and at most how much.
table = []


def measured(part, what, value, most=None):
    """Notes a number, and holds it to its bound."""
    table.append((part, what, value, most))
    print(f"  {what}: {value:.1f}" + ("" if most is None else f" (at most {most})"), flush=True)
    if most is not None and value > most:
        raise Failure(f"{what}: {value:.1f} is more than {most}")


def percentile(values, part):
    """The value below which that part of them lies."""
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


class Model:
    """A model that does what the last prompt says: `run COMMAND` calls `bash`, `stream` says pieces at a
    steady pace, and anything else is answered with a word."""

    def __init__(self):
        self.calls = 0
        # Besides the command, what each call says.
        self.more = {}
        # When each piece of the last paced reply was sent.
        self.sent = {}

    def __call__(self, messages):
        content = messages[-1]["content"]
        last = content if isinstance(content, str) else content[-1].get("text", "")
        verb, _, rest = last.partition(" ")
        if verb == "run":
            self.calls += 1
            tool_input = {"command": rest, "timeout_s": LIMIT - 20, **self.more}
            yield from call("bash", tool_input, f"call_{self.calls}")
        elif verb == "stream":
            yield from self.paced()
        else:
            yield from events("done")

    def paced(self):
        """A reply in pieces, each with its number; the time is kept, however long sending takes."""
        first, *_, delta, stop, end, last = events("x")
        yield first
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        begun = time.monotonic()
        for number in range(PIECES):
            yield Pause(max(0.0, begun + number * PACE - time.monotonic()))
            self.sent[number] = time.monotonic()
            yield {**delta, "delta": {"type": "text_delta", "text": f"<{number}>"}}
        yield from (stop, end, last)


class Events:
    """A client of a conversation's events, with the time at which each came."""

    def __init__(self, service, conversation, query=""):
        self.seen = []
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=LIMIT)
        self.connection.request("GET", f"/v1/conversations/{conversation}/events{query}")
        self.answer = self.connection.getresponse()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        wait_until("the stream opens", lambda: self.of("attached"))

    def read(self):
        """Reads to the end of the stream."""
        rest = b""
        while True:
            try:
                piece = self.answer.read1(65536)
            except (OSError, http.client.HTTPException, ValueError, AttributeError):
                return
            came = time.monotonic()
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.startswith(b"data: "):
                    self.seen.append((came, json.loads(line[6:])))

    def leave(self):
        """Ends the stream."""
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.connection.close()

    def of(self, kind):
        """The events of a type so far."""
        return [event for _, event in list(self.seen) if event.get("type") == kind]

    def until(self, kind, count=1):
        """Waits for an event."""
        return wait_until(f"{count} {kind}", lambda: len(self.of(kind)) >= count, LIMIT)


class Bench:
    """A service with its model, and one conversation in which commands run."""

    def __init__(self, folder):
        self.model = Model()
        self.upstream = Scripted(self.model)
        flags = ["--base-url", self.upstream.url(), "--model", "claude-haiku-4-5",
                 "--max-turns", "1000"]
        self.service = Service(folder, *flags, model=())
        self.service.environment["ANTHROPIC_API_KEY"] = "sk-ant-of-the-commands"
        self.service.start()
        self.conversation = self.service.create()

    def begin(self, command, conversation=None):
        """Runs a command, which is asked about and allowed."""
        conversation = conversation or self.conversation
        path = f"/v1/conversations/{conversation}"
        self.service.order("POST", f"{path}/prompt", {"content": f"run {command}"})

        def asked():
            return self.service.expect(200, "GET", f"{path}/approvals")["approvals"]

        approval = wait_until("an approval", asked)[0]
        answer = {"answer": "allow", "digest": approval["digest"]}
        self.service.order("POST", f"{path}/approvals/{approval['id']}", answer)

    def is_running(self):
        """Whether the command runs."""
        return self.service.snapshot(self.conversation)["summary"]["state"] == "running"

    def result(self):
        """What the command came to, when it has ended."""
        wait_until("the command ends", lambda: not self.is_running(), LIMIT)
        results = [past["event"] for past in self.service.history(self.conversation)
                   if past["event"]["type"] == "tool_result"]
        return results[-1]["result"]

    def resident(self):
        """The memory of the service in MiB."""
        status = Path(f"/proc/{self.service.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def delays(self):
        """How late the pieces of a paced reply reach a client, in milliseconds."""
        self.model.sent.clear()
        conversation = self.service.create()
        client = Events(self.service, conversation)
        self.service.accepted(conversation, "stream", f"stream-{time.monotonic()}")
        client.until("run_ended")
        came = {}
        for when, event in client.seen:
            if event.get("type") == "delta":
                for number in event["text"].replace("<", "").split(">"):
                    if number:
                        came.setdefault(int(number), when)
        client.leave()
        if len(came) != PIECES:
            raise Failure(f"{len(came)} pieces came of {PIECES}")
        return [1000 * (came[number] - self.model.sent[number]) for number in range(PIECES)]


def sampled(sample, until):
    """Takes samples in a thread until it is told to stop; gives the thread and what was sampled. One that
    fails is over every bound."""
    samples = []

    def run():
        while not until.is_set():
            try:
                samples.append(sample())
            except Exception as error:  # noqa: BLE001 - told, whatever it is
                print(f"  {error!r}", flush=True)
                samples.append(math.inf)
            until.wait(0.02)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, samples


def late(rounds):
    """How late the pieces are in the middle one of some rounds: below it are 99 of a hundred."""
    return statistics.median(percentile(delays, 0.99) for delays in rounds)


def output(bench, part, command, is_whole):
    """A command that writes 1 GB, or without an end, while another conversation streams."""
    quiet = late([bench.delays() for _ in range(ROUNDS)])
    measured(part, "delay of another's pieces before, p99 ms", quiet)
    before, done = bench.resident(), threading.Event()
    thread, memory = sampled(bench.resident, done)
    rounds, took, result = [], [], ""
    try:
        while len(rounds) < ROUNDS:
            begun = time.monotonic()
            bench.begin(command)
            while bench.is_running() and len(rounds) < ROUNDS:
                rounds.append(bench.delays())
            if is_whole:
                result = bench.result()
                took.append(time.monotonic() - begun)
    finally:
        done.set()
        thread.join()
    if is_whole:
        measured(part, "time of the command and a round, s", min(took))
        if "[exit 0" not in result or len(result) > 40_000:
            raise Failure(f"the result has {len(result)} characters: {result[-300:]}")
        left_out = re.search(r"(\d+) bytes left out; read the path output:", result)
        if left_out is None or int(left_out[1]) < 10**9 - 40_000:
            raise Failure(f"the result does not say what was left out: {result[-300:]}")
    else:
        bench.service.expect(200, "POST", f"/v1/conversations/{bench.conversation}/cancel", {})
        bench.result()
    measured(part, "growth of the service, MiB", max(memory) - before, MOST_GROWTH)
    measured(part, "delay of another's pieces, p99 ms", late(rounds))
    measured(part, "so much more than before, p99 ms", late(rounds) - quiet, 1000 * MOST_DELAY)
    kept = [file.stat().st_size for file in (bench.service.home / "outputs").rglob("*")
            if file.is_file()]
    measured(part, "the largest kept output, MiB", max(kept) / MIB, 64)


def one_gigabyte(bench, part):
    """B6: lines of 100 letters, a gigabyte of them."""
    output(bench, part, r"head -c 1000000000 /dev/zero | tr '\0' x | fold -w 100", True)


def one_line(bench, part):
    """B6: the same in one line."""
    output(bench, part, r"head -c 1000000000 /dev/zero | tr '\0' x", True)


def without_end(bench, part):
    """B6: one that never ends by itself."""
    output(bench, part, "yes", False)


def too_much(bench, part, command, times):
    """A command that is ended because it takes too much, while a client that is connected and one that
    comes anew each time ask how the service is. What counts is the middle one of some times."""
    connection = http.client.HTTPConnection("127.0.0.1", bench.service.port, timeout=LIMIT)

    def connected():
        begun = time.monotonic()
        connection.request("GET", "/healthz")
        if (answer := connection.getresponse()).status != 200:
            raise Failure(f"the service is not well: {answer.status}")
        answer.read()
        return 1000 * (time.monotonic() - begun)

    def anew():
        begun = time.monotonic()
        bench.service.expect(200, "GET", "/healthz")
        return 1000 * (time.monotonic() - begun)

    longest, longest_anew, took = [], [], []
    for _ in range(times):
        done = threading.Event()
        threads, answers = zip(*(sampled(ask, done) for ask in (connected, anew)))
        begun = time.monotonic()
        try:
            bench.begin(command)
            result = bench.result()
        finally:
            done.set()
            for thread in threads:
                thread.join()
        took.append(time.monotonic() - begun)
        if "it took too much: " not in result:
            raise Failure(f"the result is {result[-300:]}")
        longest.append(max(answers[0]))
        longest_anew.append(max(answers[1]))
    print(f"  {result.rsplit('[', 1)[-1]}", flush=True)
    measured(part, "time of the command, s", statistics.median(took))
    # Whether it is one of the command's processes is looked up for each connection.
    measured(part, "longest answer, connected anew each time, ms", statistics.median(longest_anew), 1000 * MOST_ANSWER)
    measured(part, "longest answer, ms", statistics.median(longest), 1000 * MOST_ANSWER)


def command_lines():
    """The command lines of all processes."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_text(errors="replace")
        except OSError:
            # It has ended.
            continue


STORM = "for i in $(seq 3000); do sleep 60 & done; wait"
# One that ends itself by nothing, in a shell that waits.
BOMB = "bomb() { bomb | bomb & }; bomb; sleep 60; exit 0"


def many_processes(bench, part):
    """B12: a storm of processes, which ends by itself at 3,000."""
    too_much(bench, part, STORM, 3)


def many_processes_with_network(bench, part):
    """The same where each process could be a client of the service, and is looked at for that."""
    bench.model.more = {"network": True}
    too_much(bench, part, STORM, 3)


def many_processes_with_full_access(bench, part):
    """The same without the containment of files and network."""
    bench.model.more = {"access": "full"}
    too_much(bench, part, STORM, 3)


def many_processes_by_landlock(bench, part):
    """The same on a machine without namespaces, where all processes are in the service's network."""
    bench.service.kill()
    program = Path(bench.service.folder) / "without-namespaces"
    calls = Path(__file__).parent.resolve() / "sandbox_calls.py"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {calls} without namespaces {os.environ['HARNESS_BIN']} \"$@\"\n")
    program.chmod(0o755)
    before, os.environ["HARNESS_BIN"] = os.environ["HARNESS_BIN"], str(program)
    try:
        bench.service.start()
    finally:
        os.environ["HARNESS_BIN"] = before
    found = bench.service.expect(200, "GET", "/v1/service")
    if "landlock" not in json.dumps(found):
        raise Failure(f"commands are not contained by Landlock: {found}")
    too_much(bench, part, STORM, 3)


def fork_bomb(bench, part):
    """B12: one that doubles itself for as long as it may, and one whose shell is at its end at once."""
    too_much(bench, part, BOMB, 3)
    mark = f"bomb-{time.monotonic_ns()}"
    bench.begin(f"{mark}() {{ {mark} | {mark} & }}; {mark}")
    print(f"  {bench.result().rsplit('[', 1)[-1][:200]}", flush=True)

    measured(part, "processes left behind it", sum(mark in line for line in command_lines()), 0)


def much_memory(bench, part):
    """B12: memory that is touched, far more than the machine has."""
    touched = r"x=[bytearray(b'\1')*(1<<20) for _ in range(10**6)]"
    too_much(bench, part, f'python3 -c "{touched}"', 1)


def alike(bench, part):
    """B7: three clients see the same pieces, one that comes late the end of them, and none is kept."""
    clients = [Events(bench.service, bench.conversation) for _ in range(3)]
    bench.begin("for i in $(seq 300); do echo line $i; sleep 0.01; done; sleep 1")
    wait_until("some pieces", lambda: len(clients[0].of("tool_output")) > 10, LIMIT)
    late = Events(bench.service, bench.conversation)
    bench.result()
    for client in [*clients, late]:
        client.until("run_ended")
    pieces = [[(event["id"], event["offset"], event["text"]) for event in client.of("tool_output")]
              for client in clients]
    for number, of_client in enumerate(pieces):
        if of_client != pieces[0]:
            raise Failure(f"client {number} saw other pieces than client 0")
    whole = "".join(f"line {number}\n" for number in range(1, 301))
    if "".join(text for _, _, text in pieces[0]) != whole:
        raise Failure(f"the pieces are not what was written: {pieces[0]}")
    if [offset for _, offset, _ in pieces[0]] != [
            sum(len(text) for _, _, text in pieces[0][:number]) for number in range(len(pieces[0]))]:
        raise Failure(f"the offsets have holes: {pieces[0]}")
    (_, offset, text), *rest = [(event["id"], event["offset"], event["text"])
                                for event in late.of("tool_output")]
    if offset != 0 or len(text) < len("".join(piece for _, _, piece in pieces[0][:10])):
        raise Failure(f"the late client begins at {offset} with {text!r}")
    if text + "".join(piece for _, _, piece in rest) != whole:
        raise Failure("the late client did not see all of it")
    journal = bench.service.file(bench.conversation).read_text()
    if "tool_output" in journal:
        raise Failure("pieces stand in the journal")
    measured(part, "pieces that three clients saw alike", len(pieces[0]))
    measured(part, "pieces that the late one was told as one", len(pieces[0]) - len(rest))


PARTS = {part.__name__: part for part in (
    one_gigabyte, one_line, without_end, many_processes, many_processes_with_network,
    many_processes_with_full_access, many_processes_by_landlock, fork_bomb, much_memory, alike)}


def passes(name):
    """Whether a part comes out as it should."""
    print(name, flush=True)
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        bench = Bench(folder)
        try:
            PARTS[name](bench, name)
        except (Failure, NoAnswer) as failure:
            print(f"  FAILED: {failure}", flush=True)
            return False
        finally:
            bench.service.kill()
    return True


def main():
    """Runs those that were asked for, or all. What counts is the best of three: a machine that others use makes
    delays of its own, and never takes any away."""
    failed = [name for name in sys.argv[1:] or PARTS if not any(passes(name) for _ in range(3))]
    print(f"\n{'part':<32} {'what':<45} {'measured':>10} {'at most':>8}")
    for part, what, value, most in table:
        print(f"{part:<32} {what:<45} {value:>10.1f} {'' if most is None else most:>8}")
    sys.exit(f"failed: {', '.join(failed)}" if failed else None)


if __name__ == "__main__":
    main()
