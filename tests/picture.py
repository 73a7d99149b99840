#!/usr/bin/env python3
"""The picture of the README: the terminal client in tmux, beside a second client, drawn as SVG.

    tests/picture.py           writes docs/screen.svg
    tests/picture.py --check   fails if the text of the screen is another one now

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

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/screen.svg"
COLUMNS, ROWS = 92, 27
# The size of a character, in pixels.
WIDTH, HEIGHT = 8.4, 18
PATIENCE_S = 60
BACKGROUND, FOREGROUND = "#1a1a1a", "#d8dbe2"
# Spaces at the ends of a text are drawn only as these.
NO_BREAK = "\u00a0"
# The working folder in the picture, with as many characters as the real one.
FOLDER = "/home/ana/greetings"
# The sixteen colours of a terminal.
COLORS = ["#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dbe2",
          "#7f848e", "#ef8891", "#b5d99c", "#f0d399", "#85c5f7", "#d69ae6", "#7fd0da", "#ffffff"]
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
# The same in every picture.
AGE = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|min)\b")


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
    """The look of the characters that follow."""

    def __init__(self):
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
        return (self.back or BACKGROUND, self.front or FOREGROUND) if self.is_swapped else (self.front, self.back)


def drawn(screen):
    """A screen with escape sequences as SVG."""
    width, height = COLUMNS * WIDTH + 24, ROWS * HEIGHT + 24
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
             f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
             "<title>The terminal client of Harness, with an edit that waits for an approval</title>",
             f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
             f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="{FOREGROUND}" '
             'style="white-space: pre">']
    style = Style()
    for row, line in enumerate(screen.split("\n")[:ROWS]):
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
    """The text of a picture, with the same age everywhere."""
    pieces = re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    return AGE.sub("0 s", html.unescape("\n".join(pieces)).replace(NO_BREAK, " "))


class Scene:
    """A service with the demo, and two terminals."""

    def __init__(self, above, binary):
        self.above, self.binary = above, binary
        self.folder = above / "work"
        self.folder.mkdir()
        (self.folder / "notes.txt").write_text("hello world\nand all who read this\n")
        names = ("PATH", "LANG", "HOME")
        self.environment = {name: os.environ[name] for name in names if name in os.environ}
        self.environment |= {"HARNESS_HOME": str(above / "state"), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        serve = [binary, "serve", "--demo", "--port", "0"]
        log = open(above / "log", "w", encoding="utf-8")
        self.service = subprocess.Popen(serve, cwd=self.folder, env=self.environment, stdout=log, stderr=log)

    def tmux(self, *words):
        """A command for the tmux of this scene."""
        command = ["tmux", "-S", str(self.above / "tmux"), *words]
        return subprocess.run(command, cwd=self.folder, env=self.environment, check=True, capture_output=True,
                              text=True).stdout

    def until(self, condition, what):
        """Waits for a condition."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"picture: {what} did not come; the log: {(self.above / 'log').read_text()}")
            time.sleep(0.05)

    def shows(self, name, text):
        """Waits until a terminal shows a text."""
        self.until(lambda: text in self.tmux("capture-pane", "-p", "-t", name), f"{text!r} in the terminal of {name}")

    def attach(self, name):
        """Opens a terminal with a client."""
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", name, *size, self.binary, "attach", "--name", name)

    def say(self, name, text):
        """Types a prompt."""
        self.tmux("send-keys", "-t", name, "-l", text)
        self.tmux("send-keys", "-t", name, "Enter")

    def screen(self):
        """The screen of the picture, with escape sequences."""
        self.until((self.above / "state/service.json").exists, "the service")
        self.attach("you")
        self.attach("ana")
        self.shows("you", "2 clients: you, ana")
        self.say("ana", "read notes.txt")
        self.shows("you", "The tools have answered")
        # The last line of a run; a prompt before it would steer.
        for name in ("you", "ana"):
            self.shows(name, " out")
        self.say("ana", "change hello to goodbye in notes.txt")
        self.shows("you", "-hello world")
        # It has the keys half a second after it came.
        self.shows("you", "[a allow]")
        self.shows("you", "waits for approval")
        last = ""

        def is_still():
            nonlocal last
            before, last = last, self.tmux("capture-pane", "-e", "-p", "-t", "you")
            time.sleep(0.5)
            return AGE.sub("", before) == AGE.sub("", last)

        self.until(is_still, "a screen that changes no more")
        assert len(str(self.folder)) == len(FOLDER), self.folder
        return last.replace(str(self.folder), FOLDER)

    def end(self):
        """Ends the terminals and the service."""
        self.tmux("kill-server")
        self.service.terminate()
        self.service.wait(30)


def main():
    """Draws the picture, and writes or compares it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    binary = str(Path(os.environ.get("HARNESS_BIN", ROOT / "target/release/harness")).resolve())
    with tempfile.TemporaryDirectory(prefix="h", dir="/tmp") as above:
        scene = Scene(Path(above), binary)
        try:
            picture = drawn(scene.screen())
        finally:
            scene.end()
    if not given.check:
        PICTURE.write_text(picture)
        print(f"picture: wrote {PICTURE.relative_to(ROOT)}, {len(picture)} bytes")
    elif text_of(picture) != text_of(PICTURE.read_text()):
        print(f"picture: {PICTURE.relative_to(ROOT)} shows another text than the program; run tests/picture.py. Now:\n"
              f"{text_of(picture)}", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
