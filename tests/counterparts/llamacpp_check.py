"""Checks the service against llama.cpp's own HTTP server: past its window, with a picture, and
without tools, the conversation goes on each time. No key is set, since the server asks for none.

Needs `HARNESS_BIN`, the path of the binary, and `xllamacpp` and `gguf` beside the Python that runs this.
"""

import base64
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from harness import DEFAULT, Failure, Service, wait_until  # noqa: E402

# In tokens; the tiny model has one for each byte.
WINDOW = 32768
REPLY = 200
PROMPT = 3000
# More than the window is said, prompts and replies together.
PROMPTS = 3 * WINDOW // (2 * (PROMPT + REPLY))
RUN_LIMIT = 60.0


@contextmanager
def llamacpp(folder):
    """The server on a model that is made for it; gives its address."""
    model, log = folder / "tiny.gguf", folder / "llama.log"
    subprocess.run([sys.executable, HERE / "tiny_model.py", model], check=True, stdout=subprocess.DEVNULL)
    command = [sys.executable, HERE / "llamacpp_server.py", model, str(WINDOW), str(REPLY)]
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)

    def announced():
        if process.poll() is not None:
            raise Failure(f"llama.cpp's server did not start:\n{log.read_text(errors='replace')[-2000:]}")
        return re.search(rb"^listens on (http://\S+)", log.read_bytes(), re.MULTILINE)

    try:
        yield wait_until("llama.cpp's server listens", announced)[1].decode()
    finally:
        process.kill()
        process.wait()


@contextmanager
def service(folder, address, *flags):
    """The service with that server as its API."""
    running = Service(folder, *flags, model=("--model", "tiny"))
    running.environment["ANTHROPIC_BASE_URL"] = address
    running.start()
    try:
        yield running
    finally:
        running.kill()


def of_type(running, kind):
    """The events of one type."""
    events = (entry["event"] for entry in running.history(DEFAULT))
    return [event for event in events if event["type"] == kind]


def ended(running, count):
    """How the run with that number ended, once it has."""

    def last():
        ends = of_type(running, "run_ended")
        return len(ends) >= count and ends[count - 1]

    return wait_until(f"run {count} ends", last, RUN_LIMIT)


def run(running, number, body):
    """Sends a prompt and waits for its end, which must be a reply."""
    path = f"/v1/conversations/{DEFAULT}/prompt"
    running.expect(200, "POST", path, body)
    end = ended(running, number)
    if end["outcome"] != "completed":
        raise Failure(f"run {number}: {end}\n{running.last_log()}")


def picture():
    """A PNG of one pixel."""

    def part(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", pixel) + part(b"IEND", b"")


def past_the_window(folder, address):
    """More than the window is said; each prompt is answered, and the past was shortened on the way."""
    with service(folder, address) as running:
        for number in range(1, PROMPTS + 1):
            text = f"{number} " + "lorem ipsum " * (PROMPT // 12)
            run(running, number, {"content": text})
        run(running, PROMPTS + 1, {"content": "small"})
        compactions = len(of_type(running, "compacted"))
        if compactions == 0:
            raise Failure("nothing was summarized")
        return f"{PROMPTS + 1} prompts, {compactions} compactions"


def with_a_picture(folder, address):
    """A picture that the server cannot see costs neither its own prompt nor the later ones."""
    with service(folder, address) as running:
        data = base64.b64encode(picture()).decode()
        file = {"name": "dot.png", "media_type": "image/png", "data": data}
        run(running, 1, {"content": "What is this?", "attachments": [file]})
        for number in (2, 3):
            run(running, number, {"content": "And now?"})
        return "3 prompts"


def without_tools(folder, address):
    """Tools are switched off."""
    with service(folder, address) as running:
        path = f"/v1/conversations/{DEFAULT}/settings"
        running.expect(200, "PATCH", path, {"settings": {"active_tools": ["none"]}})
        for number in (1, 2):
            run(running, number, {"content": "Hello"})
        return "2 prompts"


def main():
    """Runs each case on a state folder of its own."""
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        with llamacpp(work) as address:
            for case in (past_the_window, with_a_picture, without_tools):
                name = case.__name__.replace("_", " ")
                folder = work / case.__name__
                folder.mkdir()
                try:
                    print(f"ok    llama.cpp: {name} ({case(folder, address)})", flush=True)
                except Failure as failure:
                    failures += 1
                    print(f"FAIL  llama.cpp: {name}: {failure}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
