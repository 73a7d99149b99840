#!/usr/bin/env python3
"""The cost of a command of the model for every other client, measured from outside: HARNESS_BIN is the
program, built with `cargo build --release`. Each part has its own service and its own scripted model;
`commands.py NAME…` runs some of them, and `commands.py --full` measures more often and fills the memory, too.
Bounds on time and memory are ratios to a baseline of the same run (`support/bounds.py`). A table in the end
has all of them.

Spec: [BASH-08] [BASH-09] [BASH-12] [BASH-202] [BASH-205] [BASH-206] [BASH-530] [BASH-531] [BASH-532] [BASH-533]
Spec: [BASH-534] [BASH-535] [BOX-540] [BOX-541] [BOX-542] [BOX-543] [BOX-545] [EVENT-33] [SEC-57] [SEC-201]
Spec: [SEC-510] [SEC-511] [TOOL-52]
"""

import ctypes
import fcntl
import http.client
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from bounds import MEDIANS, Bare, Beside, every, hold, twice  # noqa: E402
from harness import Failure, NoAnswer, Service, wait_until  # noqa: E402
from upstream import Pause, Scripted, call, events  # noqa: E402

MIB = 1024 * 1024
# The largest output that is kept of a command, in MiB.
KEPT = 64
# Bounds: what the service may grow by while a command writes more than is kept; how late the pieces of
# another conversation's reply may come; and how late the service may answer while a command takes too much.
MOST_GROWTH, MOST_DELAY, MOST_ANSWER = 0.5, 20, 30
# How many pieces a paced reply has, and the seconds between them.
PIECES, PACE = 200, 0.01
# What passes the wish for all of it on.
FULL = [word for word in sys.argv if word == "--full"]
# How often delays are measured, and how often a command that takes too much runs: the middle one counts.
ROUNDS, TIMES = 5 if FULL else 3, 3
# How many numbers of processes there are where they are nearly used up, how many bombs there, and beside how many other
# programs.
NUMBERS, BOMBS, WITNESSES = 2500, 20 if FULL else 4, 200 if FULL else 40
# A bomb of sessions ends, at most, so many times as late as one of a single session.
MOST_TIMES = 25
# The number of commands beside which a person works.
MEANWHILE = 100 if FULL else 30
# How long a command may take here, in seconds.
LIMIT = 120
# The ways of a client to hide, the names of the service's machine besides the system's own, and the number of tries
# that must reach the service.
WAYS, LEAST_HIDDEN = "plain session orphan table ended undumpable flight", 40
HOSTS = "127.0.0.1 localhost 0.0.0.0 ::ffff:127.0.0.1" if FULL else "127.0.0.1 ::ffff:127.0.0.1"
# An ordinary user, by a number that belongs to nobody, and a setting of `prctl`.
USER, PR_SET_DUMPABLE = 47110, 4


def check(what, counted, most):
    """Prints a count and holds it to its limit."""
    print(f"  {what}: {counted} (at most {most})", flush=True)
    if counted > most:
        raise Failure(f"{what}: {counted} is more than {most}")


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

    def __init__(self, folder, has_bare=True):
        self.folder = folder
        self.bare = Bare(folder) if has_bare else None
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

    def close(self):
        """Ends the service and the bare server."""
        self.service.kill()
        if self.bare:
            self.bare.close()

    def bare_delays(self, delays):
        """Adds how late the pieces of the bare server reach a client, in milliseconds."""
        connection = http.client.HTTPConnection(*self.bare.address, timeout=LIMIT)
        connection.request("GET", f"/paced/{PIECES}/{PACE}")
        answer = connection.getresponse()
        while line := answer.readline():
            delays.append(1000 * (time.monotonic() - float(line)))
        connection.close()

    def delays(self):
        """How late the pieces of a paced reply reach a client, and those of the bare server in the same
        period, in milliseconds."""
        bare = []
        thread = threading.Thread(target=self.bare_delays, args=(bare,))
        thread.start()
        try:
            return self.service_delays(), bare
        finally:
            thread.join()

    def service_delays(self):
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


class Memory(threading.Thread):
    """The most memory that the service has until the end, in MiB."""

    def __init__(self, bench):
        super().__init__()
        self.bench, self.done = bench, threading.Event()
        self.before = self.highest = bench.resident()
        self.start()

    def run(self):
        while not self.done.wait(0.02):
            self.highest = max(self.highest, self.bench.resident())

    def end(self):
        """Ends it."""
        self.done.set()
        self.join()


def late(rounds):
    """How late the pieces are in the middle one of some rounds: 99 of a hundred are earlier."""
    return statistics.median(percentile(delays, 0.99) for delays in rounds)


def output(bench, command, is_whole):
    """A command that writes 1 GB, or without an end, while another conversation streams."""
    memory, rounds, took, result = Memory(bench), [], [], ""
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
        memory.end()
    if is_whole:
        print(f"  time of the command and a round: {min(took):.1f} s", flush=True)
        if "[exit 0" not in result or len(result) > 40_000:
            raise Failure(f"the result has {len(result)} characters: {result[-300:]}")
        left_out = re.search(r"(\d+) bytes left out; read the path output:", result)
        if left_out is None or int(left_out[1]) < 10**9 - 40_000:
            raise Failure(f"the result does not say what was left out: {result[-300:]}")
    else:
        bench.service.expect(200, "POST", f"/v1/conversations/{bench.conversation}/cancel", {})
        bench.result()
    hold("growth of the service, beside the largest kept output", memory.highest - memory.before, KEPT,
         MOST_GROWTH, "MiB")
    bare = [delays for _, delays in rounds]
    baseline = max(late(bare), MEDIANS * statistics.median(sum(bare, [])))
    hold("delay of another's pieces, p99", late(delays for delays, _ in rounds), baseline, MOST_DELAY, "ms")
    kept = [file.stat().st_size for file in (bench.service.home / "outputs").rglob("*")
            if file.is_file()]
    check("the largest kept output, bytes", max(kept), KEPT * MIB)


def one_gigabyte(bench):
    """B6: lines of 100 letters, a gigabyte of them."""
    output(bench, r"head -c 1000000000 /dev/zero | tr '\0' x | fold -w 100", True)


def one_line(bench):
    """B6: the same in one line."""
    output(bench, r"head -c 1000000000 /dev/zero | tr '\0' x", True)


def without_end(bench):
    """B6: one that never ends by itself."""
    output(bench, "yes", False)


def too_much(bench, command, times=TIMES):
    """A command that is ended because it takes too much, while two clients ask whether the service is
    well: one stays connected, and one connects for each request. The middle one of some times counts."""
    longest_answers = {"longest answer, connected for each request": [], "longest answer": []}
    took = []
    for _ in range(times):
        clients = [Beside(bench.folder, bench.service.port, "GET", "/healthz", pause=0.02, accepted=(200,), kept=kept)
                   for kept in (False, True)]
        begun = time.monotonic()
        try:
            bench.begin(command)
            result = bench.result()
        finally:
            for client in clients:
                client.close()
        took.append(time.monotonic() - begun)
        if "it took too much: " not in result:
            raise Failure(f"the result is {result[-300:]}")
        for client, answers in zip(clients, longest_answers.values()):
            if refused := client.refused():
                raise Failure(f"the service is not well: {refused}")
            answers.append((1000 * max(client.times("service")), 1000 * client.baseline()))
    print(f"  {result.rsplit('[', 1)[-1]}", flush=True)
    print(f"  time of the command: {statistics.median(took):.1f} s", flush=True)
    # For each connection the service finds out if its client is one of the command's processes.
    for what, answers in longest_answers.items():
        answers.sort(key=lambda answer: answer[0] / answer[1])
        hold(what, *answers[len(answers) // 2], MOST_ANSWER, "ms")


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


def many_processes(bench):
    """B12: a storm of processes, which ends by itself at 3,000."""
    too_much(bench, STORM)


def many_processes_with_network(bench):
    """The same where each process could be a client of the service, and is looked at for that."""
    bench.model.more = {"network": True}
    too_much(bench, STORM)


def many_processes_with_full_access(bench):
    """The same without the containment of files and network."""
    bench.model.more = {"access": "full"}
    too_much(bench, STORM)


def found_backend(service):
    """What contains commands, once the service knows it."""
    sandbox = json.dumps(service.expect(200, "GET", "/v1/service")["sandbox"])
    return None if "not known yet" in sandbox else sandbox


def many_processes_by_landlock(bench):
    """The same on a machine without namespaces, where all processes are in the service's network."""
    without_namespaces(bench)
    too_much(bench, STORM)


def without_namespaces(bench):
    """Starts the service again, where it cannot make namespaces."""
    calls = Path(__file__).parent.resolve() / "sandbox_calls.py"
    start_by(bench, "landlock", f"exec {sys.executable} {calls} without namespaces")


def start_by(bench, backend, line):
    """Starts the service again, by a line of the shell to which its own command line is added."""
    bench.service.kill()
    program = Path(bench.service.folder) / "started-by"
    program.write_text(f"#!/bin/sh\n{line} {os.environ['HARNESS_BIN']} \"$@\"\n")
    program.chmod(0o755)
    before, os.environ["HARNESS_BIN"] = os.environ["HARNESS_BIN"], str(program)
    try:
        bench.service.start()
    finally:
        os.environ["HARNESS_BIN"] = before
    # The service answers before it has tried the backends.
    sandbox = wait_until("a backend", lambda: found_backend(bench.service), LIMIT)
    if backend not in sandbox:
        raise Failure(f"commands are contained by {sandbox}, and not by {backend}")


def fork_bomb(bench):
    """B12: one that doubles itself for as long as it may, and one whose shell is at its end at once."""
    too_much(bench, BOMB)
    mark = f"bomb-{time.monotonic_ns()}"
    bench.begin(f"{mark}() {{ {mark} | {mark} & }}; {mark}")
    print(f"  {bench.result().rsplit('[', 1)[-1][:200]}", flush=True)

    check("processes that it left", sum(mark in line for line in command_lines()), 0)


def nothing_else_ends(bench):
    """B12: bombs where the numbers of processes are nearly used up and given again at once: what ends them ends no other
    program, by either containment."""
    calls = Path(__file__).parent.resolve() / "sandbox_calls.py"
    few = f"echo {NUMBERS} > /proc/sys/kernel/pid_max && exec \"$@\""
    small_table = f"exec unshare --pid --fork --mount-proc --kill-child sh -c '{few}' sh"
    among_witnesses(bench, "namespaces", small_table)
    among_witnesses(bench, "landlock", f"{small_table} {sys.executable} {calls} without namespaces")


def among_witnesses(bench, backend, line):
    """Bombs, while short programs start and end without a pause in the service's table of processes."""
    start_by(bench, backend, line)
    outer = bench.service.process.pid
    first = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0]
    others = subprocess.Popen(["nsenter", "--pid", "--target", first, sys.executable, __file__, *FULL, "--witnesses"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        # From now on they need nothing but their programs.
        others.stdout.readline()
        for _ in range(BOMBS):
            bench.begin(BOMB)
            if "it took too much: " not in (result := bench.result()):
                raise Failure(f"the result is {result[-300:]}")
    finally:
        ended, by_signal = map(int, others.communicate()[0].split())
    if bench.service.process.poll() is not None:
        raise Failure("the service was ended")
    print(f"  {backend}: {BOMBS} bombs beside {ended} other programs, of {WITNESSES} at once", flush=True)
    check("other programs that were ended", by_signal, 0)


def witnesses():
    """Runs short programs until the end of the standard input, and prints how many there were and how many a signal
    ended."""
    done, ended, lock = threading.Event(), [], threading.Lock()

    def run_again():
        while not done.is_set():
            try:
                code = subprocess.run(["sleep", "0.05"], check=False).returncode
            except OSError:
                # The table is full for a moment.
                continue
            with lock:
                ended.append(code)

    threads = [threading.Thread(target=run_again) for _ in range(WITNESSES)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.read()
    while len(ended) < 10 * WITNESSES:
        time.sleep(0.05)
    done.set()
    for thread in threads:
        thread.join()
    print(len(ended), sum(code < 0 for code in ended))


def python(*lines):
    """The command that runs a program of Python."""
    text = "\n".join(lines)
    if "'" in text:
        raise Failure("a quote in a program")
    return f"python3 -c '{text}'"


# One whose processes each begin a session, which the kernel gives a share of the processors of its own, and end at once
# as parents. It ends itself in the end.
SESSIONS = python("import os, time", "end = time.monotonic() + 20", "while time.monotonic() < end:", " try:",
                  "  if os.fork() == 0:", "   os.setsid()", "   if os.fork(): os._exit(0)", " except OSError: pass")


# One whose processes do nothing but copy themselves, which takes the locks of the files that they have mapped.
COPIES = python("import os, time", "end = time.monotonic() + 20", "while time.monotonic() < end:", " try: os.fork()",
                " except OSError: pass")


def copies_without_end(bench):
    """B12: a bomb that keeps the process from ending that would end it."""
    too_much(bench, COPIES)


def ended_after(bench, command):
    """The seconds until a command is ended that takes too much."""
    begun = time.monotonic()
    bench.begin(command)
    result = bench.result()
    took = time.monotonic() - begun
    if "it took too much: " not in result:
        raise Failure(f"the result is {result[-300:]}")
    return took


def sessions_without_end(bench):
    """B12: a bomb that takes the processors from everybody else is counted and ended, long before it ends itself."""
    plain = [ended_after(bench, BOMB) for _ in range(TIMES)]
    took = [ended_after(bench, SESSIONS) for _ in range(TIMES)]
    hold("time of the command, beside a bomb of one session", statistics.median(took), statistics.median(plain),
         MOST_TIMES, "s")


def odd_names(bench):
    """A process whose name is not text is ended like any other, by any containment."""
    without_namespaces(bench)
    mark = f"6{time.monotonic_ns() % 10**6}.5"
    rename = 'ctypes.CDLL(None).prctl(15, b"odd\\xff", 0, 0, 0)'
    bench.begin(python("import ctypes, os, time", "if os.fork() == 0:", " os.setsid()", f" {rename}",
                       f" time.sleep({mark})", "time.sleep(0.5)"))
    begun = time.monotonic()
    bench.result()
    check("seconds until the command ended", round(time.monotonic() - begun), 30)
    check("processes that it left", sum(mark in line for line in command_lines()), 0)


def halted_holder(bench):
    """A command ends when it is cancelled, and when the service dies, also if the process that holds it is halted."""
    for end in ("cancel", "kill", "cancel"):
        mark = f"7{time.monotonic_ns() % 10**6}.5"
        bench.begin(f"sleep {mark}")
        wait_until("the command runs", lambda it=mark: any(it in line and "bash" not in line and "__launch" not in line
                                                           for line in command_lines()))
        os.kill(warden_of(bench.service.process.pid), signal.SIGSTOP)
        if end == "cancel":
            bench.service.expect(200, "POST", f"/v1/conversations/{bench.conversation}/cancel", {})
            bench.result()
        else:
            bench.service.kill()
        wait_until(f"{end} ends the command", lambda it=mark: not any(it in line for line in command_lines()))
        if end == "kill":
            without_namespaces(bench)
    print("  a command whose holder is halted ends", flush=True)


def warden_of(service):
    """The process that holds the command of a service."""
    children = Path(f"/proc/{service}/task").glob("*/children")
    for pid in {pid for file in children for pid in file.read_text().split()}:
        if b"__launch\0warden" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return int(pid)
    raise Failure("no process holds the command")


def left_folders(bench):
    """Folders for temporary files that a killed service left are removed when one starts, and those in use are not."""
    temp = Path(bench.folder) / "temp"
    left, used, other = (temp / f"harness-{name}" for name in ("0" * 16, "1" * 16, "mine"))
    for path in (left / "deep", used, other):
        path.mkdir(parents=True, mode=0o700)
    left.chmod(0o700)
    lock = os.open(used, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    bench.service.kill()
    bench.service.environment["TMPDIR"] = str(temp)
    bench.service.start()
    wait_until("the folder is removed", lambda: not left.exists())
    bench.begin("kill -STOP $$")
    wait_until("a folder of the command", lambda: len(list(temp.iterdir())) == 3)
    bench.service.kill()
    os.close(lock)
    bench.service.start()
    wait_until("all folders are removed", lambda: list(temp.iterdir()) == [other])
    print("  what was left is removed", flush=True)


def much_shared_memory(bench):
    """Memory that processes share, and that no file has, counts as well."""
    too_much(bench, python("import mmap, time", "kept, end = [], time.monotonic() + 60", "while time.monotonic() < end:",
                           " kept.append(mmap.mmap(-1, 1 << 24)); kept[-1].write(b\"1\" * (1 << 24))"), 1)


def memory_in_common(bench):
    """Memory that many processes share counts once."""
    told = Path("/proc/meminfo").read_text()
    total = int(re.search(r"MemTotal: *(\d+)", told)[1]) * 1024
    bench.begin(python("import os, time", f"kept = bytearray(b\"1\") * {total // 16}",
                       "parent = os.getpid()", "children = [os.fork() for _ in range(12) if os.getpid() == parent]",
                       "time.sleep(3 if os.getpid() == parent else 2)"))
    if "[exit 0" not in (result := bench.result()):
        raise Failure(f"the result is {result[-300:]}")


class Asking(threading.Thread):
    """A client of the service's owner that asks again and again without the token, each time on a connection of its
    own, and keeps the statuses."""

    def __init__(self, service):
        super().__init__()
        self.service, self.done, self.statuses = service, threading.Event(), []
        self.start()

    def run(self):
        while not self.done.wait(0.05):
            try:
                self.statuses.append(self.service.call("GET", "/v1/conversations").status)
            except NoAnswer as failure:
                self.statuses.append(str(failure))

    def end(self):
        """Ends it."""
        self.done.set()
        self.join()


def hidden_clients(bench):
    """Clients that a command with the network starts and that hide whose they are, from a command, from a job, and
    after a restart: none is answered without the token, and the owner's own client is answered all the while."""
    backend = wait_until("a backend", lambda: found_backend(bench.service), LIMIT)
    print(f"  commands are contained by {backend}", flush=True)
    workspace = bench.service.folder / "workspace"
    shutil.copy(Path(__file__).parent / "support" / "hidden_client.py", workspace)
    lines = hide(bench, workspace, {})
    lines += hide(bench, workspace, {"background": True, "timeout_s": None})
    bench.service.kill()
    bench.service.start()
    wait_until("a backend", lambda: found_backend(bench.service), LIMIT)
    lines += hide(bench, workspace, {})
    others = [line for line in lines if line.split()[2:] not in (["403"], ["-"])]
    print(*(f"    answered otherwise: {line}" for line in others), sep="\n", flush=True)
    refused = [line for line in lines if line.split()[2:] == ["403"]]
    print(f"  tries that were refused: {len(refused)} of {len(lines)}", flush=True)
    check("tries with another answer", len(others), 0)
    if len(refused) < LEAST_HIDDEN:
        raise Failure(f"only {len(refused)} tries reached the service: {lines}")


def hide(bench, workspace, more):
    """Runs each client of one command, while the owner asks. Returns a line for each: way, host and status."""
    answers = workspace / "answers"
    answers.unlink(missing_ok=True)
    client = f"{shutil.which('python3', path='/usr/bin:/bin') or sys.executable} hidden_client.py"
    bench.model.more = {"access": "write", "network": True, **more}
    # The one before may have the end of a job to tell.
    bench.conversation = bench.service.create()
    owner = Asking(bench.service)
    try:
        bench.begin(f"for way in {WAYS}; do for host in {HOSTS} {socket.gethostname()}; do"
                    f" echo $way $host $({client} $way $host {bench.service.port} 2>&1 | tail -n 1); done; done > part;"
                    " mv part answers")
        wait_until("the answers", answers.exists, LIMIT)
        wait_until("the end of the run", lambda: not bench.is_running(), LIMIT)
    finally:
        owner.end()
    check("answers to the owner that are not 200", sum(status != 200 for status in owner.statuses), 0)
    if len(owner.statuses) < 10:
        raise Failure(f"the owner was answered {len(owner.statuses)} times")
    return answers.read_text().splitlines()


def hidden_clients_of_a_user(bench):
    """The same for a service of an ordinary user, who cannot look into each process."""
    if os.geteuid() != 0:
        print("  not available: this service is that of an ordinary user already", flush=True)
        return
    folder = Path(tempfile.mkdtemp(prefix="commands-"))
    try:
        program = folder / "harness"
        shutil.copy(os.environ["HARNESS_BIN"], program)
        program.chmod(0o755)
        os.chown(folder, USER, USER)
        # A child takes over what this process has loaded: the user may not read all of it.
        child = os.fork()
        if child == 0:
            os._exit(0 if as_user(folder, program) else 1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            raise Failure("it failed for the user")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def as_user(folder, program):
    """Becomes that user and runs the part. False if it failed."""
    libc = ctypes.CDLL(None)
    bench = None
    try:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        # The service may look into other processes of its user, but not into one that was another user's.
        if libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0:
            raise Failure("the process cannot be opened to others of its user")
        os.environ.update(HARNESS_BIN=str(program), PATH="/usr/bin:/bin")
        bench = Bench(folder, has_bare=False)
        hidden_clients(bench)
        return True
    except Exception:  # The parent says that it failed.
        traceback.print_exc()
        return False
    finally:
        if bench:
            bench.close()


def much_memory(bench):
    """B12: memory that is touched, far more than the machine has."""
    touched = r"x=[bytearray(b'\1')*(1<<20) for _ in range(10**6)]"
    too_much(bench, f'python3 -c "{touched}"', 1)


def alike(bench):
    """B7: three clients see the same pieces, one that comes late the end of them, and none is kept."""
    clients = [Events(bench.service, bench.conversation) for _ in range(3)]
    workspace = bench.service.folder / "workspace"
    bench.begin("i=0; until [ -e enough ]; do i=$((i + 1)); echo line $i; sleep 0.01; done; echo over;"
                " until [ -e seen ]; do sleep 0.05; done")
    wait_until("some pieces", lambda: len(clients[0].of("tool_output")) > 10, LIMIT)
    late = Events(bench.service, bench.conversation)
    wait_until("a piece behind what the late one missed", lambda: len(late.of("tool_output")) > 1, LIMIT)
    (workspace / "enough").touch()
    for client in [*clients, late]:
        wait_until("the last piece", lambda it=client: it.of("tool_output")[-1]["text"].endswith("over\n"), LIMIT)
    (workspace / "seen").touch()
    bench.result()
    for client in [*clients, late]:
        client.until("run_ended")
    pieces = [[(event["id"], event["offset"], event["text"]) for event in client.of("tool_output")]
              for client in clients]
    for number, of_client in enumerate(pieces):
        if of_client != pieces[0]:
            raise Failure(f"client {number} saw other pieces than client 0")
    written = "".join(text for _, _, text in pieces[0])
    whole = "".join(f"line {number}\n" for number in range(1, written.count("\n"))) + "over\n"
    if written != whole:
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
    print(f"  pieces that three clients saw alike: {len(pieces[0])}", flush=True)
    print(f"  pieces that the late one was sent as one: {len(pieces[0]) - len(rest)}", flush=True)


class Commands:
    """Commands of a conversation, each of which is allowed if it asks."""

    def __init__(self, bench, conversation=None):
        self.bench, self.conversation = bench, conversation or bench.service.create()

    def said(self, command, **more):
        """What the model is told of a command."""
        service, path = self.bench.service, f"/v1/conversations/{self.conversation}"
        before = len(self.results())
        # A job has no time limit.
        self.bench.model.more = {**more, "timeout_s": None} if more.get("background") else more
        service.order("POST", f"{path}/prompt", {"content": f"run {command}"})

        def ended():
            for approval in service.expect(200, "GET", f"{path}/approvals")["approvals"]:
                answer = {"answer": "allow", "digest": approval["digest"]}
                service.call("POST", f"{path}/approvals/{approval['id']}", answer, headers={
                    "authorization": f"Bearer {(service.home / 'token').read_text().strip()}"})
            state = service.snapshot(self.conversation)["summary"]["state"]
            return state not in ("running", "waiting_approval") and len(self.results()) > before

        wait_until(f"the end of {command}", ended, LIMIT)
        return self.results()[-1]

    def results(self):
        """What the model was told of all of them."""
        history = self.bench.service.history(self.conversation)
        return [past["event"]["result"] for past in history if past["event"]["type"] == "tool_result"]

    def has(self, words, command, **more):
        """Fails if a command does not say that."""
        told = self.said(command, **more)
        if words not in told:
            raise Failure(f"{command} ({more}): no {words!r} in {told!r}")

    def fails(self, words, command, **more):
        """Fails if a command ends well, or does not say that."""
        told = self.said(command, **more)
        if "[exit 0" in told or words not in told:
            raise Failure(f"{command} ({more}): it should fail with {words!r}: {told!r}")


# Asks the server of the same conversation.
ASKS = ("python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:8765/\", timeout=5).read())'"
        " 2>&1 | tail -1")


def one_world(bench):
    """The commands and jobs of a conversation share a network, temporary files and what they write in the home
    folder; those of other conversations do not see it, and all of it together is bounded."""
    service = bench.service
    service.kill()
    operator = service.folder / "operator"
    operator.mkdir()
    (operator / "own").write_text("own\n")
    service.environment["HOME"] = str(operator)
    service.start()
    backend = wait_until("a backend", lambda: found_backend(service), LIMIT)
    print(f"  commands are contained by {backend}", flush=True)
    if "namespaces" not in backend:
        print("  not available: it takes namespaces", flush=True)
        return
    conversations = [Commands(bench, bench.conversation), Commands(bench), Commands(bench)]
    for number, it in enumerate(conversations):
        it.said(f"mkdir -p /tmp/www && echo answer-{number} > /tmp/www/index.html && cd /tmp/www"
                " && exec python3 -m http.server --bind 127.0.0.1 8765", background=True)
        it.said(f"echo {number} > /tmp/left; echo {number} > /dev/shm/left; echo {number} > /var/tmp/left")
        it.has("exit 0", f"git config --global user.name name-{number}")
        # As `pip install --user` does, without an index of packages.
        it.has("exit 0", "d=$(python3 -m site --user-site); mkdir -p $d ~/.local/bin;"
               f" echo number={number} > $d/installed.py; printf '#!/bin/sh\necho tool-{number}\n' > ~/.local/bin/tool;"
               " chmod +x ~/.local/bin/tool")
    for number, it in enumerate(conversations):
        it.has(f"answer-{number}", f"for i in $(seq 50); do {ASKS} | grep answer && break; sleep 0.1; done")
        it.has(f"{number}\n{number}\n{number}\n", "cat /tmp/left /dev/shm/left /var/tmp/left")
        it.has(f"name-{number}", "git config --global user.name")
        it.has(f"tool-{number}\n{number}\nown\n",
               "~/.local/bin/tool; python3 -c 'import installed; print(installed.number)'; cat ~/own")
        it.has(f"{number}\n", "cat /tmp/left", access="read")
        it.has(f"{number}\n", "cat /tmp/left", network=True)
    if sorted(path.name for path in operator.iterdir()) != ["own"]:
        raise Failure(f"the home folder has changed: {list(operator.iterdir())}")

    # Nobody runs what a command has put into the home folder that was allowed less.
    first = conversations[0]
    first.said("echo read > ~/by_read", access="read")
    first.said("echo network > ~/by_network", network=True)
    first.said("echo write > ~/by_write")
    first.has("network\nread\nwrite\n", "cat ~/by_*", access="read")
    first.has("network\nwrite\n", "cat ~/by_*")
    first.fails("by_write", "cat ~/by_network ~/by_write ~/by_read 2>&1", network=True)
    # What its owner changes there is seen.
    first.fails("No such file", "cat ~/later")
    (operator / "later").write_text("changed\n")
    (operator / "own").rename(operator / "old")
    (operator / "own").write_text("new\n")
    first.has("changed\nnew\n", "cat ~/later ~/own")

    # A link in the way of the conversation's folder leads nowhere, and the next command starts.
    place = str(service.folder.parent)
    if place == "/tmp":
        first.said(f"mv {service.folder} /tmp/moved; ln -s /etc {service.folder}; true")
        first.has("main.rs", "ls src")
    # Processes of a job leave room for those of a command.
    many = "for i in $(seq 600); do sleep {} & done; wait; echo all"
    first.said(many.format(300), background=True)
    first.has("all\n[exit 0", many.format(0.5))

    # Nothing of ours stands around.
    # There are the folders of this command and of the jobs.
    first.has("exit 0", "test $(ls -d /tmp/harness-* | wc -l) -le 3")
    first.said("echo x > $TMPDIR/x")
    first.has("exit 0", "test -z \"$(ls $TMPDIR)\"")

    # All of it together is bounded, for a command that only reads as well.
    full = "No space left on device"
    first.has("exit 0", "size=$(df --output=size -B1M /tmp | tail -1); fallocate -l $((size * 3 / 5))M /tmp/large")
    for access in ("read", "write"):
        for folder in ("/tmp", "$TMPDIR", "~", "/dev/shm", "/var/tmp"):
            first.fails(full, "size=$(df --output=size -B1M /tmp | tail -1);"
                        f" fallocate -l $((size * 3 / 5))M {folder}/more 2>&1", access=access)
    first.has("exit 0", "rm /tmp/large; for file in $TMPDIR/x ~/x; do fallocate -l 1M $file; done", access="read")
    bench.model.more = {}


class Person(threading.Thread):
    """A person who edits protected files, commits and changes git's configuration in another terminal."""

    def __init__(self, folder, home):
        super().__init__(daemon=True)
        self.folder, self.done, self.turns, self.failure = folder, threading.Event(), 0, None
        home.mkdir()
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "user.name", "a")
        self.git("config", "user.email", "a@b")
        self.git("init", "-q", "--bare", str(home / "remote"))
        self.git("remote", "add", "first", str(home / "remote"))
        (folder / ".vscode").mkdir()
        for name in ("AGENTS.md", ".envrc", ".vscode/settings.json", "file"):
            (folder / name).write_text("0\n")
        self.git("add", ".")
        self.git("commit", "-qm", "0")

    def git(self, *words):
        """Runs git, again while a command holds one of its locks. Returns its output."""
        def tried():
            ran = subprocess.run(["git", *words], cwd=self.folder, env=self.environment, text=True,
                                 capture_output=True, check=False)
            if ran.returncode and "lock" not in ran.stderr:
                raise Failure(f"git {words}: {ran.stderr}")
            return None if ran.returncode else [ran.stdout]
        return wait_until(f"git {words}", tried)[0]

    def run(self):
        try:
            while not self.done.is_set():
                self.work(self.turns + 1)
                self.turns += 1
        except (Failure, OSError) as failure:
            self.failure = failure

    def work(self, turn):
        """Changes each kind of place: in place, by renaming, and by git."""
        with open(self.folder / "AGENTS.md", "a") as file:
            file.write(f"{turn}\n")
        for name in (".envrc", ".vscode/settings.json"):
            self.replace(name, f"{turn}\n")
        hook = self.folder / ".git/hooks" / f"hook-{turn}"
        hook.write_text(f"#!/bin/sh\n# {turn}\n")
        hook.chmod(0o755)
        self.git("config", f"person.turn{turn}", str(turn))
        self.git("config", f"remote.remote-{turn}.url", f"../{turn}")
        self.git("commit", "-qam", str(turn))
        self.git("tag", f"tag-{turn}")
        self.git("push", "-qu", "first", "main")

    def replace(self, name, content):
        """Exchanges a file as editors do."""
        new = self.folder.parent / "edited"
        new.write_text(content)
        new.rename(self.folder / name)

    def verify(self):
        """Fails unless everything is as the person left it."""
        self.done.set()
        self.join()
        if self.failure:
            raise self.failure
        turns = range(1, self.turns + 1)
        lines = "".join(f"{turn}\n" for turn in range(self.turns + 1))
        last = f"{self.turns}\n"
        newest_first = "".join(reversed(lines.splitlines(keepends=True)))
        expected = {
            "AGENTS.md": ((self.folder / "AGENTS.md").read_text(), lines),
            ".envrc": ((self.folder / ".envrc").read_text(), last),
            ".vscode": ((self.folder / ".vscode/settings.json").read_text(), last),
            "commits": (self.git("log", "--format=%s"), newest_first),
            "pushed commits": (self.git("log", "--format=%s", "first/main"), newest_first),
            "tags": (set(self.git("tag").split()), {f"tag-{turn}" for turn in turns}),
            "remotes": (set(self.git("remote").split()), {"first", *(f"remote-{turn}" for turn in turns)}),
            "configuration": (len(self.git("config", "--get-regexp", r"^person\.turn").splitlines()), self.turns),
            "hooks": (len(list((self.folder / ".git/hooks").glob("hook-*"))), self.turns),
            "put aside": ([path for path in self.folder.rglob("*put-aside*")], []),
        }
        for what, (found, wanted) in expected.items():
            if found != wanted:
                raise Failure(f"{what} of the person: {found!r} instead of {wanted!r}")


def person_meanwhile(bench):
    """Nothing that a person does in the folder while commands run is reverted or moved."""
    backend = wait_until("a backend", lambda: found_backend(bench.service), LIMIT)
    if "namespaces" not in backend:
        print("  not available: it takes namespaces", flush=True)
        return
    path = f"/v1/conversations/{bench.conversation}/settings"
    bench.service.order("PATCH", path, {"settings": {"mode": "sandbox"}})
    person = Person(bench.service.folder / "workspace", bench.service.folder / "person")
    commands = Commands(bench, bench.conversation)
    lines = ["echo {0} >>made", "git log -1 --oneline", "sleep 0.05; mkdir -p d/{0}", "echo x >>AGENTS.md; rm AGENTS.md; true",
             "git diff --stat | tail -1", "git config person.model {0}; true"]
    person.start()
    for number in range(MEANWHILE):
        told = commands.said(lines[number % len(lines)].format(number))
        if "put back" in told or "put aside" in told:
            raise Failure(f"a command took something back: {told}")
    person.verify()
    print(f"  {MEANWHILE} commands beside {person.turns} turns of a person", flush=True)


PARTS = {part.__name__: part for part in (
    one_gigabyte, one_line, without_end, many_processes, many_processes_with_network,
    many_processes_with_full_access, many_processes_by_landlock, fork_bomb, copies_without_end,
    sessions_without_end, nothing_else_ends, odd_names, halted_holder, left_folders, alike, one_world, person_meanwhile,
    hidden_clients, hidden_clients_of_a_user, much_memory, much_shared_memory, memory_in_common)}
# They touch much of the machine's memory, which takes longer than all others.
ONLY_FULL = {"much_memory", "much_shared_memory", "memory_in_common"}


def run(part):
    """Runs a part with a service of its own."""
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        bench = Bench(folder)
        try:
            part(bench)
        finally:
            bench.close()


def main():
    """Runs those that were asked for, or all."""
    failed, table = [], []
    if "--witnesses" in sys.argv:
        witnesses()
        return
    usual = [name for name in PARTS if FULL or name not in ONLY_FULL]
    for name in [name for name in sys.argv[1:] if name != "--full"] or usual:
        print(name, flush=True)
        begun, first = time.monotonic(), len(every)
        try:
            twice(lambda: run(PARTS[name]))
        except (Failure, NoAnswer) as failure:
            print(f"  FAILED: {failure}", flush=True)
            failed.append(name)
        print(f"  {time.monotonic() - begun:.0f} s", flush=True)
        table += [f"{name:<32} {bound.what:<54} {bound}" for bound in every[first:]]
    print("", *table, sep="\n")
    sys.exit(f"failed: {', '.join(failed)}" if failed else None)


if __name__ == "__main__":
    main()
