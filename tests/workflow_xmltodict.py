#!/usr/bin/env python3
"""A workflow on a real project: six changes of xmltodict's history, each a feature with the tests that came
with it. The model is scripted and makes each change as it was made, one of them wrongly at first. The tests of
the last change are there from the beginning, and protected.

    HARNESS_BIN=target/release/harness tests/workflow_xmltodict.py
    XMLTODICT=/a/clone HARNESS_BIN=… tests/workflow_xmltodict.py      without the network

Where the project's history cannot be had, the changes are those between two published source packages. With
neither it says so, and ends with 77.

Spec: [FLOW-24] [FLOW-31] [FLOW-35] [FLOW-37] [FLOW-49]
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.bounds import bare_run, hold, twice
from support.harness import Failure
from support.releases import Releases
from support.workflow import Model, Workflow, check, data_of, git, verdicts

SOURCE = "https://github.com/martinblech/xmltodict"
BASE = "75a1770"
FEATURES = {
    "namespaces": "f0322e5",
    "streaming": "220240c",
    "empty-lists": "ab4c86f",
    "text-values": "927a025",
    "comments": "e43537e",
    "cdata": "a497fed",
}
LAST = FEATURES["cdata"]
# The feature whose first attempt is wrong.
WRONG_AT_FIRST = "text-values"
# Longer than all of it takes if nothing is stuck, in seconds.
LIMIT = 600.0
# The most that all of it takes, as a multiple of its checks by themselves.
MOST = 5
# What git says where there is no network.
NO_NETWORK = re.compile(r"could not resolve host|connection refused|failed to connect|network is unreachable"
                        r"|timed out|proxy|no route to host", re.IGNORECASE)
FILE = """[workflow]
objective = "Bring xmltodict to its next release"
mode = "unlimited"

[[check]]
id = "suite"
cmd = ["python3", "-m", "unittest", "discover", "-v", "-s", "tests", "-t", "."]
exit = "any"
keep = '^(\\S+ \\(\\S+\\)) \\.\\.\\. ok$'

[[check]]
id = "whole"
cmd = ["python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
must_match = 'Ran [1-9]'
when = "final"

[permissions]
asks = "deny"
"""
FEATURE = """
[[feature]]
id = "{name}"
description = '''{description}'''
[[feature.check]]
cmd = ["python3", "-m", "unittest", {tests}]
must_match = 'Ran [1-9]'
"""


class History:
    """The features as commits of the project."""

    def __init__(self, clone):
        self.clone = clone

    @classmethod
    def fetch(cls, folder):
        """A clone of the project; none where there is no network."""
        source = os.environ.get("XMLTODICT", SOURCE)
        clone = folder / "history"
        done = subprocess.run(["git", "clone", "--quiet", "--bare", source, clone], capture_output=True,
                              text=True, check=False, timeout=120,
                              env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
        if done.returncode == 0:
            return cls(clone)
        if NO_NETWORK.search(done.stderr):
            return None
        raise Failure(f"cannot clone {source}: {done.stderr}")

    def tests_of(self, commit):
        """The tests that a commit added, as unittest names them, if they are there at the end."""
        found = []
        for name in ("test_xmltodict", "test_dicttoxml"):
            file = f"tests/{name}.py"
            change = git(self.clone, "diff", f"{commit}~1", commit, "--", file)
            added = re.findall(r"^\+    def (test_\w+)", change, re.M)
            owner, there = None, {}
            for line in git(self.clone, "show", f"{LAST}:{file}").splitlines():
                if match := re.match(r"class (\w+)", line):
                    owner = match[1]
                if match := re.match(r"    def (test_\w+)", line):
                    there[match[1]] = owner
            found += [f"tests.{name}.{there[test]}.{test}" for test in added if test in there]
        return found

    def files(self):
        """The tests of the last change."""
        names = git(self.clone, "ls-tree", "--name-only", f"{LAST}:tests").splitlines()
        return {name: git(self.clone, "show", f"{LAST}:tests/{name}") + "\n" for name in names}

    def base(self):
        """The source before the first change."""
        return git(self.clone, "show", f"{BASE}:xmltodict.py") + "\n"

    def features(self):
        """Each feature with its description and its tests."""
        return {name: (git(self.clone, "log", "-1", "--format=%B", commit), self.tests_of(commit))
                for name, commit in FEATURES.items()}

    def commands(self):
        """What makes each change."""
        changes = {name: git(self.clone, "diff", f"{commit}~1", commit, "--", "xmltodict.py")
                   for name, commit in FEATURES.items()}
        return {name: f"git apply - <<'END'\n{change}\nEND" for name, change in changes.items()}


def repository(project, workflow):
    """Makes the repository with the file of the workflow."""
    folder = workflow.folder
    (folder / "tests").mkdir(parents=True)
    (folder / "xmltodict.py").write_text(project.base())
    for name, text in project.files().items():
        (folder / "tests" / name).write_text(text)
    (folder / ".gitignore").write_text("__pycache__/\n")
    text = FILE
    for name, (description, tests) in project.features().items():
        tests = ", ".join(f'"{test}"' for test in tests)
        text += FEATURE.format(name=name, description=description, tests=tests)
    workflow.file.parent.mkdir(parents=True)
    workflow.file.write_text(text)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Base")


class Author(Model):
    """Makes each change as it was made."""

    def __init__(self, project):
        super().__init__()
        self.commands = project.commands()

    def script(self, feature, attempt):
        command = self.commands[feature]
        if feature == WRONG_AT_FIRST and attempt == 1:
            command = "echo '# It is all well now.' >> xmltodict.py"
        return [lambda: self.runs(command), lambda: self.says("it is done")]


def run(workflow, project):
    """From the file to the last verification. Returns how many tests passed each time, and the number of checks."""
    repository(project, workflow)
    base = git(workflow.folder, "rev-parse", "HEAD")
    workflow.make()
    workflow.order(f"/{workflow.id}/run", {})
    workflow.rest("ready")
    workflow.order(f"/{workflow.id}/run", {})
    workflow.rest("completed", limit=LIMIT)
    records = workflow.records()
    wanted = []
    for name in FEATURES:
        if name == WRONG_AT_FIRST:
            wanted.append((name, 1, False, ["check_failed"]))
        wanted.append((name, 2 if name == WRONG_AT_FIRST else 1, True, []))
    check("verdicts", verdicts(records), wanted)
    folder, branch = workflow.folder, "harness/xmltodict"
    subjects = git(folder, "log", "--reverse", "--format=%s", f"{base}..{branch}").splitlines()
    check("commits", subjects, list(FEATURES))
    check("changed files", git(folder, "diff", "--name-only", base, branch), "xmltodict.py")
    check("final verification", data_of(records, "verification_ended")[-1]["green"], True)
    return judge_names(records), len(data_of(records, "check_ended"))


def judge_names(records):
    """How many tests passed, from the base to the last tree: none is ever lost."""
    suites = [end for end in data_of(records, "check_ended") if end["check"] == "suite"]
    kept = [set(end["kept"]) for end in suites]
    check("lost tests", [end.get("lost", []) for end in suites], [[] for _ in suites])
    for before, after in zip(kept, kept[1:]):
        check("tests that passed and are gone", before - after, set())
    if len(kept[0]) >= len(kept[-1]):
        raise Failure(f"no test passes that did not: {len(kept[0])}, {len(kept[-1])}")
    check("tests that passed, at first and at last", (len(kept[0]), len(kept[-1])), (80, 92))
    return [len(names) for names in kept]


def tried(project):
    """Runs it once, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="xmltodict-") as folder:
        workflow = Workflow(Path(folder), Author(project), "xmltodict")
        began = time.monotonic()
        try:
            names, checks = run(workflow, project)
            took = time.monotonic() - began
            bare = bare_run(["python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."], workflow.folder)
        except Failure as failure:
            print(workflow.transcript())
            print(workflow.service.last_log())
            sys.exit(f"xmltodict: {failure}")
        finally:
            workflow.service.kill()
    counts = ", ".join(str(count) for count in names)
    source = type(project).__name__.lower()
    print(f"xmltodict by its {source}: 6 features, 7 verdicts, {checks} checks in {took:.1f} s; tests that passed: {counts}")
    hold("all of it, beside its checks by themselves", took, checks * bare, MOST, "s")


def main():
    """Runs it."""
    with tempfile.TemporaryDirectory(prefix="xmltodict-") as folder:
        try:
            project = History.fetch(Path(folder)) or Releases.fetch(Path(folder) / "packages")
        except (Failure, ValueError, subprocess.TimeoutExpired) as failure:
            sys.exit(f"xmltodict: {failure}")
        if project is None:
            print("xmltodict: neither its history nor its packages can be had", file=sys.stderr)
            sys.exit(77)
        try:
            twice(lambda: tried(project))
        except Failure as failure:
            sys.exit(f"xmltodict: {failure}")


if __name__ == "__main__":
    main()
