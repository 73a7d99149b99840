"""Lets the system calls of the journals fail: a broken disk, and a full one.

Spec: [JRNL-85] [JRNL-86] [JRNL-87]
"""

from harness import Failure, Service, wait_until
from tracer import traced

WORK = "list src"
LONG = "tell me a long story"


def broken(call, error="EIO"):
    """strace's flags that let the first such call of each thread fail."""
    return ("-e", f"trace={call}", "-e", f"inject={call}:error={error}:when=1")


def refused(what, answer, status=None):
    """The answer is a problem that says why."""
    problem = answer.body
    if answer.status != status and not (status is None and answer.status >= 500):
        raise Failure(f"{what}: answered with {answer.status}: {problem}")
    if answer.content_type != "application/problem+json" or not problem.get("detail"):
        raise Failure(f"{what}: {answer.status} says no reason: {answer.content_type} {problem}")
    return problem["detail"]


class Bench:
    """The service with one conversation that suffers and one that must not notice."""

    def __init__(self, folder):
        self.service = Service(folder, "--log", "warn")
        self.log = folder / "injected.trace"
        self.keys = 0

    def conversation(self):
        """A conversation in the middle of its life."""
        made = self.service.create()
        self.works(made)
        return made

    def key(self):
        """A new key."""
        self.keys += 1
        return f"key-{self.keys}"

    def works(self, conversation, key=None):
        """A prompt is taken, kept once, and its run ends."""
        key = key or self.key()
        run = self.service.accepted(conversation, WORK, key)
        self.service.wait_for_end(conversation)
        journal = self.service.journal(conversation)
        runs = [prompt["run"] for prompt in journal.prompts(key)]
        if runs != [run]:
            raise Failure(f"{conversation}: the journal has {key} in {runs} instead of [{run}]")
        if journal.lines[-1].record["type"] != "status" or journal.torn:
            raise Failure(f"{conversation}: the journal ends with {journal.lines[-1].record}")

    def is_as_before(self, conversation, before):
        """The file has not a byte more or less."""
        now = self.service.file(conversation).read_bytes()
        if now != before:
            raise Failure(f"{conversation}: the file had {len(before)} bytes and has {len(now)}")

    def on(self, conversation):
        """strace's flags for the calls on that journal only."""
        return ("-P", str(self.service.file(conversation)))


def flush_of_a_prompt(bench, found):
    """A prompt that cannot be flushed is refused, and so is everything behind it."""
    service = bench.service
    ill, well = bench.conversation(), bench.conversation()
    if found:
        service.kill()
        service.start()
    before = service.file(ill).read_bytes()
    key = bench.key()
    with traced(service, bench.log, *bench.on(ill), *broken("fdatasync")):
        refused("a prompt that cannot be flushed", service.prompt(ill, WORK, key), 507)
    for again in (key, bench.key()):
        reason = refused("a prompt behind a failed flush", service.prompt(ill, WORK, again), 507)
        if "flush" not in reason or "Input/output error" not in reason:
            raise Failure(f"a prompt behind a failed flush: the reason is {reason!r}")
    bench.is_as_before(ill, before)
    bench.works(well)
    seen = [event["id"] for event in service.history(ill)]
    if seen != [line.id for line in service.journal(ill).lines]:
        raise Failure("the history of a halted conversation is not its journal")
    service.snapshot(ill)
    service.kill()
    service.start()
    bench.is_as_before(ill, before)
    bench.works(ill, key)


def flush_of_an_end(bench):
    """A run whose end cannot be flushed is shown as failed, and the conversation takes no more."""
    service = bench.service
    ill, well = bench.conversation(), bench.conversation()
    key = bench.key()
    run = service.accepted(ill, LONG, key)
    with traced(service, bench.log, *bench.on(ill), *broken("fdatasync")):
        service.call("POST", f"/v1/conversations/{ill}/cancel")
        wait_until("the run is over", lambda: service.snapshot(ill)["summary"]["state"] != "running")
    refused("a prompt behind a failed flush", service.prompt(ill, WORK, bench.key()), 507)
    bench.works(well)
    service.kill()
    service.start()
    if service.accepted(ill, LONG, key) != run:
        raise Failure("a prompt that was accepted before a failed flush is gone")
    bench.works(ill)


def making_fails(bench, call):
    """A conversation that cannot be made durably is not made at all."""
    service = bench.service
    before = {path.name for path in (service.home / "conversations").iterdir()}
    with traced(service, bench.log, *broken(call)):
        answer = service.call("POST", "/v1/conversations", {})
    refused(f"a new conversation without {call}", answer)
    # The file of a reply goes a moment after its run has ended.
    if left := {path.name for path in (service.home / "conversations").iterdir()} - before:
        raise Failure(f"{call} failed: it left {left}")
    bench.works(service.create())


def full(bench, found):
    """A prompt that finds no room is refused, nothing of it stays, and the next one is taken."""
    service = bench.service
    ill = bench.conversation()
    if found:
        service.kill()
        service.start()
    before = service.file(ill).read_bytes()
    key = bench.key()
    with traced(service, bench.log, *bench.on(ill), *broken("write", "ENOSPC")):
        refused("a prompt that finds no room", service.prompt(ill, WORK, key), 507)
    bench.is_as_before(ill, before)
    bench.works(ill)
    bench.works(ill, key)


def full_in_a_run(bench):
    """A run that finds no room fails in the open, and the next prompt is taken."""
    service = bench.service
    ill = bench.conversation()
    service.accepted(ill, LONG, bench.key())
    with traced(service, bench.log, *bench.on(ill), *broken("write", "ENOSPC")):
        service.call("POST", f"/v1/conversations/{ill}/cancel")
        wait_until("the run is over", lambda: service.snapshot(ill)["summary"]["state"] != "running")
    bench.works(ill)
    if service.journal(ill).torn:
        raise Failure("a run that found no room left a torn line")


def check(folder):
    """All of it."""
    bench = Bench(folder)
    bench.service.start()
    try:
        for found in (False, True):
            flush_of_a_prompt(bench, found)
            full(bench, found)
        flush_of_an_end(bench)
        full_in_a_run(bench)
        # The folder's flush comes last: the file has its name by then.
        for call in ("fdatasync", "fsync", "renameat2"):
            making_fails(bench, call)
    finally:
        bench.service.kill()
    print(
        "injected: EIO on fdatasync of a prompt (2) and of a run's end (1): refused with the "
        "reason, others work, whole after a restart; ENOSPC on write (2) and in a run (1): taken "
        "back, works again at once; 3 failures while a file is made: nothing is left",
        flush=True,
    )
