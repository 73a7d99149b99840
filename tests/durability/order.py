"""In which order the service writes, flushes and answers, as strace sees it.

Spec: [JRNL-80] [JRNL-81] [JRNL-82]
"""

import http.client
import re
import threading

from harness import DEFAULT, Failure, Service, wait_until
from tracer import parse, traced

CALLS = "write,writev,pwrite64,pwritev,fdatasync,fsync,sendto,sendmsg,/^rename,/^link"
SYNCS = ("fdatasync", "fsync")
SENDS = ("sendto", "sendmsg", "write", "writev")
ID = re.compile(r"id: [0-9a-f]{16}-(\d+)-[0-9a-f]{8}\\n")
RECORD = re.compile(r'\{\\"seq\\":(\d+),\\"at\\":')


class Watcher(threading.Thread):
    """A client that reads a stream until a record's event has come."""

    def __init__(self, service, path):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
        self.connection.request("GET", path)
        self.stream = self.connection.getresponse()
        self.text = b""
        self.start()

    def run(self):
        try:
            while part := self.stream.read1(65536):
                self.text += part
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            # It was closed.
            return

    def saw(self, seq):
        """Whether the event of that record has come."""
        return re.search(rb"id: [0-9a-f]{16}-%d-" % seq, self.text)


def first(calls, what, condition):
    """The first call that is as wanted."""
    for call in calls:
        if condition(call):
            return call
    raise Failure(f"order: there is no {what}")


def on(path):
    """Whether a call is on that file."""
    return lambda call: f"<{path}>" in call.text.split(",")[0].split(")")[0]


def answer_after(calls, service, place, status, marker):
    """The first bytes of an answer behind that place."""

    def is_it(call):
        is_ours = f"TCP:[127.0.0.1:{service.port}->" in call.text.split(",")[0]
        says = f'"HTTP/1.1 {status}' in call.text and marker in call.text
        return call.name in SENDS and is_ours and says and call.start > place

    return first(calls, f"answer {status}", is_it)


def in_order(what, *calls):
    """Each call begins when the one before has ended."""
    for before, after in zip(calls, calls[1:]):
        if not 0 <= before.end < after.start:
            raise Failure(f"order: {what}: {after.name} began before {before.name} had ended")
        if not before.is_done():
            raise Failure(f"order: {what}: {before.name} failed with {before.result}")


def new_file(calls, service, path, status, marker):
    """write, flush, rename, flush of the folder, and only then the answer."""
    renamed = first(
        calls,
        f"rename to {path.name}",
        lambda call: call.name.startswith("rename") and f'"{path}"' in call.text,
    )
    unfinished = re.search(r'"([^"]+\.tmp)"', renamed.text)[1]
    its = [call for call in calls if on(unfinished)(call) and call.start < renamed.start]
    written = [call for call in its if call.name in ("write", "pwrite64", "writev")]
    flushed = first(reversed(its), "flush of the new file", lambda call: call.name in SYNCS)
    is_folder = on(path.parent)
    folder = first(
        calls,
        "flush of the folder",
        lambda call: call.name == "fsync" and is_folder(call) and call.start > renamed.end,
    )
    answer = answer_after(calls, service, folder.start, status, marker)
    early = [call for call in calls if call.start < folder.end and f'"HTTP/1.1 {status}' in call.text]
    if any(marker in call.text for call in early):
        raise Failure(f"order: {path.name}: the answer {status} came before the file was durable")
    in_order(path.name, written[-1], flushed, renamed, folder, answer)
    return renamed


def prompt_on(calls, service, path, key, marker):
    """write, flush, and only then the answer."""
    is_its = on(path)
    written = first(
        calls,
        f"write of {key}",
        lambda call: call.name == "write" and is_its(call) and f'\\"key\\":\\"{key}\\"' in call.text,
    )
    flushed = first(
        calls,
        f"flush behind {key}",
        lambda call: call.name == "fdatasync" and is_its(call) and call.start > written.start,
    )
    answer = answer_after(calls, service, written.start, 200, marker)
    in_order(key, written, flushed, answer)


def events(calls, service, paths):
    """Every event that was sent is of a record that had been written. Gives how many were."""
    written = {}
    for path in paths:
        is_its = on(path)
        for call in calls:
            if call.name == "write" and (is_its(call) or f"/.{path.stem}." in call.text[:300]):
                for seq in RECORD.findall(call.text):
                    written.setdefault(seq, []).append(call)
    sent = 0
    for call in calls:
        if call.name in SENDS and f"TCP:[127.0.0.1:{service.port}->" in call.text.split(",")[0]:
            for seq in ID.findall(call.text):
                if seq == "0":
                    continue
                if not any(0 <= write.end < call.start for write in written.get(seq, [])):
                    raise Failure(f"order: the event of record {seq} was sent before it was written")
                sent += 1
    return sent


def check(folder):
    """Traces the first prompts of conversations."""
    service = Service(folder)
    service.start()
    log = folder / "order.trace"
    try:
        with traced(service, log, "-e", f"trace={CALLS}"):
            made = service.create()
            watcher = Watcher(service, f"/v1/conversations/{made}/events")
            for key in ("first", "second"):
                service.accepted(made, "list src", key)
                service.wait_for_end(made)
            end = len(service.journal(made).lines)
            wait_until("the last event arrives", lambda: watcher.saw(end))
        with traced(service, folder / "default.trace", "-e", f"trace={CALLS}"):
            service.accepted(DEFAULT, "list src", "default")
            service.wait_for_end(DEFAULT)
        calls = parse(log)
        new_file(calls, service, service.file(made), 201, made)
        prompt_on(calls, service, service.file(made), "first", '{\\"run_id\\":1}')
        prompt_on(calls, service, service.file(made), "second", '{\\"run_id\\":2}')
        sent = events(calls, service, [service.file(made)])
        if sent < end:
            raise Failure(f"order: only {sent} events of {end} records were traced")
        calls = parse(folder / "default.trace")
        new_file(calls, service, service.file(DEFAULT), 200, '{\\"run_id\\":1}')
    finally:
        service.kill()
    print(
        "order: new file write < flush < rename < folder flush < answer (2 of 2), "
        f"prompt write < flush < answer (2 of 2), {sent} events sent behind their writes",
        flush=True,
    )
