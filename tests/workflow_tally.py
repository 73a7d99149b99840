#!/usr/bin/env python3
"""A workflow of four features in a small repository, with a model that does not make it easy: it lies, edits
its own test, breaks what was accepted, hangs, and uses up the budget. Two clients watch, and one of them
steers. Prints what happened, a record a line.

    HARNESS_BIN=target/release/harness tests/workflow_tally.py
    HARNESS_BIN=… tests/workflow_tally.py --kills 40 --seed 1     kills the service, each time somewhere else

Spec: [FLOW-24] [FLOW-29] [FLOW-31] [FLOW-34] [FLOW-35] [FLOW-36] [FLOW-39] [FLOW-42] [FLOW-46]
Spec: [FLOW-56] [FLOW-57] [FLOW-59]
"""

import argparse
import http.client
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from support.bounds import bare_run, hold, twice
from support.harness import Failure, wait_until
from support.kills import Case, try_kills
from support.upstream import Pause, events
from support.workflow import Model, Workflow, check, data_of, git, verdicts

# Longer than any answer takes that is not stuck, in seconds.
LIMIT = 60.0
# The pause of a model that nobody steers, and the limit of the attempt that hangs, which `FILE` has, too; in seconds.
PAUSE, ATTEMPT = 1.0, 5.0
# The most that all of it takes, as a multiple of that limit and of the checks by themselves.
MOST = 8
STEERED = "Ben says: name the sum total."
FEATURES = ["add", "parse", "report", "cli"]

UNFINISHED = '"""Unfinished."""\n\n\ndef {name}({arguments}):\n    raise NotImplementedError\n'
ARGUMENTS = {"add": "numbers", "parse": "text", "report": "text", "cli": "arguments"}
RIGHT = {
    "add": "def add(numbers):\n    return sum(numbers)\n",
    "parse": "def parse(text):\n    return [int(word) for word in text.split()]\n",
    "report": "from tally.add import add\nfrom tally.parse import parse\n\n\n"
              "def report(text):\n    return f'total: {add(parse(text))}'\n",
    "cli": "from tally.report import report\n\n\n"
           "def cli(arguments):\n    return report(' '.join(arguments))\n",
}
BROKEN = "def add(numbers):\n    return 3\n"
EXPECTED = {
    "add": "add([1, 2, 3]), 6",
    "parse": "parse('1 2 3'), [1, 2, 3]",
    "report": "report('1 2'), 'total: 3'",
    "cli": "cli(['1', '2']), 'total: 3'",
}
TEST = """import unittest

from tally.{name} import {name}


class {title}(unittest.TestCase):
    def test_{name}(self):
        self.assertEqual({expected})
"""
FILE = """[workflow]
objective = "Finish tally"
mode = "unlimited"

[[check]]
id = "suite"
cmd = ["python3", "-m", "unittest", "discover", "-v", "-s", "tests", "-t", "."]
exit = "any"
keep = '^(\\S+ \\(\\S+\\)) \\.\\.\\. ok$'

[budget]
tokens = 5_000
attempt = "5s"

[permissions]
asks = "deny"
"""
FEATURE = """
[[feature]]
id = "{name}"
description = "Finish tally/{name}.py"
[[feature.check]]
cmd = ["python3", "-m", "unittest", "tests.test_{name}"]
must_match = 'Ran [1-9]'
"""
# What the verdicts have to say, in their order.
VERDICTS = [
    ("add", 1, True, []),
    ("parse", 1, False, ["no_change"]),
    ("parse", 2, False, ["protected_changed"]),
    ("parse", 3, True, []),
    ("report", 1, False, ["regression", "test_lost"]),
    ("report", 2, False, ["attempt_timed_out"]),
    ("report", 3, True, []),
    ("cli", 1, True, []),
]


def repository(folder, file):
    """Makes the repository with the file of the workflow."""
    for name in ("tally", "tests"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("")
    for name in FEATURES:
        unfinished = UNFINISHED.format(name=name, arguments=ARGUMENTS[name])
        (folder / "tally" / f"{name}.py").write_text(unfinished)
        test = TEST.format(name=name, title=name.title(), expected=EXPECTED[name])
        (folder / "tests" / f"test_{name}.py").write_text(test)
    (folder / ".gitignore").write_text("__pycache__/\n")
    file.parent.mkdir(parents=True)
    file.write_text(FILE + "".join(FEATURE.format(name=name) for name in FEATURES))
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Unfinished")


class Trouble(Model):
    """The model that makes it hard."""

    def __init__(self, patience=PAUSE):
        super().__init__()
        # For so long its first reply waits until somebody has steered it, in seconds.
        self.patience = patience
        self.steered = threading.Event()
        # Whether it heard what was said while it worked.
        self.was_steered = False

    def hear(self, texts):
        super().hear(texts)
        self.was_steered |= STEERED in texts

    def script(self, feature, attempt):
        return getattr(self, feature)(attempt)

    def write(self, name, text):
        """Writes a module."""
        return lambda: self.runs(f"cat > tally/{name}.py <<'END'\n{text}END")

    def done(self, name):
        """Says that it is done."""
        return lambda: self.says(f"{name} is done and all tests pass")

    def add(self, _):
        """Right at once, but not before somebody has steered."""
        def slowly():
            self.steered.wait(self.patience)
            yield from self.write("add", RIGHT["add"])()
        return [slowly, self.done("add")]

    def parse(self, attempt):
        """Lies, then edits its test, then is right."""
        if attempt == 1:
            return [self.done("parse")]
        if attempt == 2:
            edit = "sed -i 's/assertEqual(.*/assertTrue(True)/' tests/test_parse.py"
            return [lambda: self.runs(edit), self.done("parse")]
        return [self.write("parse", RIGHT["parse"]), self.done("parse")]

    def report(self, attempt):
        """Breaks the sum, then hangs, then is right."""
        right = self.write("report", RIGHT["report"])
        if attempt == 1:
            return [right, self.write("add", BROKEN), self.done("report")]
        if attempt == 2:
            return [self.hang]
        return [right, self.done("report")]

    @staticmethod
    def hang():
        """Begins to speak, and never ends."""
        yield from list(events("I look at it"))[:3]
        yield Pause(LIMIT)

    def cli(self, _):
        """Uses up the budget, and is right when there is more."""
        if any("cli: interrupted" in text for text in self.told):
            return [self.write("cli", RIGHT["cli"]), self.done("cli")]
        return [lambda: self.runs("sleep 30", 6_000)]


class Watcher(threading.Thread):
    """A client that follows a workflow. May do something at a record."""

    def __init__(self, workflow, name, at=None):
        super().__init__(daemon=True)
        port = workflow.service.port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        self.connection.request("GET", f"/v1/workflows/{workflow.id}/events?after=0&name={name}")
        self.stream = self.connection.getresponse()
        # The records with their positions.
        self.records = []
        self.at = at
        self.failed = None
        self.start()

    def run(self):
        position = None
        try:
            for line in self.stream:
                if line.startswith(b"id: "):
                    position = line[4:].strip().decode()
                elif line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    if event.get("type") == "workflow":
                        self.records.append((position, event["record"]))
                        if self.at is not None:
                            self.at(event["record"])
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass  # the service is gone
        except Failure as failure:
            self.failed = failure


def steer(workflow, model, record):
    """Says something to the model in the first iteration, which waits for it."""
    if record["type"] == "conversation_linked" and record["data"]["n"] == 1:
        path = f"/v1/conversations/{record['data']['conversation']}/steer"
        workflow.service.order("POST", path, {"content": STEERED, "by": "ben"})
        model.steered.set()


def run(workflow, model):
    """From the file to the last verification. Returns the number of checks that ran."""
    repository(workflow.folder, workflow.file)
    base = git(workflow.folder, "rev-parse", "HEAD")
    workflow.make()
    watchers = [Watcher(workflow, "ana"),
                Watcher(workflow, "ben", lambda record: steer(workflow, model, record))]
    workflow.order(f"/{workflow.id}/run", {"key": "first"})
    workflow.rest("ready")
    workflow.order(f"/{workflow.id}/run", {"key": "second"})
    paused = workflow.rest("paused", "budget_tokens")
    workflow.order(f"/{workflow.id}/resume", {"add_tokens": 5_000})
    completed = workflow.rest("completed")
    records = workflow.records()
    judge_records(records, completed)
    judge_repository(workflow.folder, base, completed)
    judge_budget(model, paused, completed)
    for watcher in watchers:
        wait_until("the clients have seen all", lambda it=watcher: len(it.records) >= len(records))
        check("what a client saw", [record for _, record in watcher.records], records)
        check("a client", watcher.failed, None)
    positions = [[position for position, _ in watcher.records] for watcher in watchers]
    check("positions", positions[0], positions[1])
    check("was steered", model.was_steered, True)
    return len(data_of(records, "check_ended"))


def judge_records(records, completed):
    """Whether what happened is what has to happen."""
    check("verdicts", verdicts(records), VERDICTS)
    ended = [(end["feature"]["feature"], end["status"]) for end in data_of(records, "iteration_ended")]
    check("iterations", ended, [("add", "accepted"), ("parse", "accepted"), ("report", "accepted"),
                                ("cli", "interrupted"), ("cli", "accepted")])
    check("final verification", data_of(records, "verification_ended")[-1]["green"], True)
    check("features", {it["id"]: it["state"] for it in completed["features"]},
          {name: "passing" for name in FEATURES})


def judge_repository(folder, base, completed):
    """Whether the work is on its branch, and nothing anywhere else."""
    branch = "harness/tally"
    subjects = git(folder, "log", "--reverse", "--format=%s", f"{base}..{branch}")
    check("commits", subjects.splitlines(), FEATURES)
    check("head", git(folder, "rev-parse", branch), completed["head"])
    check("changes of tests", git(folder, "diff", base, branch, "--", "tests"), "")
    check("branch of the person", git(folder, "rev-parse", "HEAD"), base)
    check("what it left to the person", git(folder, "status", "--short"), "")


def judge_budget(model, paused, completed):
    """Whether the meter was right, and stopped it within a reply."""
    spent = completed["spent"]["tokens"]
    # The reply that hung had begun, with 11 tokens.
    check("tokens", model.tokens <= spent <= model.tokens + 11, True)
    check("overshoot", 5_000 <= paused["spent"]["tokens"] <= 5_000 + 6_001, True)


def watched():
    """Runs it once, with two clients that watch."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        model = Trouble(LIMIT)
        workflow = Workflow(Path(folder), model, "tally")
        try:
            checks = run(workflow, model)
            took = time.monotonic() - began
            print(workflow.transcript())
            bare = bare_run(["python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."], workflow.folder)
        except Failure as failure:
            print(workflow.transcript())
            print(workflow.service.last_log())
            sys.exit(f"tally: {failure}")
        finally:
            workflow.service.kill()
    print(f"tally: 4 features, 8 verdicts, 1 resume, {checks} checks in {took:.1f} s")
    baseline = ATTEMPT + checks * bare
    hold("all of it, beside the attempt that hangs and its checks by themselves", took, baseline, MOST, "s")


def main():
    """Runs it as it is wanted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    # A reply that a kill broke off may be asked for again.
    case = Case("tally", Trouble, repository, {"add_tokens": 20_000})
    try:
        if not wanted.kills:
            twice(watched)
            return
        try_kills(case, wanted.kills, wanted.seed)
    except Failure as failure:
        sys.exit(f"tally: {failure}")
    print(f"tally: {wanted.kills} kills, and each time what comes without one")


if __name__ == "__main__":
    main()
