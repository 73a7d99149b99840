"""strace, attached to a running service: to see its system calls, to fail them, or to die of one.

strace counts the calls of each thread on its own, so `when=1` means the first one of any thread
from the moment of attaching on.
"""

import re
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import Failure, wait_until


def attach(service, log, *flags):
    """strace on all threads of the service; it has attached when this returns."""
    log.unlink(missing_ok=True)
    errors = open(log.with_suffix(".err"), "w+b")
    command = ["strace", "-f", "-yy", "-s", "65536", "-o", str(log), *flags]
    tracer = subprocess.Popen(
        [*command, "-p", str(service.process.pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
    )

    def attached():
        errors.seek(0)
        said = errors.read()
        if tracer.poll() is not None and service.is_alive():
            hint = "it needs root, or 0 in /proc/sys/kernel/yama/ptrace_scope"
            raise Failure(f"strace cannot attach ({hint}): {said.decode(errors='replace')}")
        # With the number of threads, if there are several.
        return b" attached" in said or not service.is_alive()

    try:
        wait_until("strace attaches", attached)
    except Failure as failure:
        tracer.kill()
        errors.seek(0)
        raise Failure(f"{failure}; strace says {errors.read().decode(errors='replace')!r}") from failure
    errors.close()
    return tracer


@contextmanager
def traced(service, log, *flags):
    """strace on the service for a while."""
    tracer = attach(service, log, *flags)
    try:
        yield
    finally:
        release(service, tracer)


def release(service, tracer):
    """Ends strace; what it traced goes on."""
    tracer.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 20
    while tracer.poll() is None:
        # strace may wait for ever for the threads of a process that is dead.
        if is_dead(service.process.pid) or time.monotonic() > deadline:
            tracer.kill()
        time.sleep(0.005)


def is_dead(process):
    """Whether only its end is left of a process."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


@dataclass
class Call:
    """One system call: `start` and `end` are its places in the order that strace saw."""

    name: str
    text: str
    result: str
    start: int
    end: int = -1

    def is_done(self):
        """Whether it returned without an error."""
        return self.end >= 0 and not self.result.startswith("-1")


BEGINS = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
RETURNS = re.compile(r"^.*\)\s+= (-?\d+)(<.*>)?( E[A-Z]+ .*)?$")


def parse(log):
    """The calls of a trace, by their starts."""
    calls, open_calls = [], {}
    for place, line in enumerate(log.read_text(errors="replace").splitlines()):
        if found := BEGINS.match(line):
            thread, name, rest = found.groups()
            call = Call(name, rest, "", place)
            calls.append(call)
            if rest.endswith("<unfinished ...>"):
                open_calls[thread] = call
                continue
        elif (found := RESUMED.match(line)) and found[1] in open_calls:
            call = open_calls.pop(found[1])
            rest = found[3]
        else:
            continue
        if value := RETURNS.match(rest):
            call.result = value[1]
            call.end = place
    return calls
