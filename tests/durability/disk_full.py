"""Fills a real file system under the service: a small tmpfs, in a mount namespace of its own.

Spec: [JRNL-88]
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from harness import Failure
from injected import Bench, refused

SIZE = 512 * 1024
# More than the rest of the last page that the journal has already.
TEXT = "list src\n" + 20_000 * "x"


def fill(folder):
    """Takes all the room that is left, and gives the file that took it."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != 28:
                raise
    return filler


def exercise(folder):
    """The service on a file system that has no room left, and then has."""
    bench = Bench(folder)
    service = bench.service
    # The log is not what this is about.
    service.log = Path(os.devnull)
    service.start()
    try:
        made, other = bench.conversation(), bench.conversation()
        filler = fill(folder)
        before = service.file(made).read_bytes()
        size = sum(path.stat().st_size for path in (service.home / "conversations").iterdir())
        keys = [bench.key() for _ in range(3)]
        for key in keys:
            refused("a prompt on a full disk", service.prompt(made, TEXT, key), 507)
            bench.is_as_before(made, before)
        refused("a conversation on a full disk", service.call("POST", "/v1/conversations", {}), 507)
        now = sum(path.stat().st_size for path in (service.home / "conversations").iterdir())
        if now != size:
            raise Failure(f"refusals on a full disk took {now - size} bytes")
        ids = [line.id for line in service.journal(made).lines]
        if [event["id"] for event in service.history(made)] != ids:
            raise Failure("the history on a full disk is not the journal")
        if service.snapshot(made)["summary"]["records"] != len(ids):
            raise Failure("the conversation on a full disk is not as the journal")
        stream = followed(service, made, len(ids))
        if stream != ids:
            raise Failure(f"the event stream on a full disk has {len(stream)} of {len(ids)} events")
        filler.unlink()
        for key in keys:
            run = service.accepted(made, TEXT, key)
            service.wait_for_end(made)
            if [prompt["run"] for prompt in service.journal(made).prompts(key)] != [run]:
                raise Failure(f"{key} is not in the journal once")
        bench.works(other)
        bench.works(service.create())
        service.kill()
        service.start()
        bench.works(made)
    finally:
        service.kill()
    print(
        f"disk full: 3 prompts and a conversation refused with 507, {len(before)} bytes kept as "
        "they were and readable; with room again the same prompts were taken by the same process",
        flush=True,
    )


def followed(service, conversation, count):
    """The ids of that many events of a stream from the beginning on."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    connection.request("GET", f"/v1/conversations/{conversation}/events?after=0")
    stream, ids = connection.getresponse(), []
    # The first id is where the stream begins.
    while len(ids) <= count:
        line = stream.readline()
        if line.startswith(b"id: "):
            ids.append(line[4:].decode().strip())
    connection.close()
    return ids[1:]


def check(folder):
    """Runs this file where it may mount."""
    here = [sys.executable, str(Path(__file__).resolve()), str(folder)]
    for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
        if subprocess.run([*unshare, "true"], capture_output=True).returncode == 0:
            if subprocess.run([*unshare, *here]).returncode:
                raise Failure("see above")
            return
    raise Failure("no file system can be mounted: it needs root or user namespaces (unshare -rm)")


def main():
    """Mounts a small file system, and goes on there."""
    folder = Path(sys.argv[1]) / "small"
    folder.mkdir()
    options = f"size={SIZE},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)
    exercise(folder)


if __name__ == "__main__":
    main()
