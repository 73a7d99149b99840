"""What scripts that start the service need: the process, its routes, and its journals as they lie
on the disk, read here without any of the service's own code.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

# Longer than anything takes here that is not broken.
LIMIT = 20.0
DEFAULT = "default"


class Failure(Exception):
    """The service did something that it must not do."""


class NoAnswer(Exception):
    """The connection ended before the answer."""


def wait_until(what, condition, limit=LIMIT):
    """Gives the first true value of a condition."""
    deadline = time.monotonic() + limit
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise Failure(f"waited {limit:.0f} s in vain: {what}")
        time.sleep(0.01)


@dataclass
class Answer:
    """An answer of the service."""

    status: int
    content_type: str
    body: object


class Service:
    """The service on one state folder, of the demo if no other model is named; it can die and start
    again on the same port."""

    def __init__(self, folder, *flags, model=("--demo",)):
        self.folder = Path(folder)
        self.home = self.folder / "home"
        self.flags = [*model, *flags]
        # Besides what every service gets.
        self.environment = {}
        self.port = 0
        self.process = None
        (self.folder / "workspace" / "src").mkdir(parents=True, exist_ok=True)
        (self.folder / "workspace" / "src" / "main.rs").write_text("fn main() {}\n")
        self.log = self.folder / "service.log"

    def start(self):
        """Starts it, and waits until it listens."""
        output = self.folder / "service.out"
        environment = {"PATH": os.environ["PATH"], "HARNESS_HOME": str(self.home),
                       "HARNESS_REQUIRE_TOKEN": "false", **self.environment}
        workspace = str(self.folder / "workspace")
        command = [os.environ["HARNESS_BIN"], "serve", "--port", str(self.port)]
        with open(output, "wb") as out, open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*command, "--workspace", workspace, *self.flags],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
            )

        def announced():
            if self.process.poll() is not None:
                raise Failure(f"the service did not start:\n{self.last_log()}")
            return re.search(rb"listens on http://127\.0\.0\.1:(\d+)", output.read_bytes())

        self.port = int(wait_until("the service listens", announced)[1])

    def is_alive(self):
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """Ends it with SIGKILL."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def last_log(self):
        """The end of its log."""
        return self.log.read_text(errors="replace")[-3000:]

    def call(self, method, path, body=None, limit=LIMIT, headers=None):
        """One request on a connection of its own."""
        headers = {"content-type": "application/json", **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()
        kind = answer.getheader("content-type") or ""
        return Answer(answer.status, kind, json.loads(content) if content else None)

    def expect(self, status, method, path, body=None):
        """One request that must be answered like that."""
        answer = self.call(method, path, body)
        if answer.status != status:
            raise Failure(f"{method} {path}: {answer.status} instead of {status}: {answer.body}")
        return answer.body

    def order(self, method, path, body):
        """One order of an operator, with the token, which must be taken."""
        answer = self.call(method, path, body, headers=self.token())
        if answer.status != 200:
            raise Failure(f"{method} {path}: {answer.status}: {answer.body}")
        return answer.body

    def token(self):
        """The header that shows the token."""
        token = (self.home / "token").read_text().strip()
        return {"authorization": f"Bearer {token}"}

    def create(self):
        """Makes a conversation."""
        return self.expect(201, "POST", "/v1/conversations", {})["id"]

    def prompt(self, conversation, content, key):
        """Sends a prompt; gives the whole answer."""
        path = f"/v1/conversations/{conversation}/prompt"
        return self.call("POST", path, {"content": content, "key": key})

    def accepted(self, conversation, content, key):
        """Sends a prompt that must be taken, and gives its run."""
        answer = self.prompt(conversation, content, key)
        if answer.status != 200:
            raise Failure(f"the prompt {key} was refused: {answer.status} {answer.body}")
        return answer.body["run_id"]

    def snapshot(self, conversation):
        """The conversation as it is now."""
        return self.expect(200, "GET", f"/v1/conversations/{conversation}?tail=1")

    def wait_for_end(self, conversation):
        """Waits until no run is going."""

        def is_over():
            return self.snapshot(conversation)["summary"]["state"] != "running"

        wait_until(f"the run of {conversation} ends", is_over)

    def history(self, conversation):
        """All events of the past, by pages."""
        events, after = [], 0
        while after is not None:
            path = f"/v1/conversations/{conversation}/history?after={after}&limit=1000"
            page = self.expect(200, "GET", path)
            events += page["events"]
            after = page.get("after")
        return events

    def file(self, conversation):
        """Where its journal is."""
        return self.home / "conversations" / f"{conversation}.jsonl"

    def journal(self, conversation):
        """Its journal as it lies on the disk."""
        return Journal.read(self.file(conversation))


# The type of a journal's record, and of its block, as the type of the event that shows it.
RECORDS = {"prompt": "user", "tool_result": "tool_result", "status": "status"}
BLOCKS = {"text": "text", "tool_use": "tool_call", "thinking": "reasoning"}


@dataclass
class Line:
    """One record."""

    seq: int
    id: str
    record: dict

    def plain_type(self):
        """Its type among the six of `GET /events`; none if it is not shown there."""
        if self.record["type"] == "block":
            return BLOCKS.get(self.record["data"]["block"]["type"])
        return RECORDS.get(self.record["type"])


@dataclass
class Journal:
    """The lines of a journal whose checksums are right and whose numbers have no hole."""

    path: Path
    lines: list = field(default_factory=list)
    # What stands behind the last whole line.
    torn: bytes = b""

    @classmethod
    def read(cls, path):
        """Reads and checks a journal."""
        *lines, torn = Path(path).read_bytes().split(b"\n")
        journal = cls(path, torn=torn)
        if not lines:
            raise Failure(f"{path} has no header: {torn[:200]}")
        header, _ = journal.checked(lines[0], 0)
        epoch = header["epoch"]
        for number, line in enumerate(lines[1:], start=1):
            record, sum_ = journal.checked(line, zlib.crc32(epoch.encode()))
            if record["seq"] != number:
                raise Failure(f"{path}: record {record['seq']} stands in place {number}")
            journal.lines.append(Line(number, f"{epoch}-{number}-{sum_}", record))
        return journal

    def checked(self, line, seed):
        """A line's object and its checksum, which must be right."""
        body, _, end = line.rpartition(b',"crc":"')
        sum_ = f"{zlib.crc32(body, seed):08x}"
        if end != f'{sum_}"}}'.encode():
            raise Failure(f"{self.path}: the checksum is not {sum_}: {line[:200]}")
        return json.loads(line), sum_

    def prompts(self, key):
        """The prompts with that key."""
        prompts = (line.record["data"] for line in self.lines if line.record["type"] == "prompt")
        return [prompt for prompt in prompts if prompt.get("key") == key]
