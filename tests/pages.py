#!/usr/bin/env python3
"""README.md and the manual in docs/ against the built program: links lead somewhere, and shell blocks do what they say.

    tests/pages.py --links                                       links, paths and the table of contents; no program
    HARNESS_BIN=target/release/harness tests/pages.py            runs the shell blocks of all pages
    HARNESS_BIN=target/release/harness tests/pages.py --show docs/http.md   of one page, and prints all output

A page runs in one shell, in a home folder of its own, with the demo's service. A block `sh` has to succeed. Of a block
`console` the lines behind `$ ` are run, and what they print has to be what the block shows; numbers and ids may differ,
`…` stands for any text, and alone on a line for any lines. A comment in the line above a block says what is special:

    <!-- not run: REASON -->      the block is not run
    <!-- run by tests/FILE -->    another script runs it
    <!-- before: COMMANDS -->     what a reader did elsewhere, such as in another terminal

Spec: [TIDY-16] [TIDY-17]
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 120  # Seconds for one block.
FOLDERS = "actors|benches|docs|examples|protocol|specs|src|standin|tests|tui"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
LINK = re.compile(r"\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")
# What the blocks of a page may call besides the program.
PRELUDE = r"""
serve() {
    : >"$LOGS"
    "$PROGRAM" serve --demo --port "${PORT:-0}" >>"$LOGS" 2>&1 &
    SERVICE=$!
    until_true grep 'listens on' "$LOGS"
    PORT=$(sed -n 's/^harness listens on .*://p' "$LOGS")
}
crash() { kill -KILL "$SERVICE"; wait "$SERVICE" 2>/dev/null || true; serve; }
until_true() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; return 1; }
"""


class Block:
    """A fenced block of a page, with the comments right above it."""

    def __init__(self, page, line, language):
        self.page, self.line, self.language = page, line, language
        self.lines, self.notes = [], []

    def name(self):
        return f"{self.page}:{self.line}"

    def note(self, start):
        return next((note[len(start):].strip() for note in self.notes if note.startswith(start)), None)


def blocks(page):
    """The fenced blocks of a page."""
    found, notes, block = [], [], None
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        comment = re.fullmatch(r"<!-- (.*) -->", line)
        if block:
            if line == "```":
                found.append(block)
                block = None
            else:
                block.lines.append(line)
        elif line.startswith("```"):
            block = Block(page, number, line[3:])
            block.notes, notes = notes, []
        else:
            notes = [*notes, comment.group(1)] if comment else []
    if block:
        raise SystemExit(f"{block.name()}: the block does not end")
    return found


def prose(page):
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors of a page's headings, as forges and mdBook make them."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def wrong_link(page, link):
    """Says why a link of a page leads nowhere, or nothing."""
    if re.match(r"[a-z]+:", link):
        return None
    target, _, anchor = link.partition("#")
    path = ((ROOT / page).parent / target).resolve() if target else ROOT / page
    if not path.exists():
        return "there is no such file"
    if page.startswith("docs/") and ROOT / "docs" not in path.parents:
        return "it leaves docs/, where the built manual has nothing; write the path in backticks"
    if anchor and anchor not in anchors(str(path.relative_to(ROOT))):
        return "there is no such heading"
    return None


def look_at_links():
    """Links, paths in backticks, and the table of contents."""
    manual = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))
    top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md", "CHANGELOG.md"]
    specs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "specs").glob("*.md"))
    wrong, count = [], 0
    for page in [*top, *manual, *specs]:
        for link in LINK.findall(prose(page)):
            count += 1
            why = wrong_link(page, link)
            if why:
                wrong.append(f"{page}: {link}: {why}")
    for page in [*top[:3], *manual]:
        for path in PATH.findall(prose(page)):
            count += 1
            if not (ROOT / path).exists():
                wrong.append(f"{page}: `{path}`: there is no such file")
    listed = LINK.findall((ROOT / "docs/SUMMARY.md").read_text())
    pages = [page.removeprefix("docs/") for page in manual if page != "docs/SUMMARY.md"]
    wrong += [f"docs/SUMMARY.md does not list {page}" for page in pages if page not in listed]
    wrong += [f"docs/SUMMARY.md lists {page} more than once" for page in pages if listed.count(page) > 1]
    if len((ROOT / "README.md").read_text().splitlines()) > 150:
        wrong.append("README.md has more than 150 lines; what is longer belongs in docs/")
    for problem in wrong:
        print(problem, file=sys.stderr)
    if wrong:
        raise SystemExit(1)
    print(f"pages: {count} links and paths of {len(top) + len(manual) + len(specs)} pages lead somewhere")


class Shell:
    """One shell that runs the blocks of one page in turn."""

    def __init__(self, program, folder):
        self.folder = folder
        home = folder / "home/ana"
        work = home / "project"
        work.mkdir(parents=True)
        for name in ["README.md", "CHANGELOG.md", "Cargo.toml"]:
            shutil.copy(ROOT / name, work)
        for name in ["src", "docs"]:
            shutil.copytree(ROOT / name, work / name)
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "harness").symlink_to(program)
        environment = {
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PROGRAM": str(program),
            "LOGS": str(folder / "log"),
            "HARNESS_REQUIRE_TOKEN": "false",
        }
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, env=environment, cwd=work,
            stdout=(folder / "shell").open("wb"), stderr=subprocess.STDOUT, start_new_session=True,
        )
        self.port = "8421"
        code, said = self.run(f"{PRELUDE}\nserve && echo $PORT")
        self.port = said.strip()
        if code != 0:
            raise SystemExit(f"the demo does not start: {said}{(folder / 'log').read_text()}")

    def run(self, commands):
        """Runs commands; their exit code and what they print."""
        for name in ["code", "printed"]:
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "commands").write_text(commands.replace("8421", self.port) + "\n")
        line = f"source {self.folder}/commands </dev/null >{self.folder}/printed 2>&1; echo $? >{self.folder}/code\n"
        self.shell.stdin.write(line.encode())
        self.shell.stdin.flush()
        end = time.monotonic() + LIMIT
        code = self.folder / "code"
        while not code.exists() or not code.read_text():
            if self.shell.poll() is not None or time.monotonic() > end:
                break
            time.sleep(0.02)
        printed = (self.folder / "printed").read_text(errors="replace")
        ended = code.exists() and code.read_text().strip()
        return int(ended) if ended else "no code: it did not end", printed

    def end(self):
        os.killpg(self.shell.pid, signal.SIGKILL)
        self.shell.wait()


def plain(text, folder):
    """A text without what is different each time."""
    text = text.replace(str(folder), "")
    text = re.sub(r"\b(?=[a-z]*[0-9])[0-9a-f]{8,}\b", "0", text)
    text = re.sub(r"\d+(\.\d+)*", "0", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.strip().splitlines()]


def matches(expected, printed):
    """Whether what was printed is what a block shows."""
    pattern = ""
    for line in expected:
        pattern += r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def steps(block):
    """The commands of a block `console`, each with the lines that it prints."""
    found = []
    for line in block.lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        else:
            raise SystemExit(f"{block.name()}: the block begins without a command")
    return found


def run_block(shell, block, show):
    """Runs one block; says what is wrong with it, or nothing."""
    before = block.note("before:")
    if before:
        code, printed = shell.run(before)
        if code != 0:
            return f"what comes before it ends with {code}:\n{printed}"
    if block.language == "sh":
        commands = "\n".join(block.lines)
        code, printed = shell.run(commands)
        if show:
            print(f"$ {commands}\n{printed}", end="")
        return None if code == 0 else f"it ends with {code}:\n{printed}"
    for command, expected in steps(block):
        code, printed = shell.run(command)
        if show:
            print(f"$ {command}\n{printed}", end="")
        if not isinstance(code, int):
            return f"`{command}` did not end:\n{printed}"
        said = plain("\n".join(expected), shell.folder)
        if not matches(said, plain(printed, shell.folder)):
            return f"`{command}` prints something else than the page shows:\n{printed}"
    return None


def run_page(program, page, show):
    """Runs the blocks of one page; how many ran."""
    count, shell = 0, None
    with tempfile.TemporaryDirectory() as folder:
        try:
            for block in blocks(page):
                reason, script = block.note("not run:"), block.note("run by")
                if script and page.removeprefix("docs/") not in (ROOT / script).read_text():
                    raise SystemExit(f"{block.name()}: {script} does not name {page}")
                if block.language not in ("sh", "console") or script or (reason and len(reason) > 10):
                    continue
                shell = shell or Shell(program, Path(folder))
                wrong = run_block(shell, block, show)
                if wrong:
                    raise SystemExit(f"{block.name()}: {wrong}")
                count += 1
        finally:
            if shell:
                shell.end()
    return count


def main():
    arguments = sys.argv[1:]
    if arguments == ["--links"]:
        look_at_links()
        return
    show = "--show" in arguments
    program = Path(os.environ.get("HARNESS_BIN", ROOT / "target/release/harness")).resolve()
    every = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
    pages = [argument for argument in arguments if argument != "--show"] or every
    counts = {page: run_page(program, page, show) for page in pages}
    print(f"pages: {sum(counts.values())} shell blocks of {len(pages)} pages do what they say")


if __name__ == "__main__":
    main()
