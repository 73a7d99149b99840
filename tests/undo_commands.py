#!/usr/bin/env python3
"""Random commands in folders of six kinds, each taken back by undo. HARNESS_BIN is the program.

    tests/undo_commands.py [--lines N] [--hands N] [--kills N] [--seed N] [KIND…]

`--lines`: after undo, each file, link and folder outside of git's own folder and of what git ignores has the bytes, the permissions
and the target that it had before the command, or `dry_run` has named it before as one that stays. A row says for each
kind how many command lines changed something, how many of these went back whole, and how many paths were named instead. A
line after which something differs that was not named is printed with the seed, and is a failure.

`--hands`: a person edits files before and during a command and before undo. What such an edit has put into a file and is
there before undo is there afterwards, or the state folder keeps the content that undo replaced.

`--kills`: the service is killed while it takes a command back, and started again. Each path is then as the command left it
or as it was before, and another undo takes back the rest. Or it is killed while a command runs or is looked at: undo then
changes nothing that it does not know, and says so.

Spec: [UNDO-780] [UNDO-781] [UNDO-782] [UNDO-784] [UNDO-789]
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import Failure, NoAnswer  # noqa: E402
from shell import ShellService  # noqa: E402

GIT = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "protocol.file.allow=always",
       "-c", "init.defaultBranch=main"]
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
ODD = ["with space", "quote'd", 'double"d', "tab\there", "ünïcode", "-dash", "semi;colon", "dollar$x", "star*", "back\\slash"]
IGNORED = "build"
UNKNOWN = "what it changed is not known"
PASSED_OVER = [".git", "node_modules", "__pycache__"]
# A proxy of rustup would look for its toolchains in the home of the user of the test.
RUSTC = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
CARGO = f"PATH={shlex.quote(f'{RUSTC}/bin')}:$PATH cargo"



def text(chance):
    """Some lines."""
    return "".join(f"{chance.choice(WORDS)} {chance.randrange(100)}\n" for _ in range(chance.randrange(1, 30)))


def git(folder, *words):
    """Git as the user runs it."""
    subprocess.run([*GIT, "-C", folder, *words], check=True, capture_output=True)


def fill(folder, chance, count=25):
    """Files, folders and links."""
    for number in range(count):
        path = folder / chance.choice(["", "src", "src/deep", "docs"]) / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(chance))
        path.chmod(chance.choice([0o644, 0o600, 0o755]))
    (folder / "data.bin").write_bytes(chance.randbytes(5000))
    (folder / "link").symlink_to("data.bin")


def change(folder, chance):
    """What the user has changed and not committed, and what git ignores."""
    for number in range(4):
        (folder / f"docs/own{number}.txt").write_text(text(chance))
    tracked = sorted(folder.glob("src/**/*.txt"))
    for path in chance.sample(tracked, 3):
        path.write_text(path.read_text() + "the user's own\n")
    git(folder, "add", "docs/own0.txt", tracked[0])
    (folder / IGNORED).mkdir(exist_ok=True)
    (folder / IGNORED / "object.o").write_text(text(chance))


def repository(folder, chance, count=25):
    """A repository with a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    fill(folder, chance, count)
    (folder / ".gitignore").write_text(f"{IGNORED}/\n*.log\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")


def own(folder, chance):
    """A repository with changes of the user's own."""
    repository(folder, chance)
    change(folder, chance)


def plain(folder, chance):
    """A folder without git."""
    fill(folder, chance)


def submodule(folder, chance):
    """A repository with a submodule, both with changes of the user's own."""
    inner = folder.parent / "inner"
    repository(inner, chance)
    repository(folder, chance)
    git(folder, "submodule", "add", "-q", inner, "sub")
    git(folder, "commit", "-qm", "two")
    change(folder, chance)
    change(folder / "sub", chance)


def worktree(folder, chance):
    """A linked worktree."""
    main = folder.parent / "main"
    repository(main, chance)
    shutil.rmtree(folder)
    git(main, "worktree", "add", "-q", folder)
    change(folder, chance)


def many(folder, chance):
    """A repository with 5,000 files."""
    repository(folder, chance)
    for number in range(5000):
        path = folder / f"many/{number // 100}/{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "many")
    change(folder, chance)


def odd(folder, chance):
    """Links of all kinds, names that shells treat in other ways, and empty folders."""
    repository(folder, chance)
    for name in ODD:
        (folder / "odd" / name).mkdir(parents=True)
        (folder / "odd" / name / f"{name}.txt").write_text(text(chance))
    for name, target in {"dead": "nowhere", "to folder": "src", "round": "round", "deep/up": "../docs"}.items():
        (folder / "links" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "links" / name).symlink_to(target)
    (folder / "empty/inside").mkdir(parents=True)
    (folder / "empty/inside").chmod(0o750)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "odd")
    change(folder, chance)


KINDS = {"own": own, "plain": plain, "submodule": submodule, "worktree": worktree, "many": many, "odd": odd}


class Commands:
    """Random command lines for what is in a folder now."""

    def __init__(self, folder, chance):
        self.folder, self.chance = folder, chance
        self.number = 0

    def paths(self, is_wanted):
        """Paths below the folder, but for git's own."""
        found = []
        for above, folders, files in os.walk(self.folder):
            if "CACHEDIR.TAG" in files:
                folders.clear()
                continue
            folders[:] = [name for name in folders if name not in PASSED_OVER]
            found += [Path(above, name).relative_to(self.folder) for name in [*folders, *files] if name not in PASSED_OVER]
        return sorted(path for path in found if is_wanted(self.folder / path))

    def file(self):
        """A regular file."""
        return self.quoted(lambda path: path.is_file() and not path.is_symlink())

    def directory(self):
        """A folder."""
        return self.quoted(lambda path: path.is_dir() and not path.is_symlink())

    def link(self):
        """A link."""
        return self.quoted(Path.is_symlink)

    def quoted(self, is_wanted):
        """One of these paths, as a shell takes it."""
        found = self.paths(is_wanted)
        return shlex.quote(f"./{self.chance.choice(found)}") if found else "./none"

    def new(self):
        """A name that nothing has."""
        self.number += 1
        return f"{self.chance.choice(['.', 'src', 'docs', 'new/deep'])}/new{self.number}"

    def line(self):
        """One to three commands."""
        return "; ".join(self.one() for _ in range(self.chance.choice([1, 1, 2, 3])))

    def one(self):
        """A command."""
        file, other, folder, new = self.file(), self.file(), self.directory(), self.new()
        above = f"mkdir -p $(dirname {new})"
        commands = [
            f"sed -i 's/a/A/g' {file}", f"sed -i.bak 's/e/E/' {file}", f"echo more >> {file}", f": > {file}",
            f"printf 'x\\0y' > {file}", f"{above}; mv {file} {new}", f"mv -f {file} {other}", f"rm -f {file}",
            f"rm -rf {folder}", f"{above}; cp -a {folder} {new}", f"mkdir -p {new}/a/b", f"{above}; echo made > {new}",
            f"chmod 600 {file}", f"chmod 755 {file}", f"chmod 700 {folder}", f"{above}; ln -s {file} {new}",
            f"{above}; ln {file} {new}", f"ln -sfn elsewhere {self.link()}", f"rm -f {self.link()}",
            f"rm -rf {folder}; echo a file > {folder}", f"rm -f {file}; mkdir {file}; echo x > {file}/x",
            f"{above}; mv {folder} {new}", f"{above}; tar cf {new}.tar {folder} && rm -rf {folder} && tar xf {new}.tar",
            f"find {folder} -name '*.txt' -delete", f"find {folder} -type d -empty -delete",
            f"{above}; sort {file} > {new} && mv {new} {file}", f"touch {file}", f"dd if=/dev/zero of={file} bs=100 count=1",
            f"printf '%s\\n' '--- a/p' '+++ b/p' '@@ -0,0 +1 @@' '+patched' | patch -p1 -s; patch -R -s -p1 < /dev/null",
            f"{above}; python3 -c \"import sqlite3; d = sqlite3.connect('{new}.db'); d.execute('create table t(x)'); d.commit()\"",
            f"git checkout -q -- {file}", "git checkout -q -- .", "git stash -q", "git stash -q -u", "git stash pop -q",
            f"git rm -qf {file}", f"{above}; git mv {file} {new}", "git reset -q --hard", "git clean -fdq",
            f"git add -A; git {' '.join(GIT[1:5])} commit -qm more", "git checkout -q HEAD~1", "git checkout -q -",
            f"mkdir -p {IGNORED}; echo x > {IGNORED}/made.o",
            "find . -name '*.txt' -not -path './.git/*' -exec sed -i 's/a/A/' {} +",
            f"mkdir -p {IGNORED}; for n in $(seq 300); do echo x > {IGNORED}/$n.o; done; sed -i 's/l/L/' $(git ls-files '*.txt')",
            f"mkdir -p {new}; (cd {new} && npm init -y && npm pkg set description=x && npm version minor)",
            f"mkdir -p {new}/a; (cd {new}/a && npm init -y && cd .. && npm init -y && npm install --offline ./a)",
            f"{above}; {CARGO} new -q --vcs none {new} && sed -i 's/0.1.0/0.2.0/' {new}/Cargo.toml",
            f"{above}; {CARGO} new -q --lib --vcs none {new} && (cd {new} && {CARGO} generate-lockfile --offline && {CARGO} doc -q)",
        ]
        return self.chance.choice(commands)


def look(folder):
    """All that is in a folder but what the service passes over: kind and permissions, and the bytes or the target."""
    found = {}
    for above, folders, files in os.walk(folder):
        inside = Path(above)
        if "CACHEDIR.TAG" in files:
            folders.clear()
            continue
        links = [name for name in folders if (inside / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links and name not in PASSED_OVER
                      and not (name == IGNORED and (inside / ".gitignore").exists())]
        for name in [*folders, *links, *files]:
            path = inside / name
            if name == ".git" or name.endswith(".log"):
                continue
            mode = path.lstat().st_mode
            content = os.readlink(path) if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else ""
            found[str(path)] = (oct(mode), content)
    return found


class Ground:
    """A folder of a kind, with a conversation in it."""

    def __init__(self, above, kind, seed):
        self.kind = kind
        self.chance = random.Random(f"{seed} {kind}")
        self.service = ShellService(above, above / "user")
        self.folder = above / "workspace"
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        KINDS[kind](self.folder, self.chance)
        self.commands = Commands(self.folder, self.chance)
        self.service.start()
        self.path = f"/v1/conversations/{self.service.create()}"
        self.service.order("PATCH", f"{self.path}/settings", {"settings": {"mode": "sandbox"}})
        self.changed = self.whole = self.named = self.unknown = 0

    def undo(self, **given):
        """The paths that stay, and the notes about more; nothing if there is nothing to take back."""
        answer = self.service.call("POST", f"{self.path}/undo", given, headers=self.service.token())
        if answer.status == 409:
            return set(), []
        if answer.status != 200:
            raise Failure(f"undo: {answer.status}: {answer.body}")
        files = answer.body["files"]
        notes = answer.body.get("notes", [])
        named = {file["path"] for file in files if file["outcome"] == "conflict"}
        for outputs in re.findall("(?:made|removed) (.*?)(?= and removed|;|$)", "\n".join(notes), re.M):
            named.update(str(self.folder / path) for path in outputs.split(", "))
        # One about HEAD or about folders of outputs names all that it is about.
        return named, [note for note in notes if any(more in note for more in ["more files", "too many files", UNKNOWN])]

    def try_line(self):
        """Runs a line and takes it back. Returns what differs and was not named."""
        line = self.commands.line()
        before = look(self.folder)
        self.service.shell(self.path.rsplit("/", 1)[1], command=line)
        after = look(self.folder)
        named, notes = self.undo(dry_run=True)
        self.undo()
        now = look(self.folder)
        wrong = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
        hidden = [] if notes else [path for path in wrong if not self.is_named(path, named)]
        self.changed += before != after
        self.whole += before != after and not wrong
        self.named += len(named)
        return [(line, path, before.get(path), after.get(path), now.get(path)) for path in hidden], named

    def edit(self, mark):
        """Edits a file as a person does, if it is still there."""
        files = self.commands.paths(lambda path: path.is_file() and not path.is_symlink() and path.suffix == ".txt")
        try:
            with open(self.folder / self.chance.choice(files), "a", encoding="utf-8") as file:
                file.write(f"{mark}\n")
        except (OSError, IndexError):
            return

    def marks(self, folder):
        """The marks in the files of a folder."""
        found = set()
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
                found.update(re.findall(rb"by hand \d+", path.read_bytes()))
        return found

    def try_hands(self, number):
        """A command beside a person. Returns the marks that undo lost."""
        marks = [f"by hand {number * 3 + each}" for each in range(3)]
        self.edit(marks[0])
        begin = threading.Timer(0.12, self.edit, [marks[1]])
        begin.start()
        self.service.shell(self.path.rsplit("/", 1)[1], command=f"{self.commands.one()}; sleep 0.2; {self.commands.one()}")
        begin.join()
        self.edit(marks[2])
        before = self.marks(self.folder)
        self.undo()
        lost = before - self.marks(self.folder)
        self.named += len(lost)
        return lost - self.marks(self.service.home / "before")

    def try_kill(self):
        """A service that is killed during undo. Returns what is neither old nor new, and what another undo left."""
        line = "; ".join(self.commands.one() for _ in range(6))
        before = look(self.folder)
        self.service.shell(self.path.rsplit("/", 1)[1], command=line)
        after = look(self.folder)
        named, notes = self.undo(dry_run=True)
        ordered = threading.Thread(target=self.undo_unanswered)
        ordered.start()
        time.sleep(self.chance.random() * 0.03)
        self.service.kill()
        ordered.join()
        between = look(self.folder)
        self.service.start()
        again, _ = self.undo()
        now = look(self.folder)
        paths = before.keys() | after.keys() | between.keys() | now.keys()
        # More was changed than is named.
        paths = {path for path in paths if not notes and not self.is_named(path, named | again)}
        # A folder that was made again gets its permissions last.
        torn = {path for path in paths if between.get(path) not in (before.get(path), after.get(path))
                and not Path(path).is_dir() and not Path(path).name.startswith(".harness-")
                and not (path not in between and self.is_swapped(before.get(path), after.get(path)))}
        left = {path for path in paths if now.get(path) != before.get(path)}
        self.changed += before != after
        self.whole += between == before
        self.named += between == after
        return [(line, path, before.get(path), after.get(path), between.get(path), now.get(path)) for path in torn | left]

    def try_kill_of_command(self):
        """A service that is killed while a command runs, or before or behind that. Returns what an undo changed that was not
        known, and what it did not say."""
        line = "; ".join(self.commands.one() for _ in range(6))
        before = look(self.folder)
        running = threading.Thread(target=self.shell_unanswered, args=[line])
        running.start()
        time.sleep(self.chance.random() * 0.25)
        self.service.kill()
        running.join()
        between = look(self.folder)
        self.service.start()
        named, notes = self.undo()
        now = look(self.folder)
        self.unknown += before != between
        if any(UNKNOWN in note for note in notes):
            wrong = {path for path in between.keys() | now.keys() if between.get(path) != now.get(path)}
        else:
            # It had not begun, or its changes were on record.
            wrong = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
            wrong = {path for path in wrong if not notes and not self.is_named(path, named)}
        return [(line, path, before.get(path), None, between.get(path), now.get(path)) for path in wrong]

    def shell_unanswered(self, line):
        """A command whose end may not come."""
        with contextlib.suppress(NoAnswer, Failure, OSError):
            self.service.shell(self.path.rsplit("/", 1)[1], command=line)

    @staticmethod
    def is_swapped(one, other):
        """Whether a folder is in the place of a file. Nothing is there before the other one is."""
        folders = [state is not None and stat.S_ISDIR(int(state[0], 8)) for state in (one, other)]
        return folders[0] != folders[1]

    def undo_unanswered(self):
        """An undo whose answer may not come."""
        with contextlib.suppress(NoAnswer):
            self.undo()

    @staticmethod
    def is_named(path, named):
        """Whether a path is named, or is a folder that holds what is named."""
        return any(one == path or one.startswith(f"{path}/") for one in named)


def try_lines(ground, count, show):
    """Lines of commands; the number of failures."""
    failed = 0
    for _ in range(count):
        hidden, named = ground.try_line()
        for line, path, *states in hidden:
            failed += 1
            shown = [json.dumps(str(state))[:120] for state in states]
            print(f"{ground.kind}: after {line!r}\n  {path} was {shown[0]}, then {shown[1]}, and is {shown[2]}", flush=True)
        if show and named:
            print(f"{ground.kind}: named {sorted(named)}", flush=True)
    print(f"{ground.kind:<10} lines: changed {ground.changed}, whole {ground.whole}, paths named {ground.named}", flush=True)
    return failed


def try_hands(ground, count, _):
    """Commands beside a person; the number of failures."""
    failed = 0
    for number in range(count):
        if lost := ground.try_hands(number):
            failed += 1
            print(f"{ground.kind}: lost {sorted(lost)}", flush=True)
    print(f"{ground.kind:<10} beside a person: {count}, edits that undo replaced {ground.named}", flush=True)
    return failed


def try_kills(ground, count, _):
    """Kills; the number of failures."""
    failed = 0
    for number in range(count):
        wrong = ground.try_kill_of_command() if number % 2 else ground.try_kill()
        for line, path, *states in wrong:
            failed += 1
            shown = [json.dumps(str(state))[:120] for state in states]
            print(f"{ground.kind}: after {line!r}\n  {path}: before, command, killed, end: {shown}", flush=True)
    print(f"{ground.kind:<10} kills: {count}, with changes {ground.changed}, when all was done {ground.whole}, "
          f"and nothing {ground.named}, in commands with changes {ground.unknown}", flush=True)
    return failed


def main():
    """Tries all kinds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=0)
    parser.add_argument("--hands", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--show", action="store_true", help="print the paths that were named")
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    failed = 0
    tries = [(try_lines, given.lines), (try_hands, given.hands), (try_kills, given.kills)]
    for kind, (one, count) in itertools.product(given.kinds, tries):
        each = -(-count // len(given.kinds))
        if each == 0:
            continue
        with tempfile.TemporaryDirectory(prefix="harness-undo-") as above:
            ground = Ground(Path(above), kind, given.seed)
            try:
                failed += one(ground, each, given.show)
            finally:
                ground.service.kill()
    if failed:
        sys.exit(f"undo_commands: {failed} failed; seed {given.seed}")


if __name__ == "__main__":
    main()
