"""Bounds on time and memory, each as a ratio to a baseline of the same run, so that they decide the same on every
machine. A bound that is missed is measured once more, and both figures are printed; a wrong answer is never tried
again.

    hold(what, value, baseline, factor, unit)   inside of `twice`, which runs a part again if one was missed
    Beside(…)                                   asks the service and a bare server at the same pace
    Bare(folder)                                the bare server alone

This file is also the program of the bare server (`bounds.py serve FOLDER`) and of the client that asks both
(`bounds.py ask JSON`). Both end when their standard input does.
"""

import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Scripts import this file as `bounds` or as `support.bounds`; as a program it needs nothing of the others.
if __package__:
    from .harness import Failure, wait_until
elif __name__ != "__main__":
    from harness import Failure, wait_until

# A bare server that answers in 0.1 ms at the median says nothing about one answer that the kernel scheduled late.
# The baseline of a longest answer is therefore at least so many medians.
MEDIANS = 20
# Longer than any answer takes that is not stuck, in seconds.
LIMIT = 30.0


@dataclass
class Bound:
    """A figure with its baseline, and how many times the baseline it may be."""

    what: str
    value: float
    baseline: float
    factor: float
    unit: str

    def ratio(self):
        """The figure as a multiple of its baseline."""
        return self.value / self.baseline

    def is_missed(self):
        """True if the figure is above its bound."""
        return not self.ratio() <= self.factor

    def __str__(self):
        return (f"{self.value:.4g} {self.unit}, {self.ratio():.2f} × the baseline of {self.baseline:.4g} {self.unit}"
                f" (at most {self.factor:g} ×)")


# The bounds of the run that is going, and those of all runs.
current, every = [], []


def hold(what, value, baseline, factor, unit):
    """Prints a figure with its baseline and holds it to the bound. `twice` decides at the end of the run."""
    if not baseline > 0:
        raise Failure(f"{what}: the baseline is {baseline}")
    bound = Bound(what, value, baseline, factor, unit)
    current.append(bound)
    every.append(bound)
    print(f"  {what}: {bound}{'   MISSED' if bound.is_missed() else ''}", flush=True)


def twice(run):
    """Runs a part, and once more if it misses a bound. A bound that both runs miss is a failure. Returns the result
    of the last run."""
    current.clear()
    result = run()
    first = {bound.what: bound for bound in current}
    missed = [bound.what for bound in current if bound.is_missed()]
    if not missed:
        return result
    print(f"  once more, because of: {'; '.join(missed)}", flush=True)
    current.clear()
    result = run()
    second = {bound.what: bound for bound in current}
    if unmeasured := [what for what in missed if what not in second]:
        raise Failure(f"not measured once more: {'; '.join(unmeasured)}")
    for what in missed:
        print(f"  {what}\n    first:  {first[what]}\n    second: {second[what]}", flush=True)
    failed = [what for what in missed if second[what].is_missed()]
    if failed:
        raise Failure(f"missed twice: {'; '.join(failed)}")
    return result


def longest(samples):
    """The baseline for the longest of some answers: the longest of the bare server in the same period."""
    return max(max(samples), MEDIANS * statistics.median(samples))


def bare_run(command, folder):
    """The seconds that a program takes by itself: the middle one of three runs."""
    times = []
    for _ in range(3):
        begun = time.monotonic()
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        times.append(time.monotonic() - begun)
    return statistics.median(times)


def program(*arguments, **more):
    """Starts this file as a program that ends with its standard input."""
    return subprocess.Popen([sys.executable, __file__, *arguments], stdin=subprocess.PIPE, **more)


def end(process):
    """Ends such a program."""
    process.stdin.close()
    process.wait()


class Bare:
    """An HTTP server that does nothing, in a process of its own. A `POST` is written to a file and synced before the
    answer, as the service does with a prompt. `/file/PATH` sends a file, and `/paced/COUNT/SECONDS` sends the time
    of the monotonic clock at that pace, an event a line."""

    def __init__(self, folder):
        self.process = program("serve", str(folder), stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        self.address = ("127.0.0.1", self.port)

    def close(self):
        """Ends it."""
        end(self.process)
        self.process.stdout.close()


class Beside:
    """A client that asks the service and a bare server for the same, at the same pace and in the same period, from a
    process of its own: what this process computes delays neither."""

    def __init__(self, folder, port, method, path, body=None, *, pause, accepted, kept=False):
        self.bare = Bare(folder)
        ports = {"service": port, "bare": self.bare.port}
        wanted = {"ports": ports, "method": method, "path": path, "body": body, "pause": pause, "kept": kept}
        self.accepted = accepted
        self.file = Path(folder) / f"asked-{self.bare.port}"
        with open(self.file, "wb") as out:
            self.process = program("ask", json.dumps(wanted), stdout=out)
        wait_until("both are asked", lambda: all(self.times(who) for who in ports))

    def answers(self, who):
        """The seconds and the status of each answer so far; the status is a text if there was none."""
        lines = self.file.read_text().split("\n")[:-1]
        found = [json.loads(line) for line in lines]
        return [(seconds, status) for asked, seconds, status in found if asked == who]

    def times(self, who):
        """The seconds that each answer took."""
        return [seconds for seconds, _ in self.answers(who)]

    def refused(self):
        """The statuses that the service must not answer with."""
        return [status for _, status in self.answers("service") if status not in self.accepted]

    def hold(self, what, factor):
        """Ends it, and holds the longest answer of the service to that of the bare server."""
        self.close()
        if refused := self.refused():
            raise Failure(f"{what}: {len(refused)} were refused, the first with {refused[0]}")
        hold(what, 1000 * max(self.times("service")), 1000 * self.baseline(), factor, "ms")

    def baseline(self):
        """The baseline for any longest answer of the same period, in seconds."""
        return longest(self.times("bare"))

    def close(self):
        """Ends both programs, after the answers that are under way. The answers stay."""
        if self.process.poll() is None:
            end(self.process)
            self.bare.close()


async def answer_one(reader, writer, folder):
    """Answers one request of a connection; `False` if it has closed."""
    head = await reader.readuntil(b"\r\n\r\n")
    method, path, _ = head.split(b" ", 2)
    length = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    body = await reader.readexactly(int(length[0]) if length else 0)
    _, kind, rest = path.decode().split("/", 2) if path.count(b"/") > 1 else ("", "", "")
    if method == b"POST":
        with open(folder / "bare", "ab") as file:
            file.write(body + b"\n")
            file.flush()
            os.fdatasync(file.fileno())
    if kind == "file":
        text = (Path("/") / rest).read_bytes()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(text))
        for begin in range(0, len(text), 65536):
            writer.write(text[begin:begin + 65536])
            await writer.drain()
    elif kind == "paced":
        count, pause = rest.split("/")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        begun = time.monotonic()
        for number in range(int(count)):
            await asyncio.sleep(begun + number * float(pause) - time.monotonic())
            writer.write(b"%.6f\n" % time.monotonic())
        writer.close()
    else:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
    await writer.drain()
    if b"connection: close" in head.lower():
        writer.close()


async def serve(folder):
    """Serves on a port of the system's choice, which it prints, until the end of the standard input."""

    async def connected(reader, writer):
        try:
            while not writer.is_closing():
                await answer_one(reader, writer, folder)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)
    # Clients that have not left keep nothing alive.
    os._exit(0)


def ask(wanted):
    """Asks both servers until the end of the standard input; prints a line for each answer."""
    done, lock = threading.Event(), threading.Lock()
    headers = {"content-type": "application/json"}
    body = None if wanted["body"] is None else json.dumps(wanted["body"])

    def ask_one(who, port):
        connection = None
        while not done.is_set():
            begun = time.monotonic()
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
                connection.request(wanted["method"], wanted["path"], body, headers)
                answer = connection.getresponse()
                answer.read()
                status = answer.status
                if not wanted["kept"]:
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as error:
                status, connection = repr(error), None
            with lock:
                print(json.dumps([who, time.monotonic() - begun, status]), flush=True)
            done.wait(wanted["pause"])

    threads = [threading.Thread(target=ask_one, args=asked) for asked in wanted["ports"].items()]
    for thread in threads:
        thread.start()
    sys.stdin.buffer.read()
    done.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(Path(sys.argv[2])))
    else:
        ask(json.loads(sys.argv[2]))
