#!/usr/bin/env python3
"""What one huge conversation costs the others, and what ten thousand small ones cost, measured from
outside: HARNESS_BIN is the program, built with `cargo build --release`. `huge.py [PART…]` runs the
parts `list`, `many` and `few`; HUGE_MB are the sizes of the huge journals, `60,570` unless it says
something else, HUGE_WORKS what is done with them, such as `prompt,fork`. The numbers are printed; what is beyond its limit fails.

Spec: [HTTP-103] [CONV-172] [CONV-173]
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import Failure, Service  # noqa: E402

MIB = 1024 * 1024
EPOCH = "1b7c42d30cf55e18"
AT = 1763770000000
# How often another conversation is asked for.
PAUSE = 0.005
# What the demo's model takes, which is in the same process, of requests for summaries, in MB.
MODEL = 64
# How long a run is followed at most.
RUN = 20.0
WORDS = "The quick brown fox reads src/main.rs, line by line, and says what is \\n \"in\" it. "


def line(value):
    """An object with its checksum."""
    body = json.dumps(value, separators=(",", ":")).encode()[:-1]
    seal = b"" if "format" in value else EPOCH.encode()
    return body + b',"crc":"%08x"}\n' % zlib.crc32(body, zlib.crc32(seal))


def text(size):
    """So many characters of prose."""
    return (WORDS * (size // len(WORDS) + 1))[:size]


class Journal:
    """A journal that is written record by record, as the service does it."""

    def __init__(self, home, name):
        self.name = name
        folder = home / "conversations"
        folder.mkdir(parents=True, exist_ok=True)
        self.file = open(folder / f"{name}.jsonl", "wb")
        self.seq = self.turns = self.runs = 0
        self.file.write(line({"format": "harness-journal", "version": 1, "conversation": name,
                              "epoch": EPOCH, "created_at": AT}))

    def add(self, kind, **data):
        """Adds a record."""
        self.seq += 1
        self.file.write(line({"seq": self.seq, "at": AT + self.seq, "type": kind, "data": data}))

    def run(self, turns, result):
        """Adds a run of so many turns, each with a result of that size."""
        self.runs += 1
        run = self.runs
        self.add("run_started", run=run)
        self.add("prompt", run=run, content=text(300))
        usage = {"input_tokens": 12, "output_tokens": 3}
        for turn in range(1, turns + 1):
            self.turns += 1
            call = f"toolu_{self.seq}"
            self.add("turn_started", run=run, turn=turn, head="9b1f00c3d2a45e67")
            self.add("block", index=0, block={"type": "text", "text": text(600)})
            self.add("block", index=1, block={"type": "tool_use", "id": call, "name": "read",
                                              "input": {"path": "src/main.rs"}})
            self.add("reply_ended", id=f"msg_{self.seq}", model="claude-sonnet-4-5",
                     stop_reason="tool_use", usage=usage, unanswered="interrupted")
            self.add("tool_result", id=call, result=text(result), is_error=False)
            self.add("turn_ended", run=run, turn=turn, outcome="completed")
        self.add("turn_started", run=run, turn=turns + 1, head="9b1f00c3d2a45e67")
        self.add("block", index=0, block={"type": "text", "text": text(600)})
        self.add("reply_ended", id=f"msg_{self.seq}", model="claude-sonnet-4-5",
                 stop_reason="end_turn", usage=usage, unanswered="interrupted")
        self.add("turn_ended", run=run, turn=turns + 1, outcome="completed")
        self.add("run_ended", run=run, outcome="completed", message="",
                 totals={"runs": run, "prompts": run, "turns": self.turns,
                         "input_tokens": 12, "output_tokens": 3,
                         "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0})

    def close(self):
        """Ends it; what the system has still to write of it would delay the service's flushes."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()

    def size(self):
        """How many bytes it has so far."""
        return self.file.tell()


def memory(service, field):
    """A number of MiB that the system keeps of the service's memory."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


class Other(threading.Thread):
    """Asks for another conversation again and again; knows the longest time that it took."""

    def __init__(self, service):
        super().__init__()
        self.port = service.port
        self.over = threading.Event()
        self.longest = 0.0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.over.is_set():
            for method, path, body in [("GET", "/v1/conversations/default?tail=5", None),
                                       ("PATCH", "/v1/conversations/default", '{"title":"x"}')]:
                began = time.monotonic()
                connection.request(method, path, body, {"content-type": "application/json"})
                connection.getresponse().read()
                self.longest = max(self.longest, time.monotonic() - began)
            time.sleep(PAUSE)
        connection.close()


def curl(service, method, path, body=None):
    """A request of another process; gives its status and how long it took."""
    command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", method,
               f"http://127.0.0.1:{service.port}{path}"]
    if body is not None:
        command += ["-H", "content-type: application/json", "-d", json.dumps(body)]
    began = time.monotonic()
    status = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return status, time.monotonic() - began


def whole_history(service, name):
    """Reads the past by pages, as an export does."""
    began, path = time.monotonic(), f"/v1/conversations/{name}/history"
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    after = 0
    while after is not None:
        connection.request("GET", f"{path}?after={after}&limit=1000")
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            return str(answer.status), time.monotonic() - began
        # The parser of the language would take the time of the thread that asks.
        tail = content[-40:] if b'"after":' in content[-40:] else content[:40]
        _, found, rest = tail.partition(b'"after":')
        digits = rest.split(b"}")[0].split(b",")[0]
        after = int(digits) if found and digits.isdigit() else None
    connection.close()
    return "200", time.monotonic() - began


def until_it_ends(service, name, order, body):
    """Gives an order, and waits for the end of the run; a summary of all that takes as long as the
    model takes for its pieces, so the first of them are enough."""
    status, _ = curl(service, "POST", f"/v1/conversations/{name}/{order}", body)
    began = time.monotonic()
    while time.monotonic() - began < RUN:
        now = service.snapshot(name)
        if now["summary"]["state"] != "running":
            break
        time.sleep(0.2)
    return f"{status} {now['state']} {now['message'][:60]}", time.monotonic() - began


def works(name):
    """What is done with a huge conversation."""
    at = f"/v1/conversations/{name}"
    return {
        "snapshot": lambda service: curl(service, "GET", at),
        "tail": lambda service: curl(service, "GET", f"{at}/history?limit=1000"),
        "revive": lambda service: curl(service, "POST", f"{at}/steer", {"content": "x"}),
        "settings": lambda service: curl(service, "PATCH", f"{at}/settings", {"settings": {"max_turns": 7}}),
        "fork": lambda service: curl(service, "POST", f"{at}/fork", {}),
        "fork in the middle": lambda service: curl(service, "POST", f"{at}/fork", {"seq": 20}),
        "pages": lambda service: whole_history(service, name),
        "prompt": lambda service: until_it_ends(service, name, "prompt", {"content": "hello"}),
    }


def huge(folder, size, turns, result):
    """Works on one huge conversation."""
    failed = []
    for what in os.environ.get("HUGE_WORKS", ",".join(works("huge"))).split(","):
        service = Service(folder)
        path = service.home / "conversations" / "huge.jsonl"
        if not path.exists():
            journal = Journal(service.home, "huge")
            while journal.size() < size * MIB:
                journal.run(turns, result)
            journal.close()
        length = path.stat().st_size / MIB
        service.start()
        try:
            service.expect(200, "GET", "/v1/conversations/default")
            other = Other(service)
            other.start()
            time.sleep(0.5)
            alone, other.longest = other.longest, 0.0
            idle = memory(service, "VmRSS")
            Path(f"/proc/{service.process.pid}/clear_refs").write_text("5")
            status, took = works("huge")[what](service)
            time.sleep(0.2)
            other.over.set()
            other.join()
            more = memory(service, "VmHWM") - idle
        finally:
            service.kill()
        print(f"  {length:4.0f} MB, {what}: {status} in {took * 1000:.0f} ms; another waits "
              f"{other.longest * 1000:.0f} ms (alone {alone * 1000:.0f}); "
              f"{more:.0f} MB more, {more / length:.2f} of the file", flush=True)
        beside = MODEL if what == "prompt" else 0
        if other.longest > 0.1 or more > 1.5 * length + beside:
            failed.append(what)
        for fork in path.parent.glob("*.jsonl"):
            if fork != path and fork.name != "default.jsonl":
                fork.unlink()
    if failed:
        raise Failure(f"beyond the limits: {', '.join(failed)}")


def many(folder):
    """Many records of the usual size."""
    for size in SIZES:
        huge(f"{folder}/{size}", size, 20, 4000)


def few(folder):
    """Few results that are very large."""
    for size in SIZES:
        huge(f"{folder}/{size}", size, 1, 5 * MIB)


def listing(folder):
    """Ten thousand conversations."""
    service = Service(folder)
    for number in range(10_000):
        journal = Journal(service.home, f"c{number}")
        journal.run(2, 500)
        journal.file.close()
    failed = []
    for look in ["cold", "again"]:
        began = time.monotonic()
        service.start()
        print(f"  start: {(time.monotonic() - began) * 1000:.0f} ms", flush=True)
        try:
            for turn in [look, "warm", "warm"]:
                took = {}
                for limit in [50, 200]:
                    _, took[limit] = curl(service, "GET", f"/v1/conversations?limit={limit}")
                began, cursor, pages = time.monotonic(), "", 0
                while cursor is not None:
                    page = service.expect(200, "GET", f"/v1/conversations?limit=200{cursor}")
                    cursor = f"&cursor={page['next']}" if page.get("next") else None
                    pages += 1
                everything = time.monotonic() - began
                command = [os.environ["HARNESS_BIN"], "conversations"]
                environment = {"PATH": os.environ["PATH"], "HARNESS_HOME": str(service.home),
                               "HARNESS_REQUIRE_TOKEN": "false", "HARNESS_PORT": str(service.port)}
                began = time.monotonic()
                ran = subprocess.run(command, env=environment, capture_output=True, check=False)
                command = time.monotonic() - began
                print(f"  {turn}: 50 in {took[50] * 1000:.0f} ms, 200 in {took[200] * 1000:.0f} "
                      f"ms, all by {pages} pages in {everything * 1000:.0f} ms, the command "
                      f"({ran.returncode}, {len(ran.stdout.splitlines())} lines) in "
                      f"{command * 1000:.0f} ms {ran.stderr.decode()[:200]}", flush=True)
                if max(*took.values(), command) > 0.5:
                    failed.append(turn)
        finally:
            service.kill()
    if failed:
        raise Failure(f"too slow: {', '.join(failed)}")


SIZES = [int(size) for size in os.environ.get("HUGE_MB", "60,570").split(",")]
PARTS = {"list": listing, "many": many, "few": few}


def main():
    """Runs the parts that were asked for, or all."""
    failed = []
    for name in sys.argv[1:] or PARTS:
        print(name, flush=True)
        with tempfile.TemporaryDirectory(prefix="huge-") as folder:
            try:
                PARTS[name](folder)
            except Failure as failure:
                print(f"  FAILED: {failure}", flush=True)
                failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else None)


if __name__ == "__main__":
    main()
