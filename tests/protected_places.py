#!/usr/bin/env python3
"""The tools `edit`, `write`, `bash` and `job` at every protected place: in the folder, below it and behind a link, of files
that exist and of names that do not, by every backend. HARNESS_BIN is the program.

    tests/protected_places.py            every backend
    tests/protected_places.py BACKEND…   some of them: namespaces landlock none

Operators are asked by all four before a change holds, and here they deny it: `edit` and `write` ask first; what a command or
a job did is taken back, and then asked about. A row says the user, the backend, whether the places exist, and how many of
them each tool left as they were. As root, commands and jobs are tried as root and as an ordinary user. A
backend that the machine does not have is a row `not available`, and exit code 77.

Spec: [BASH-550] [BASH-777]
"""

import json
import re
import sys
from pathlib import Path

import sandbox_fallback
from sandbox_fallback import Contained, expect, grounds

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import wait_until  # noqa: E402

# The machines on which each backend contains commands: what they lack.
LACKS = {"namespaces": "nothing", "landlock": "refused", "none": "both"}
sandbox_fallback.LACKS["nothing"] = ("env", "namespaces", "")
# The names of the manual's list.
PAGE = Path(__file__).resolve().parent.parent / "docs/tools.md"
NAMES = [name.replace("*", "x") for name in re.search(r"```text\n(\.git .*?)```", PAGE.read_text(), re.DOTALL)[1].split()[1:]]
# Git's own, of which only the repository of the folder is protected.
OF_GIT = [".git/hooks/pre-commit", ".git/config", ".git/info/attributes"]
# Each name is that of a file in the folder, and of a folder with a file below it and behind a link.
PLACES = [*NAMES, *(f"{folder}/{name}/file" for folder in ("src/deep", "linked/deep") for name in NAMES), *OF_GIT]
BEFORE, AFTER = "one\n", "evil\n"


class Table:
    """The places of a folder that exist, or do not, and how many each tool left as they were."""

    def __init__(self, ground, name, exist):
        self.exist = exist
        self.service = Contained(ground, name)
        self.service.order("PATCH", self.path("/settings"), {"settings": {"mode": "sandbox"}})
        self.work = self.service.work
        (self.work / "src/deep").mkdir()
        (self.work / "linked").symlink_to("src")
        self.places = PLACES
        # `edit` and `write` are the same by every backend.
        self.is_held = ground.backend == "namespaces"
        self.asked = PLACES if self.is_held else [*NAMES, *OF_GIT]
        self.service.git("init", "-q")
        for place in self.places:
            file = self.work / place
            if exist:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("[core]\n" if place == ".git/config" else BEFORE)
            elif place in OF_GIT:
                file.unlink(missing_ok=True)
        ground.own(self.work)
        self.was = self.contents()

    def path(self, rest):
        """A route of the conversation."""
        return f"/v1/conversations/{self.service.conversation}{rest}"

    def contents(self):
        """The content of each place, `None` where there is none."""
        files = {place: self.work / place for place in self.places}
        return {place: file.read_text() if file.exists() else None for place, file in files.items()}

    def left(self):
        """Number of the places that are as they were, and of all."""
        now = self.contents()
        return sum(now[place] == self.was[place] for place in self.places), len(self.places)

    def call(self, **given):
        """Lets the model call a tool. Returns the approval that waits, if it asks."""
        path = self.path("")
        self.service.order("POST", f"{path}/prompt", {"content": json.dumps(given)})
        state = wait_until("the call asks or ends",
                           lambda: (now := self.service.state(self.service.conversation)) != "running" and now)
        return self.service.approvals(path)[0] if state == "waiting_approval" else None

    def denied(self, place, **given):
        """Whether a call is asked about as the change of a protected place, which is denied, and the place stays."""
        if (approval := self.call(path=place, **given)) is None:
            return False
        answer = {"answer": "deny", "digest": approval["digest"]}
        self.service.order("POST", self.path(f"/approvals/{approval['id']}"), answer)
        wait_until("the end of the run", lambda: self.service.state(self.service.conversation) == "idle")
        return approval["change"]["place"] == "protected" and self.contents()[place] == self.was[place]

    def edit(self):
        """Edits each place; where there is none, `edit` makes none."""
        if not self.exist:
            return None
        old = {place: "[core]" if place == ".git/config" else "one" for place in self.asked}
        return sum(self.denied(place, tool="edit", old_string=old[place], new_string="evil")
                   for place in self.asked), len(self.asked)

    def write(self):
        """Writes each place. One that exists has to be read before."""
        asked = NAMES if self.exist else self.asked
        for place in asked if self.exist else []:
            self.call(tool="read", path=place)
        return sum(self.denied(place, tool="write", content=AFTER) for place in asked), len(asked)

    def line(self):
        """The line of a shell that writes all places, as far as it can."""
        return " ".join(f"mkdir -p {Path(place).parent}; echo evil >{place};" for place in self.places)

    def bash(self):
        """Writes all of them by one command."""
        self.service.bash(f"{self.line()} true")
        return self.left()

    def job(self):
        """Writes all of them by a job; the next command asks about what it left."""
        self.service.bash(f"({self.line()}) 2>/dev/null; sleep 0.4; touch done", background=True)
        wait_until("the end of the job", lambda: (self.work / "done").exists() and not self.jobs())
        told, _ = self.service.bash("rm done")
        # Mounts keep a job from what exists.
        expect("what the job left is asked about", ("was taken back: " in told) != (self.exist and self.is_held), told)
        return self.left()

    def jobs(self):
        """The jobs that run."""
        return self.service.expect(200, "GET", self.path("/jobs"))["jobs"]


def row(ground, exist, tools):
    """Tries the tools, and prints a row. Whether all places stayed."""
    table = Table(ground, f"{'some' if exist else 'none'}-{len(tools)}", exist)
    try:
        counts = {tool: getattr(table, tool)() for tool in tools}
    finally:
        table.service.kill()
    counts = {tool: count for tool, count in counts.items() if count is not None}
    told = ", ".join(f"{tool} {left} of {all_of}" for tool, (left, all_of) in counts.items())
    state = "present" if exist else "missing"
    print(f"{ground.user:<9} {ground.backend:<11} {state}, left as they were: {told}", flush=True)
    return all(left == all_of for left, all_of in counts.values())


def main():
    """Tries every backend."""
    failed, missing = 0, []
    for ground in grounds([LACKS[backend] for backend in sys.argv[1:] or LACKS], missing):
        # Which user it is makes no difference to `edit` and `write`.
        tools = ["bash", "job"] if ground.user == "root" else ["edit", "write", "bash", "job"]
        failed += sum(not row(ground, exist, tools) for exist in (True, False))
    if failed:
        sys.exit(f"protected_places: {failed} rows failed")
    sys.exit(77 if missing else 0)


if __name__ == "__main__":
    main()
