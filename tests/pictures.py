#!/usr/bin/env python3
"""The pictures of README and manual: the terminal client in tmux, drawn as SVG.

    tests/pictures.py           writes docs/screen.svg and docs/screens/
    tests/pictures.py --check   fails if the text of a picture is another one now

HARNESS_BIN is the program; target/release/harness if left out.

Spec: [TIDY-21]
"""

import argparse
import html
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# The size of a character, in pixels.
WIDTH, HEIGHT = 8.4, 18
PATIENCE_S = 60
# The background and the text of a terminal, by theme.
GROUNDS = {"dark": ("#1a1a1a", "#d8dbe2"), "light": ("#ffffff", "#1c1c1c")}
# Spaces at the ends of a text are drawn only as these.
NO_BREAK = "\u00a0"
# The working folder in the picture, with as many characters as the real one.
FOLDER = "/home/ana/greetings"
# The sixteen colours of a terminal.
COLORS = ["#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dbe2",
          "#7f848e", "#ef8891", "#b5d99c", "#f0d399", "#85c5f7", "#d69ae6", "#7fd0da", "#ffffff"]
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
# What differs from run to run.
AGE = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|min)\b|\bnow\b")
PROCESS = re.compile(r"process \d+ at http://127\.0\.0\.1:\d+")
CUT_END = re.compile(r"^0 s ·.{0,6}$", re.MULTILINE)
COMMIT = re.compile(r"\b[0-9a-f]{7}\b")


def indexed(number):
    """The colour of that number, of 256."""
    if number < 16:
        return COLORS[number]
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return f"#{level:02x}{level:02x}{level:02x}"
    levels = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#" + "".join(f"{levels[one]:02x}" for one in (number // 36, number // 6 % 6, number % 6))


class Style:
    """The look of the characters that follow, in a theme."""

    def __init__(self, theme):
        self.background, self.foreground = GROUNDS[theme]
        self.reset()

    def reset(self):
        """The look at the beginning."""
        self.front = self.back = None
        self.is_bold = self.is_dim = self.is_slanted = self.is_underlined = self.is_swapped = False

    def take(self, codes):
        """Follows the numbers of an escape sequence (ECMA-48, SGR)."""
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (38, 48):
                kind = codes.pop(0)
                color = indexed(codes.pop(0)) if kind == 5 else "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
                self.front, self.back = (color, self.back) if code == 38 else (self.front, color)
            elif code in (39, 49):
                self.front, self.back = (None, self.back) if code == 39 else (self.front, None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.front = COLORS[code - 30 if code < 40 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.back = COLORS[code - 40 if code < 50 else code - 92]
            elif code in (1, 2, 3, 4, 7):
                names = {1: "is_bold", 2: "is_dim", 3: "is_slanted", 4: "is_underlined", 7: "is_swapped"}
                setattr(self, names[code], True)
            elif code == 22:
                self.is_bold = self.is_dim = False
            elif code in (23, 24, 27):
                setattr(self, {23: "is_slanted", 24: "is_underlined", 27: "is_swapped"}[code], False)

    def colors(self):
        """The colours of text and background. `None` for those of the screen."""
        return (self.back or self.background, self.front or self.foreground) if self.is_swapped else (self.front, self.back)


class Screen(NamedTuple):
    """A screen of a client."""

    title: str
    columns: int
    rows: int
    theme: str
    # With escape sequences.
    content: str


def drawn(screen):
    """A screen as SVG."""
    style = Style(screen.theme)
    width, height = screen.columns * WIDTH + 24, screen.rows * HEIGHT + 24
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
             f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
             f"<title>{html.escape(screen.title)}</title>",
             f'<rect width="100%" height="100%" rx="8" fill="{style.background}"/>',
             f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="{style.foreground}" '
             'style="white-space: pre">']
    for row, line in enumerate(screen.content.split("\n")[:screen.rows]):
        column, top = 0, 12 + row * HEIGHT
        for number, piece in enumerate(ESCAPE.split(line)):
            if number % 2:
                style.take(piece)
                continue
            if not piece:
                continue
            left, length = 12 + column * WIDTH, len(piece) * WIDTH
            front, back = style.colors()
            if back:
                parts.append(f'<rect x="{left:.1f}" y="{top}" width="{length:.1f}" height="{HEIGHT}" fill="{back}"/>')
            look = [f' fill="{front}"' if front else "", ' font-weight="bold"' if style.is_bold else "",
                    ' opacity="0.6"' if style.is_dim else "", ' font-style="italic"' if style.is_slanted else "",
                    ' text-decoration="underline"' if style.is_underlined else ""]
            if piece.strip():
                parts.append(f'<text x="{left:.1f}" y="{top + 14}" textLength="{length:.1f}"{"".join(look)}>'
                             f"{html.escape(piece.replace(' ', NO_BREAK))}</text>")
            column += len(piece)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def text_of(picture):
    """The text of a picture, with the same ages and commits everywhere."""
    pieces = re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    text = AGE.sub("0 s", html.unescape("\n".join(pieces)).replace(NO_BREAK, " "))
    # A window cuts the line of a run's end, and how much of it is left depends on the length of its age.
    text = CUT_END.sub("0 s", text)
    # Ages are in columns.
    return COMMIT.sub("0000000", re.sub(" +", " ", text))


class Scene:
    """A service with the demo, and terminals."""

    def __init__(self, above, binary):
        self.above, self.binary = above, binary
        self.folder = above / "work"
        self.folder.mkdir()
        names = ("PATH", "LANG", "HOME")
        self.environment = {name: os.environ[name] for name in names if name in os.environ}
        self.environment |= {"HARNESS_HOME": str(above / "state"), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        serve = [binary, "serve", "--demo", "--port", "0"]
        with open(above / "log", "w", encoding="utf-8") as log:
            self.service = subprocess.Popen(serve, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        self.until((above / "state/service.json").exists, "the service")

    def run(self, *command):
        """A command in the folder."""
        return subprocess.run(command, cwd=self.folder, env=self.environment, check=True, capture_output=True,
                              text=True).stdout

    def tmux(self, *words):
        """A command for the tmux of this scene."""
        return self.run("tmux", "-S", str(self.above / "tmux"), *words)

    def until(self, condition, what):
        """Waits for a condition."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"pictures: {what} did not come; the log: {(self.above / 'log').read_text()}")
            time.sleep(0.05)

    def content(self, name, *options):
        """The content of a terminal."""
        return self.tmux("capture-pane", *options, "-p", "-t", name)

    def shows(self, name, *texts):
        """Waits until a terminal shows texts."""
        for text in texts:
            try:
                self.until(lambda text=text: text in self.content(name), f"{text!r} in the terminal of {name}")
            except SystemExit:
                print(self.content(name), file=sys.stderr)
                raise

    def lacks(self, name, text):
        """Waits until a terminal no longer shows a text."""
        self.until(lambda: text not in self.content(name), f"the end of {text!r} in the terminal of {name}")

    def attach(self, name, columns, rows, theme="dark"):
        """Opens a terminal with a client."""
        size = ["-x", str(columns), "-y", str(rows)]
        client = [self.binary, "attach", "--name", name, "--theme", theme]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", name, *size, *client)

    def press(self, name, *keys):
        """Presses keys."""
        self.tmux("send-keys", "-t", name, *keys)

    def say(self, name, text):
        """Types a prompt."""
        self.press(name, "-l", text)
        self.press(name, "Enter")

    def answer(self, name, keys):
        """Answers an approval."""
        for key in keys:
            self.press(name, key)
            if key == "A":
                self.shows(name, "c this conversation")
        self.lacks(name, "[a allow]")
        # Its keys are for nobody half a second after it.
        time.sleep(0.6)

    def screen(self, name, title, theme="dark"):
        """The screen of a terminal, once it changes no more."""
        last = ""

        def is_still():
            nonlocal last
            before, last = last, self.content(name, "-e")
            time.sleep(0.5)
            return AGE.sub("", before) == AGE.sub("", last)

        self.until(is_still, "a screen that changes no more")
        assert len(str(self.folder)) == len(FOLDER), self.folder
        content = last.replace(str(self.folder), FOLDER)
        content = PROCESS.sub("process 4711 at http://127.0.0.1:8421", content)
        columns, rows = map(int, self.tmux("display", "-p", "-t", name, "#{pane_width} #{pane_height}").split())
        return Screen(title, columns, rows, theme, content)

    def end(self):
        """Ends the terminals and the service."""
        subprocess.run(["tmux", "-S", str(self.above / "tmux"), "kill-server"], check=False, capture_output=True)
        self.service.terminate()
        self.service.wait(30)


def two_clients(scene):
    """The picture of the README: two clients, and an edit that waits."""
    (scene.folder / "notes.txt").write_text("hello world\nand all who read this\n")
    for name in ("you", "ana"):
        scene.attach(name, 92, 27)
    scene.shows("you", "2 clients: you, ana")
    scene.say("ana", "read notes.txt")
    scene.shows("you", "The tools have answered")
    # The last line of a run; a prompt before it would steer.
    for name in ("you", "ana"):
        scene.shows(name, " out")
    scene.say("ana", "change hello to goodbye in notes.txt")
    # It has the keys half a second after it came.
    scene.shows("you", "-hello world", "[a allow]", "waits for your approval")
    title = "The terminal client of Harness, with an edit that waits for an approval"
    yield "screen", scene.screen("you", title)


def project(scene):
    """A small project in git, with a test that fails."""
    for folder in ("src", "tests"):
        (scene.folder / folder).mkdir()
    (scene.folder / "src/greet.py").write_text('def greet(name):\n    return "hello " + name\n')
    (scene.folder / "tests/ana.py").write_text('from src.greet import greet\n\nassert greet("ana") == "hello, ana"\n')
    (scene.folder / "README.md").write_text("# Greetings\n\nSays hello.\n")
    check = scene.folder / "check"
    check.write_text("#!/bin/sh\nif grep -q 'hello, ' src/greet.py; then echo '2 passed'; exit; fi\n"
                     "echo 'tests/ana.py:3: greet(\"ana\") is \"hello ana\"'\necho '1 passed, 1 failed'\nexit 1\n")
    check.chmod(0o755)
    git = ["git", "-c", "init.defaultBranch=main"]
    scene.run(*git, "init", "-q")
    for key, value in (("user.name", "ana"), ("user.email", "ana@example.com")):
        scene.run("git", "config", key, value)
    scene.run("git", "add", "-A")
    scene.run("git", "commit", "-qm", "Greet by name")


def screens(scene):
    """The screens of the manual, at both sizes and in both themes."""
    project(scene)
    sizes = {"ana": (80, 24, "dark"), "ben": (120, 40, "light")}
    for name, size in sizes.items():
        scene.attach(name, *size)

    def both(kind, title, *texts):
        for name, (columns, rows, theme) in sizes.items():
            scene.shows(name, *texts)
            # A remark on the answer of another client is on the screen for a few seconds.
            scene.lacks(name, "allowed it")
            yield f"screens/{kind}-{columns}x{rows}-{theme}", scene.screen(name, title, theme)

    scene.shows("ana", "2 clients")
    yield from both("empty", "A conversation in which nothing was said yet", "2 clients", "Nothing was said yet")
    scene.say("ana", 'list src, read README.md, read src/greet.py, search for "greet" in src, search for "hello" in . '
                     "and run `wc -l README.md src/greet.py`")
    yield from both("approval", "A command that waits for an approval", "[a allow]", "waits for your approval")
    scene.answer("ana", "a")
    yield from both("run", "A run with six tools", "The tools have answered", " out", "? help")
    scene.say("ben", 'change "hello " to "hello, " in src/greet.py')
    scene.shows("ben", "[a allow]", "waits for your approval")
    scene.answer("ben", "a")
    yield from both("diff", "An edit as a diff, after its approval", "hello, ", "? help")
    for title in ("Release notes", "A faster start"):
        scene.run(scene.binary, "conversations", "new", "--title", title)
    for name in sizes:
        scene.press(name, "C-p")
        scene.shows(name, "Release notes", "A faster start")
        scene.press(name, "Down", "Down")
    yield from both("picker", "The list of conversations", "ben: change")
    for name in sizes:
        scene.press(name, "Escape")
        scene.lacks(name, "Esc close")
        scene.say(name, "/settings")
    yield from both("settings", "The settings of a conversation", "keep tokens")


def day(scene):
    """The approvals of a day of work, each at 80x24."""
    project(scene)
    scene.attach("ana", 80, 24)
    scene.shows("ana", "Nothing was said yet")
    check = "run `./check 2>&1 | tail -3`"
    steps = [
        ("tests", check, "Ac", "The tests, with a rule for the next ones"),
        ("log", "run `git log --oneline -3 && git status --short`", "a", "What was done so far"),
        ("edit", 'change "hello " to "hello, " in src/greet.py', "a", "An edit of one line"),
        ("write", 'write "from src.greet import greet" to tests/ben.py', "a", "A new file"),
        ("tests-again", check, "", "The tests again, by the rule"),
        ("commit", 'run `git commit -qam "Greet with a comma"`', "a", "The commit"),
    ]
    for number, (step, prompt, keys, title) in enumerate(steps, 1):
        scene.say("ana", prompt)
        if keys:
            scene.shows("ana", "[a allow]", "waits for your approval")
        else:
            scene.shows("ana", "wrote 1 line", " out", "? help")
        yield f"screens/day-{number}-{step}", scene.screen("ana", title)
        if keys:
            scene.answer("ana", keys)
            scene.shows("ana", " out", "? help")


def main():
    """Draws the pictures, and writes or compares them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    binary = str(Path(os.environ.get("HARNESS_BIN", ROOT / "target/release/harness")).resolve())
    pictures = {}
    for play in (two_clients, screens, day):
        with tempfile.TemporaryDirectory(prefix="h", dir="/tmp") as above:
            scene = Scene(Path(above), binary)
            try:
                pictures |= {DOCS / f"{name}.svg": drawn(screen) for name, screen in play(scene)}
            finally:
                scene.end()
    kept = {DOCS / "screen.svg", *(DOCS / "screens").glob("*.svg")}
    wrong = [path for path in kept if path not in pictures]
    for path, picture in pictures.items():
        if not given.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(picture)
        elif path not in kept or text_of(picture) != text_of(path.read_text()):
            wrong.append(path)
            print(text_of(picture), file=sys.stderr)
    for path in wrong:
        print(f"pictures: {path.relative_to(ROOT)} is not what the program shows; run tests/pictures.py",
              file=sys.stderr)
    if wrong:
        raise SystemExit(1)
    print(f"pictures: {len(pictures)}, {sum(map(len, pictures.values()))} bytes")


if __name__ == "__main__":
    main()
