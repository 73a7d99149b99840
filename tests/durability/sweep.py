"""Kills the service at every system call on the way of a prompt, and starts it again.

Spec: [JRNL-83] [JRNL-84] [APPR-08]
"""

import collections
import json
from dataclasses import dataclass, field
from pathlib import Path

from harness import DEFAULT, Failure, NoAnswer, Service, wait_until
from tracer import parse, traced

# `sendto` is how the answer leaves: the prompt is kept then, and the client does not know it.
CALLS = (
    *("write", "pwrite64", "writev", "fdatasync", "fsync", "ftruncate", "flock"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "sendto"),
)
# Far more than any step has of one call on one thread.
MOST = 60
WORK = "list src"
LONG = "tell me a long story"
CHANGE = "change one to two in notes.txt"


@dataclass
class Bench:
    """The service, and what its clients know."""

    service: Service
    # By conversation: the keys of the prompts, each with its text, and its run if it was answered.
    sent: dict = field(default_factory=lambda: collections.defaultdict(dict))
    count: int = 0
    conversation: str = ""
    # Of the prompts without an answer: how many the journal had, and how many it had not.
    kept: int = 0
    lost: int = 0

    def restart(self):
        """A new life on the same folder."""
        self.service.kill()
        self.service.start()

    def create(self):
        """Makes a conversation, for the next prompts."""
        self.conversation = self.service.create()

    def prompt(self, text=WORK):
        """Sends a prompt. Its run is known once it is answered."""
        self.count += 1
        key = f"key-{self.count}"
        sent = self.sent[self.conversation]
        sent[key] = (text, None)
        sent[key] = (text, self.service.accepted(self.conversation, text, key))

    def cancel(self):
        """Stops the run."""
        path = f"/v1/conversations/{self.conversation}/cancel"
        if self.service.expect(200, "POST", path) != {"cancelled": True}:
            raise Failure(f"{self.conversation}: no run was going")
        self.service.wait_for_end(self.conversation)

    def prompt_to_end(self):
        """A whole run."""
        self.prompt()
        self.service.wait_for_end(self.conversation)

    def notes(self):
        """The file that is changed."""
        return self.service.folder / "workspace" / "notes.txt"

    def in_mode(self, mode):
        """A conversation in that mode, and a file to change."""
        self.create()
        self.notes().write_text("one\n")
        path = f"/v1/conversations/{self.conversation}/settings"
        self.service.order("PATCH", path, {"settings": {"mode": mode}})

    def ask(self):
        """A change that is asked about."""
        self.prompt(CHANGE)
        self.service.wait_for_end(self.conversation)

    def allow(self):
        """Allows what waits; tells whether something did."""
        path = f"/v1/conversations/{self.conversation}/approvals"
        approvals = self.service.expect(200, "GET", path)["approvals"]
        for approval in approvals:
            body = {"answer": "allow", "digest": approval["digest"]}
            self.service.order("POST", f"{path}/{approval['id']}", body)
        return bool(approvals)

    def allow_to_end(self):
        """Allows what waits until nothing does."""
        self.service.wait_for_end(self.conversation)
        while self.allow():
            self.service.wait_for_end(self.conversation)

    def check(self):
        """The service was killed or not: all that it promised is there, and it goes on."""
        if not self.service.is_alive():
            self.service.start()
        if self.conversation:
            self.check_conversation()
        left = [path.name for path in (self.service.home / "conversations").glob(".*.tmp")]
        if left:
            raise Failure(f"a crash left {left} behind, and the next start did not remove them")

    def check_conversation(self):
        """Its prompts are there once, and it takes the next one."""
        service, conversation = self.service, self.conversation
        sent = self.sent[conversation]
        before = {event["event"].get("key") for event in service.history(conversation)}
        unanswered = [key in before for key, (_, run) in sent.items() if run is None]
        self.kept += sum(unanswered)
        self.lost += len(unanswered) - sum(unanswered)
        self.allow_to_end()
        for key, (text, run) in sent.items():
            again = service.accepted(conversation, text, key)
            if run not in (None, again):
                raise Failure(f"{conversation}: {key} is run {again}, but was answered with {run}")
            sent[key] = (text, again)
            self.allow_to_end()
        # The demo also does what an earlier prompt asked for in vain.
        self.prompt()
        self.allow_to_end()
        journal = service.journal(conversation)
        if journal.torn:
            raise Failure(f"{conversation}: a torn line is left: {journal.torn[:200]}")
        for key, (_, run) in sent.items():
            runs = [prompt["run"] for prompt in journal.prompts(key)]
            if runs != [run]:
                raise Failure(f"{conversation}: the journal has {key} in {runs} instead of [{run}]")
        self.check_changes(journal)
        shown = [event["id"] for event in service.history(conversation)]
        if shown != [line.id for line in journal.lines]:
            raise Failure(f"{conversation}: the history is not what the journal holds")


    def check_changes(self, journal):
        """Each approval has one end, and each change was made as often as the records say, once at most."""
        ends, made = collections.Counter(), collections.Counter()
        for line in journal.lines:
            kind, data = line.record["type"], line.record["data"]
            if kind == "approval_asked":
                ends[data["id"]] += 0
            elif kind in ("approval_answered", "approval_withdrawn"):
                ends[data["id"]] += 1
            elif kind == "files_changed":
                made[data["call"]] += 1
        if any(count != 1 for count in ends.values()) or any(count != 1 for count in made.values()):
            raise Failure(f"{journal.path}: ends of approvals {ends}, changes {made}")
        if self.notes().exists() and CHANGE in (text for text, _ in self.sent[self.conversation].values()):
            expected = "two\n" if made else "one\n"
            if (content := self.notes().read_text()) != expected:
                raise Failure(f"{journal.path}: the file has {content!r}, with the changes {made}")
            if left := [path.name for path in self.notes().parent.glob(".harness-*")]:
                raise Failure(f"a crash left {left} behind, and the next change did not remove them")


# Each step: what comes before it, and the step itself. Tracing begins between the two.
def no_preparation(_bench):
    """Nothing is needed."""


def made(bench):
    """A conversation without a prompt."""
    bench.create()


def found(bench):
    """A conversation of an earlier life, not opened yet."""
    bench.create()
    bench.prompt_to_end()
    bench.restart()


def taken(bench):
    """A conversation in the middle of its life."""
    bench.create()
    bench.prompt_to_end()


def busy(bench):
    """A conversation in the middle of a run."""
    taken(bench)
    bench.prompt(LONG)


def torn(bench):
    """A conversation whose last line a crash cut in two."""
    bench.create()
    bench.prompt_to_end()
    bench.service.kill()
    path = bench.service.file(bench.conversation)
    with open(path, "ab") as file:
        file.write(b'{"seq":18,"at":17,"type":"prompt","data":{"run":2,"cont')
    bench.service.start()


def free(bench):
    """A conversation in which a change is made at once."""
    bench.in_mode("edits")


def careful(bench):
    """A conversation in which a change is asked about."""
    bench.in_mode("ask")


def asked(bench):
    """A conversation that waits for an answer."""
    careful(bench)
    bench.ask()


def fresh_default(bench):
    """No default conversation."""
    bench.conversation = DEFAULT
    if bench.service.file(DEFAULT).exists():
        bench.service.expect(200, "DELETE", f"/v1/conversations/{DEFAULT}")
    bench.sent[DEFAULT].clear()
    bench.restart()


def create(bench):
    """A new conversation."""
    bench.conversation = ""
    bench.create()


# The last word: whether only calls on the journal, and on the folder of what is changed, are meant. Other calls of `write` wake threads,
# and would always come first.
STEPS = {
    "new conversation": (no_preparation, create, False),
    "first prompt of the default": (fresh_default, Bench.prompt, False),
    "first prompt": (made, Bench.prompt, True),
    "prompt after a restart": (found, Bench.prompt, True),
    "prompt after a torn line": (torn, Bench.prompt, True),
    "next prompt": (taken, Bench.prompt, True),
    "whole run": (taken, Bench.prompt_to_end, True),
    "cancel": (busy, Bench.cancel, True),
    "change that is asked about": (careful, Bench.ask, True),
    "change that is allowed": (asked, Bench.allow_to_end, True),
    "change that the mode allows": (free, Bench.ask, True),
}


def step_under(bench, log, step, calls, *flags):
    """Does a step under strace; gives whether the service came through it alive."""
    before, act, is_on_journal = STEPS[step]
    before(bench)
    only = ()
    if is_on_journal and calls != "sendto":
        path = bench.service.file(bench.conversation)
        paths = (path, path.with_suffix(".damaged"), path.parent, bench.notes().parent)
        only = tuple(word for path in paths for word in ("-P", str(path)))
    try:
        with traced(bench.service, log, *only, "-e", f"trace={calls}", *flags):
            act(bench)
        # A kill after the answer may be under way.
        bench.service.expect(200, "GET", "/healthz")
    except NoAnswer:
        wait_until("the service is dead", lambda: not bench.service.is_alive())
    return bench.service.is_alive()


def sweep_step(bench, log, step):
    """Kills the service at each call of a step; gives how often, by call."""
    if not step_under(bench, log, step, ",".join(CALLS)):
        raise Failure(f"{step}: the service died without being killed")
    bench.check()
    used = {call.name for call in parse(log)}
    if STEPS[step][1] == Bench.prompt:
        used.add("sendto")
    kills = {}
    for name in (name for name in CALLS if name in used):
        for when in range(1, MOST):
            inject = f"inject={name}:signal=KILL:when={when}"
            alive = step_under(bench, log, step, name, "-e", inject)
            try:
                bench.check()
            except (Failure, NoAnswer) as error:
                raise Failure(f"{step}, killed at {name} {when}: {error}") from error
            if alive:
                break
            kills[name] = when
        else:
            raise Failure(f"{step}: {name} was called more than {MOST} times on one thread")
    return kills


def check(folder: Path):
    """All steps."""
    service = Service(folder, "--log", "warn")
    service.start()
    bench = Bench(service)
    total = 0
    try:
        for step in STEPS:
            bench.conversation = ""
            kills = sweep_step(bench, folder / "sweep.trace", step)
            total += sum(kills.values())
            print(f"sweep: {step}: killed at {json.dumps(kills)}", flush=True)
    finally:
        service.kill()
    print(
        f"sweep: {total} kills, {bench.count} prompts, each accepted one is there once; of those "
        f"without an answer {bench.kept} were kept and {bench.lost} not",
        flush=True,
    )
