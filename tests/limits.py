#!/usr/bin/env python3
"""What one client can take of the service, measured from outside: HARNESS_BIN is the program, built
with `cargo build --release`. Each limit is a function of its own and gets a service of its own;
`limits.py NAME…` runs some of them, and `limits.py --full` all of them, with all clients and conversations that a
bound names; without it there are fewer, and the bounds are the same. Bounded, on loopback only; the
numbers are printed. Bounds on time and memory are ratios to a baseline of the same run
(`support/bounds.py`).

Spec: [SEC-18] [HTTP-84] [HTTP-85]
"""

import base64
import ctypes
import http.client
import json
import os
import resource
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from bounds import Bare, Beside, hold, twice  # noqa: E402
from harness import Failure, NoAnswer, Service, wait_until  # noqa: E402

MIB = 1024 * 1024
# A network of its own, for unshare(2).
CLONE_NEWNET = 0x40000000
# The exit code when a limit cannot be tried on this machine.
UNAVAILABLE = 77
# What all clients together may leave unread of event streams and of other answers, and what the service
# holds of the bodies that they send, in MiB.
STREAM_BYTES, ANSWER_BYTES, BODY_BYTES = 32, 64, 56
# What a client keeps of an event stream to find an id in it that comes in two parts, in bytes.
END = 200


def few(all_of_them, some):
    """All of them with `--full`, else some."""
    return all_of_them if "--full" in sys.argv else some


class Unavailable(Exception):
    """The machine does not have what a limit needs."""


def check(what, counted, most):
    """Prints a count and holds it to its limit."""
    print(f"  {what}: {counted} (at most {most})", flush=True)
    if counted > most:
        raise Failure(f"{what}: {counted} is more than {most}")


def took(work):
    """The seconds that something takes, and its result."""
    begun = time.monotonic()
    result = work()
    return time.monotonic() - begun, result


def resident(service):
    """The service's memory in MiB."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def open_journals(service):
    """How many journals it has open."""
    links = []
    for link in Path(f"/proc/{service.process.pid}/fd").iterdir():
        try:
            links.append(os.readlink(link))
        except FileNotFoundError:
            pass
    return sum("/conversations/" in link for link in links)


def stored(service, folder):
    """How many bytes lie in a folder of the state folder."""
    files = (service.home / folder).rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


class Client:
    """A connection that is used again."""

    def __init__(self, service):
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)

    def call(self, method, path, body=None):
        """The status of an answer, and the answer."""
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, {"content-type": "application/json"})
        answer = self.connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None


def stall(service, path):
    """A client that asks for something and reads nothing of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", service.port))
    client.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{service.port}\r\n\r\n".encode())
    return client


def prompts(service, folder):
    """A client that prompts the default conversation, beside a bare server that syncs a line."""
    return Beside(folder, service.port, "POST", "/prompt", {"content": "hi"}, pause=0.05,
                  accepted=(200, 409))


def started_again(service):
    """The seconds of a start; the middle one of three, each after a kill."""
    times = []
    for _ in range(3):
        service.kill()
        times.append(took(service.start)[0])
    return statistics.median(times)


def read_bare(folder):
    """Reads the first and the last line of each journal as JSON, and nothing else."""
    for file in folder.glob("*.jsonl"):
        lines = file.read_bytes().splitlines()
        for line in (lines[0], lines[-1]):
            json.loads(line)


def look_bare(folder):
    """Looks at the size and the age of each journal, and nothing else."""
    return sorted((file.stat().st_mtime, file.stat().st_size) for file in os.scandir(folder))


def made_conversations(folder):
    """10,000 conversations, made in a row by one client."""
    count = few(10_000, 2_000)
    service, empty = Service(folder), Service(Path(folder) / "empty")
    service.start()
    beside = None
    try:
        before = resident(service)
        beside = prompts(service, folder)
        client = Client(service)
        begun, longest, names = time.monotonic(), 0.0, []
        for number in range(count):
            seconds, (status, made) = took(
                lambda: client.call("POST", "/v1/conversations", {"title": f"t{number}"}))
            longest = max(longest, seconds)
            if status != 201:
                raise Failure(f"conversation {number} was refused: {made}")
            names.append(made["id"])
        print(f"  {count} made in {time.monotonic() - begun:.1f} s", flush=True)
        check("journals open", open_journals(service), 513)
        grown = resident(service)
        for name in names[:2000]:
            status, answer = client.call("GET", f"/v1/conversations/{name}?tail=1")
            if status != 200:
                raise Failure(f"{name} cannot be read: {answer}")
        check("journals open after 2000 were read", open_journals(service), 513 + 8)
        beside.hold("longest prompt to the default conversation", 10)
        hold("longest answer to a new conversation", 1000 * longest, 1000 * beside.baseline(), 10, "ms")
        hold("memory with conversations that no client uses", grown, before, 3, "MiB")
        empty.start()
        start = started_again(empty)
        hold(f"a start with {count} conversations", 1000 * started_again(service), 1000 * start, 5, "ms")
        journals = service.home / "conversations"
        bare, _ = took(lambda: read_bare(journals))
        seconds, listed = took(lambda: service.expect(200, "GET", "/v1/conversations"))
        print(f"  a page of the list has {len(listed['conversations'])}", flush=True)
        hold("the first page of the list", 1000 * seconds, 1000 * bare, 2, "ms")
        bare, _ = took(lambda: look_bare(journals))
        seconds, _ = took(lambda: service.expect(200, "GET", "/v1/conversations"))
        hold("the same page again", 1000 * seconds, 1000 * bare, 10, "ms")
    finally:
        if beside:
            beside.close()
        service.kill()
        empty.kill()


def processor_time(server):
    """The seconds that a server has computed so far."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def few_open_files(folder):
    """A service that may open 64 files, and 200 clients: it waits without computing, and goes on
    when they have left."""
    service = Service(folder)
    service.start()
    clients = []
    try:
        conversation = service.create()
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (64, 64))
        clients = [stall(service, "/events") for _ in range(200)]
        time.sleep(1)
        before = processor_time(service)
        span, _ = took(lambda: time.sleep(5))
        # A loop that does not wait takes all of it.
        hold("computed without open files", processor_time(service) - before, span, 0.1, "s")
        for client in clients:
            client.close()
        clients = []

        def answers():
            try:
                return service.call("GET", "/healthz", limit=2).status == 200
            except NoAnswer:
                return False

        # The server rests for half a second when it may open no file.
        seconds, _ = took(lambda: wait_until("the service answers again", answers))
        print(f"  until it answers again: {seconds:.2f} s", flush=True)
        service.accepted(conversation, "hi", "k")
        service.wait_for_end(conversation)
    finally:
        for client in clients:
            client.close()
        service.kill()


def read_by_all(port, path, count, last):
    """The seconds until so many new clients have all read a stream up to its last bytes."""
    request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
    begun = time.monotonic()
    clients = [connection(port, request) for _ in range(count)]
    try:
        print(f"  attached in {time.monotonic() - begun:.1f} s", flush=True)
        check("clients that were refused", clients.count(None), 0)
        chooser, ends = selectors.DefaultSelector(), {}
        for client in clients:
            chooser.register(client, selectors.EVENT_READ)
            ends[client] = b""
        while ends and time.monotonic() - begun < 60:
            for key, _ in chooser.select(1):
                part = key.fileobj.recv(1 << 18)
                ends[key.fileobj] = ends[key.fileobj][-END:] + part
                if last in ends[key.fileobj]:
                    chooser.unregister(key.fileobj)
                    del ends[key.fileobj]
                elif not part:
                    raise Failure("the service let a client go")
        check("clients that lack something", len(ends), 0)
        return time.monotonic() - begun
    finally:
        for client in clients:
            if client:
                client.close()


def keep_stream(service, path, last, file):
    """Writes a stream up to its last bytes to a file."""
    request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{service.port}\r\n\r\n".encode()
    client = connection(service.port, request)
    client.setblocking(True)
    text, part = b"", b""
    while last not in text[-len(part) - END:]:
        if not (part := client.recv(1 << 18)):
            raise Failure("the stream ended early")
        text += part
    client.close()
    file.write_bytes(text)


def clients_that_come_back(folder):
    """1,000 clients that attach within a second of a restart and lack 1,000 events each."""
    count = few(1000, 300)
    service, bare = Service(folder), Bare(folder)
    service.start()
    try:
        conversation = service.create()
        client = Client(service)
        for number in range(1000):
            settings = {"settings": {"system_prompt": f"{number}"}}
            path = f"/v1/conversations/{conversation}/settings"
            status, answer = client.call("PATCH", path, settings)
            if status != 200:
                raise Failure(f"{status}: {answer}")
        # What a client must have read when it lacks nothing.
        last = b"id: " + service.journal(conversation).lines[-1].id.encode()
        path = f"/v1/conversations/{conversation}/events?after=0"
        file = Path(folder) / "stream"
        keep_stream(service, path, last, file)
        service.kill()
        service.start()
        seconds = read_by_all(service.port, path, count, last)
        baseline = read_by_all(bare.port, f"/file{file}", count, last)
        hold("until all lack nothing", seconds, baseline, 60, "s")
    finally:
        bare.close()
        service.kill()


def idle_clients(folder):
    """5,000 clients of event streams on which nothing happens but heartbeats."""
    count, heartbeat = few((5000, 15), (2000, 5))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16_000), most))
    service = Service(folder, "--max-subscribers", f"{count}", "--heartbeat", f"{heartbeat}s")
    service.start()
    bare, clients = Bare(folder), []
    try:
        before = resident(service)
        request = f"GET /events HTTP/1.1\r\nhost: 127.0.0.1:{service.port}\r\n\r\n".encode()
        clients = [connection(service.port, request) for _ in range(count)]
        wait_until("all are attached", lambda: attached(service) == count, 60)
        time.sleep(2)
        grown = (resident(service) - before) / count
        hold("memory of 1,000 idle clients, beside that of the service", 1000 * grown, before, 2.5, "MiB")
        # The bare server sends as much to as many clients, meanwhile.
        request = f"GET /paced/9/{heartbeat} HTTP/1.1\r\n\r\n".encode()
        clients += [connection(bare.port, request) for _ in range(count)]
        time.sleep(heartbeat / 2)
        computed = [processor_time(server) for server in (service, bare)]
        time.sleep(2 * heartbeat)
        now = [processor_time(server) for server in (service, bare)]
        seconds, baseline = (after - before for before, after in zip(computed, now))
        hold("computed for two heartbeats of all", seconds, baseline, 5, "s")
    finally:
        for client in clients:
            if client:
                client.close()
        bare.close()
        service.kill()


def established(service):
    """How many connections of clients the kernel holds for the service."""
    table = Path(f"/proc/{service.process.pid}/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in table]
    return sum(row[1].endswith(f":{service.port:04X}") and row[3] == "01" for row in fields)


def vanished_clients(folder):
    """20 clients of event streams whose network is gone without a word."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    if os.geteuid() != 0 or shutil.which("ip") is None or libc.unshare(CLONE_NEWNET) != 0:
        os.close(home)
        raise Unavailable("only root, with ip, can take a network away")
    service = Service(folder, "--heartbeat", "2s")
    clients = []
    try:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        service.start()
        request = f"GET /events HTTP/1.1\r\nhost: 127.0.0.1:{service.port}\r\n\r\n".encode()
        clients = [connection(service.port, request) for _ in range(20)]
        wait_until("all are attached", lambda: attached(service) == len(clients))
        subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        # A heartbeat is sent within 2 s, and the kernel gives up 20 s after it.
        seconds, _ = took(
            lambda: wait_until("the service lets them go", lambda: established(service) == 0, 60))
        print(f"  until clients without a network are let go: {seconds:.1f} s", flush=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        check("clients that are still counted", attached(service), 0)
    finally:
        for client in clients:
            if client:
                client.close()
        service.kill()
        libc.setns(home, 0)
        os.close(home)


def calls(service, name):
    """The calls of tools that a conversation has on record."""
    events = (past["event"] for past in service.history(name))
    return [event for event in events if event["type"] == "tool_call"]


def until_cancelled(service, names):
    """The seconds until conversations whose tools hang are cancelled."""
    for name in names:
        service.accepted(name, "read hung/a", "k")
    for name in names:
        wait_until("the call is made", lambda it=name: calls(service, it))
    # The call is on record before it hangs.
    time.sleep(2)
    states = [service.snapshot(name)["summary"]["state"] for name in names]
    check("calls that do not hang", len(names) - states.count("running"), 0)
    path = "/v1/conversations/{}/cancel"

    def cancel(name):
        service.expect(200, "POST", path.format(name), {})
        service.wait_for_end(name)

    with ThreadPoolExecutor(len(names)) as pool:
        return took(lambda: list(pool.map(cancel, names)))[0]


def hung_file_system(folder):
    """32 calls of tools on a file system that never answers: everything else goes on, and their
    conversations are cancelled in time."""
    libc = ctypes.CDLL(None, use_errno=True)
    service = Service(folder)
    place = service.folder / "workspace" / "hung"
    place.mkdir()
    try:
        # The file system's other end, from which no request is read.
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise Unavailable("there is no /dev/fuse") from error
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"hung", bytes(place), b"fuse", 0, options) != 0:
        os.close(device)
        raise Unavailable("only root can mount a file system")
    beside = None
    try:
        service.start()
        before = resident(service)
        beside = prompts(service, folder)
        # The first one is cancelled alone: the tool has a grace of 2 s, which is the baseline.
        alone = until_cancelled(service, [service.create()])
        seconds = until_cancelled(service, [service.create() for _ in range(32)])
        beside.hold("longest prompt to the default conversation", 10)
        hold("until 32 are cancelled, beside one", seconds, alone, 3, "s")
        hold("memory with 32 calls that hang", resident(service), before, 4, "MiB")
    finally:
        if beside:
            beside.close()
        # The requests that wait fail when the device is closed.
        os.close(device)
        service.kill()
        libc.umount2(bytes(place), 2)


def long_past(service, megabytes):
    """A conversation of so many records of 1 MiB."""
    client = Client(service)
    _, made = client.call("POST", "/v1/conversations", {})
    name = made["id"]
    for number in range(megabytes):
        settings = {"settings": {"system_prompt": f"{number:03}" + "x" * (MIB - 100)}}
        status, answer = client.call("PATCH", f"/v1/conversations/{name}/settings", settings)
        if status != 200:
            raise Failure(f"{status}: {answer}")
    return name


def read_all(port, path, size):
    """Reads a stream up to so many bytes; the first byte and all of them, in seconds."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    stream = connection.getresponse()
    got, first = 0, None
    while got < size:
        part = stream.read1(256 * 1024)
        if not part:
            raise Failure(f"the stream ended after {got} bytes")
        got += len(part)
        if first is None and got > 64 * 1024:
            first = time.monotonic() - begun
    connection.close()
    return first, time.monotonic() - begun


def highest_memory_until_rest(service):
    """The most memory that the service has until it has done what was asked of it, in MiB."""
    highest, idle, computed = 0.0, 0, processor_time(service)
    deadline = time.monotonic() + 240
    while idle < 20:
        if time.monotonic() > deadline:
            raise Failure("the service does not come to rest")
        time.sleep(0.1)
        before, computed = computed, processor_time(service)
        idle = idle + 1 if computed - before < 0.03 else 0
        highest = max(highest, resident(service))
    return highest


def stalled_readers(folder):
    """300 clients that ask for a long past and read nothing, 100 that ask for pages of it, and one
    that reads."""
    size = few(100, 40)
    service, bare = Service(folder), Bare(folder)
    service.start()
    clients, beside = [], None
    try:
        name = long_past(service, size)
        path = f"/v1/conversations/{name}"
        ages = size - 10
        before = resident(service)
        print(f"  memory before: {before:.1f} MiB", flush=True)
        clients = [stall(service, f"{path}/events?after={number % ages}") for number in range(300)]
        highest = highest_memory_until_rest(service)
        hold("growth by 300 stalled readers, beside what all may leave unread", highest - before,
             STREAM_BYTES, 4, "MiB")
        beside = prompts(service, folder)
        first, whole = read_all(service.port, f"{path}/events?after=0", (size - 1) * MIB)
        file = service.home / "conversations" / f"{name}.jsonl"
        bare_first, bare_whole = read_all(bare.port, f"/file{file}", (size - 1) * MIB)
        hold("first event of a client that reads", 1000 * first, 1000 * bare_first, 30, "ms")
        hold(f"{size} MiB for a client that reads", whole, bare_whole, 60, "s")
        clients += [stall(service, f"{path}/history?limit=4&after={n % ages}") for n in range(100)]
        highest = max(highest, highest_memory_until_rest(service))
        hold("growth with 100 stalled pages of history, beside what all may leave unread",
             highest - before, STREAM_BYTES + ANSWER_BYTES, 4, "MiB")
        seconds, _ = took(lambda: service.expect(200, "GET", f"{path}/history?limit=1"))
        print(f"  a page of history beside them: {seconds:.2f} s", flush=True)
        beside.hold("longest prompt to the default conversation", 30)
    finally:
        if beside:
            beside.close()
        for client in clients:
            client.close()
        bare.close()
        service.kill()


def refused_attachments(folder):
    """Files that go with prompts which are refused leave nothing on the disk."""
    service = Service(folder)
    service.start()
    try:
        name = Client(service).call("POST", "/v1/conversations", {})[1]["id"]
        files = iter(range(10**6))

        def attached():
            content = base64.b64encode(f"{next(files)}:".encode() + b"x" * 700_000).decode()
            return {"content": "Look.", "attachments": [{"data": content}]}

        def send(status, path, body):
            answer = service.call("POST", path, body)
            if answer.status not in status:
                raise Failure(f"{path}: {answer.status} {answer.body}")
            return answer

        begun = stored(service, "attachments")
        for _ in range(12):
            send((404,), "/v1/conversations/nobody/prompt", attached())
            send((404,), "/v1/conversations/nobody/steer", attached())
            send((400,), f"/v1/conversations/{name}/prompt", attached() | {"content": " "})
            send((400,), f"/v1/conversations/{name}/follow-up", attached() | {"content": ""})
        send((200,), f"/v1/conversations/{name}/prompt", {"content": "hi", "key": "k"})
        for _ in range(12):
            send((422,), f"/v1/conversations/{name}/prompt", attached() | {"key": "k"})
        check("files of refused prompts, bytes", stored(service, "attachments") - begun, 0)
        # Two at once with the same file: one starts a run, the other is refused; the file stays.
        body = attached()
        answers = []
        both = [
            threading.Thread(
                target=lambda: answers.append(send((200, 409), "/prompt", body).status)
            )
            for _ in range(8)
        ]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        kept = stored(service, "attachments")
        size = len(base64.b64decode(body["attachments"][0]["data"]))
        print(f"  eight at once with one file: {sorted(answers)}, {kept} bytes kept", flush=True)
        if 200 not in answers or kept != size:
            raise Failure(f"{kept} bytes are kept of a file of {size}")
    finally:
        service.kill()


def full_state_folder(folder):
    """A state folder that may have 1 MB: what would make it larger is refused, and a run ends."""
    service = Service(folder, "--max-state-bytes", "1MB")
    service.start()
    try:
        client = Client(service)
        name = client.call("POST", "/v1/conversations", {})[1]["id"]
        settings = {"settings": {}}
        statuses = []
        while not statuses or statuses[-1] == 200 and len(statuses) < 100:
            settings["settings"]["system_prompt"] = f"{len(statuses)}" + "x" * 50_000
            status, answer = client.call("PATCH", f"/v1/conversations/{name}/settings", settings)
            statuses.append(status)
        print(f"  {len(statuses)} changes of settings, then {status}: {answer['detail']}")
        if status != 507 or "max_state_bytes allows 1000000" not in answer["detail"]:
            raise Failure(f"{status}: {answer}")
        body = {"content": "x" * 60_000}
        for path in ("/prompt", f"/v1/conversations/{name}/follow-up"):
            status, answer = client.call("POST", path, body)
            if status != 507:
                raise Failure(f"{path}: {status} {answer}")
        folders = ("conversations", "attachments", "trash")
        size = sum(stored(service, part) for part in folders)
        check("size of the state folder, bytes", size, 1_000_000)
    finally:
        service.kill()


# A user who is nobody, as the owner of connections that the service has to take for a stranger's.
STRANGER = 47111


def as_stranger(work):
    """Does something as another user: the kernel gives a socket to the user that its thread has for
    the file system. Only root can."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.setfsuid(STRANGER)
    try:
        return work()
    finally:
        libc.setfsuid(os.geteuid())


def connection(port, text=b""):
    """An open connection on which something was sent; `None` if it was refused."""
    client = socket.socket()
    client.settimeout(10)
    try:
        client.connect(("127.0.0.1", port))
        if text:
            client.sendall(text)
    except OSError:
        client.close()
        return None
    client.setblocking(False)
    return client


def everything_at_once(folder):
    """4,096 event streams, 300 of them stalled in a long past, 5,000 idle connections of a stranger,
    200 uploads at once and 10,000 conversations made, while the owner prompts; beside a bare server with as many
    streams and connections, which is asked meanwhile."""
    if os.geteuid() != 0:
        raise Unavailable("only root can be a stranger to its own service")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    service = Service(folder)
    service.start()
    beside, open_now = None, []
    try:
        long_past = service.create()
        for number in range(24):
            text = f"{number} " + "x" * MIB
            path = f"/v1/conversations/{long_past}/prompt"
            while service.call("POST", path, {"content": text}).status == 409:
                time.sleep(0.01)
            service.wait_for_end(long_past)
        # The prompts of the owner go on throughout.
        before = resident(service)
        beside = prompts(service, folder)
        highest = [0.0]

        def note(what):
            now = resident(service)
            highest[0] = max(highest[0], now)
            longest = 1000 * max(beside.times("service"))
            print(f"  {what}: {now:.0f} MiB, the owner waited {longest:.0f} ms at most", flush=True)

        note("at first")
        path = f"/v1/conversations/{long_past}/events?after=0"
        open_now += [stall(service, path) for _ in range(300)]
        note("300 stalled readers of 24 MiB")
        host = f"host: 127.0.0.1:{service.port}\r\n\r\n".encode()
        stream = b"GET /events HTTP/1.1\r\n" + host
        streams = [connection(service.port, stream) for _ in range(4096 - 300)]
        open_now += streams
        wait_until("all streams are attached", lambda: attached(service) >= 4096, 60)
        note("4,096 event streams")
        bare = beside.bare.port
        open_now += [connection(bare, b"GET /paced/100/15 HTTP/1.1\r\n\r\n") for _ in range(4096)]
        strangers = as_stranger(lambda: [connection(service.port) for _ in range(5000)])
        open_now += [client for client in strangers if client]
        note(f"5,000 idle connections of a stranger, {alive(strangers)} of them kept")
        open_now += [connection(bare) for _ in range(5000)]
        upload(service, 200, note)
        client, count = Client(service), few(10_000, 1_000)
        for number in range(count):
            status, made = client.call("POST", "/v1/conversations", {"title": f"t{number}"})
            if status != 201:
                raise Failure(f"conversation {number} was refused: {made}")
        note(f"{count:,} conversations made")
        beside.hold("the owner's longest wait", 5)
        held = STREAM_BYTES + ANSWER_BYTES + BODY_BYTES
        hold("growth, beside what all may leave unread or send", highest[0] - before, held, 3, "MiB")
    finally:
        if beside:
            beside.close()
        for client in open_now:
            if client:
                client.close()
        service.kill()


def attached(service):
    """How many event streams are open."""
    return service.expect(200, "GET", "/v1/service")["clients"]


def alive(clients):
    """How many of the connections the service has not closed."""
    count = 0
    for client in clients:
        try:
            if client is not None:
                client.recv(1)
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


def upload(service, count, note):
    """That many prompts with a file of 20 MiB each, all at once; most are told to come again."""
    data = base64.b64encode(os.urandom(20 * MIB)).decode()
    body = json.dumps({"content": "look", "attachments": [{"data": data}]}).encode()
    head = (f"POST /v1/conversations/default/prompt HTTP/1.1\r\nhost: 127.0.0.1:{service.port}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n").encode()
    statuses = []

    def one():
        client = socket.socket()
        client.settimeout(30)
        try:
            client.connect(("127.0.0.1", service.port))
            try:
                client.sendall(head + body)
            except OSError:
                pass
            statuses.append(int(client.recv(65536).split()[1]))
        except (OSError, IndexError, ValueError) as error:
            statuses.append(repr(error))
        finally:
            client.close()

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        note("uploads")
        time.sleep(0.5)
    kinds = {kind: statuses.count(kind) for kind in sorted(set(statuses), key=str)}
    print(f"  {count} uploads of {len(body) / MIB:.0f} MiB: {kinds}", flush=True)
    note(f"{count} uploads")


LIMITS = {
    limit.__name__: limit
    for limit in (
        made_conversations,
        few_open_files,
        clients_that_come_back,
        idle_clients,
        vanished_clients,
        hung_file_system,
        stalled_readers,
        refused_attachments,
        full_state_folder,
        everything_at_once,
    )
}


# Takes as long as the kernel needs to give a connection up, and only `--full` has the time.
SLOW = {vanished_clients.__name__}


def in_new_folder(limit):
    """Tries a limit with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="limits-") as folder:
        limit(folder)


def main():
    """Runs those that were asked for, or all."""
    failed, missing = [], []
    asked = [name for name in sys.argv[1:] if name != "--full"]
    for name in asked or few(LIMITS, [name for name in LIMITS if name not in SLOW]):
        print(name, flush=True)
        begun = time.monotonic()
        try:
            twice(lambda: in_new_folder(LIMITS[name]))
        except (Failure, NoAnswer) as failure:
            print(f"  FAILED: {failure}", flush=True)
            failed.append(name)
        except Unavailable as reason:
            print(f"  not available: {reason}", flush=True)
            missing.append(name)
        print(f"  {time.monotonic() - begun:.0f} s", flush=True)
    if missing and not failed:
        sys.exit(UNAVAILABLE)
    sys.exit(f"failed: {', '.join(failed)}" if failed else None)


if __name__ == "__main__":
    main()
