#!/usr/bin/env python3
"""What one client can take of the service, measured from outside: HARNESS_BIN is the program, built
with `cargo build --release`. Each limit is a function of its own and gets a service of its own;
`limits.py NAME…` runs some of them. Bounded, on loopback only; the numbers are printed.

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
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import Failure, NoAnswer, Service, wait_until  # noqa: E402

MIB = 1024 * 1024
# A network of its own, for unshare(2).
CLONE_NEWNET = 0x40000000
# The exit code when a limit cannot be tried on this machine.
UNAVAILABLE = 77


class Unavailable(Exception):
    """The machine does not have what a limit needs."""



def check(what, measured, most):
    """Prints a number and holds it to its limit."""
    print(f"  {what}: {measured:.2f} (at most {most})", flush=True)
    if measured > most:
        raise Failure(f"{what}: {measured:.2f} is more than {most}")


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


def prompt_default(service, until):
    """Prompts the default conversation until it is told to stop; gives the longest answer in
    seconds, and what was refused."""
    longest, refused = [0.0], []

    def prompt():
        while not until.is_set():
            begun = time.monotonic()
            try:
                answer = service.call("POST", "/prompt", {"content": "hi"})
                if answer.status not in (200, 409):
                    refused.append(answer.body)
            except NoAnswer as error:
                refused.append(str(error))
            longest[0] = max(longest[0], time.monotonic() - begun)
            until.wait(0.2)

    thread = threading.Thread(target=prompt)
    thread.start()
    return thread, longest, refused


def made_conversations(folder):
    """10,000 conversations, made in a row by one client."""
    service = Service(folder)
    service.start()
    try:
        before = resident(service)
        done = threading.Event()
        thread, default_longest, refused = prompt_default(service, done)
        client = Client(service)
        begun, longest, names = time.monotonic(), 0.0, []
        for number in range(10_000):
            asked = time.monotonic()
            status, made = client.call("POST", "/v1/conversations", {"title": f"t{number}"})
            longest = max(longest, time.monotonic() - asked)
            if status != 201:
                raise Failure(f"conversation {number} was refused: {made}")
            names.append(made["id"])
        print(f"  10000 made in {time.monotonic() - begun:.1f} s", flush=True)
        check("journals open", open_journals(service), 513)
        check("longest answer, s", longest, 1)
        check("memory of 10000 that nobody uses, MiB", resident(service) - before, 25)
        for name in names[:2000]:
            status, answer = client.call("GET", f"/v1/conversations/{name}?tail=1")
            if status != 200:
                raise Failure(f"{name} cannot be read: {answer}")
        check("journals open behind 2000 that were read", open_journals(service), 513 + 8)
        done.set()
        thread.join()
        check("longest prompt to the default conversation, s", default_longest[0], 1)
        check("prompts to the default conversation that were refused", len(refused), 0)
        service.kill()
        begun = time.monotonic()
        service.start()
        check("a start with 10000 conversations, s", time.monotonic() - begun, 0.3)
        begun = time.monotonic()
        listed = len(service.expect(200, "GET", "/v1/conversations")["conversations"])
        check(f"the first list of {listed}, s", time.monotonic() - begun, 5)
        begun = time.monotonic()
        service.expect(200, "GET", "/v1/conversations")
        check("the next list, s", time.monotonic() - begun, 0.5)
    finally:
        service.kill()


def processor_time(service):
    """The seconds that the service has computed so far."""
    fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(")")[2].split()
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
        time.sleep(5)
        check("computed without open files, s of 5", processor_time(service) - before, 0.25)
        for client in clients:
            client.close()
        clients = []

        def answers():
            try:
                return service.call("GET", "/healthz", limit=2).status == 200
            except NoAnswer:
                return False

        begun = time.monotonic()
        wait_until("the service answers again", answers)
        check("until it answers again, s", time.monotonic() - begun, 5)
        service.accepted(conversation, "hi", "k")
        service.wait_for_end(conversation)
    finally:
        for client in clients:
            client.close()
        service.kill()


def clients_that_come_back(folder):
    """1,000 clients that attach within a second of a restart and lack 1,000 events each."""
    service = Service(folder)
    service.start()
    clients = []
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
        last = service.journal(conversation).lines[-1].id.encode()
        service.kill()
        service.start()
        path = f"/v1/conversations/{conversation}/events?after=0"
        request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{service.port}\r\n\r\n".encode()
        begun = time.monotonic()
        clients = [connection(service, request) for _ in range(1000)]
        print(f"  attached in {time.monotonic() - begun:.1f} s", flush=True)
        late = [client for client in clients if client]
        check("clients that were refused", len(clients) - len(late), 0)
        chooser, ends = selectors.DefaultSelector(), {}
        for client in late:
            chooser.register(client, selectors.EVENT_READ)
            ends[client] = b""
        while ends and time.monotonic() - begun < 30:
            for key, _ in chooser.select(1):
                part = key.fileobj.recv(1 << 18)
                # The last id may come in two parts.
                ends[key.fileobj] = ends[key.fileobj][-200:] + part
                if b"id: " + last in ends[key.fileobj]:
                    chooser.unregister(key.fileobj)
                    del ends[key.fileobj]
                elif not part:
                    raise Failure("the service let a client go")
        check("until all lack nothing, s", time.monotonic() - begun, 10)
        check("clients that lack something", len(ends), 0)
    finally:
        for client in clients:
            if client:
                client.close()
        service.kill()


def idle_clients(folder):
    """5,000 clients of event streams on which nothing happens but heartbeats."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16_000), most))
    service = Service(folder, "--max-subscribers", "5000", "--heartbeat", "15s")
    service.start()
    clients = []
    try:
        before = resident(service)
        request = f"GET /events HTTP/1.1\r\nhost: 127.0.0.1:{service.port}\r\n\r\n".encode()
        clients = [connection(service, request) for _ in range(5000)]
        wait_until("all are attached", lambda: attached(service) == 5000, 60)
        time.sleep(2)
        grown = (resident(service) - before) * 1024 / 5000
        check("memory of an idle client, KiB", grown, 20)
        computed = processor_time(service)
        time.sleep(16)
        share = (processor_time(service) - computed) / 16 * 100
        check("computed for 5000 idle clients, % of a processor", share, 5)
    finally:
        for client in clients:
            if client:
                client.close()
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
        clients = [connection(service, request) for _ in range(20)]
        wait_until("all are attached", lambda: attached(service) == len(clients))
        subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        begun = time.monotonic()
        wait_until("the service lets them go", lambda: established(service) == 0, 90)
        check("until clients without a network are let go, s", time.monotonic() - begun, 60)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        check("clients that are still counted", attached(service), 0)
    finally:
        for client in clients:
            if client:
                client.close()
        service.kill()
        libc.setns(home, 0)
        os.close(home)


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
    done = threading.Event()
    try:
        service.start()
        before = resident(service)
        thread, longest, refused = prompt_default(service, done)
        names = [service.create() for _ in range(32)]
        for name in names:
            service.accepted(name, "read hung/a", "k")
        time.sleep(3)
        states = [(name, service.snapshot(name)["summary"]["state"]) for name in names]
        hanging = [name for name, state in states if state == "running"]
        check("calls that do not hang", len(names) - len(hanging), 0)
        begun = time.monotonic()
        path = "/v1/conversations/{}/cancel"
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(lambda name: service.expect(200, "POST", path.format(name), {}), hanging))
            list(pool.map(service.wait_for_end, hanging))
        check("until all are cancelled, s", time.monotonic() - begun, 4)
        done.set()
        thread.join()
        check("longest prompt to the default conversation, s", longest[0], 1)
        check("prompts to the default conversation that were refused", len(refused), 0)
        check("memory of 32 calls that hang, MiB", resident(service) - before, 64)
    finally:
        done.set()
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


def read_all(service, path, size):
    """Reads a stream up to so many bytes; the first byte and all of them, in seconds."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("GET", path)
    stream = connection.getresponse()
    got, first = 0, None
    while got < size:
        part = stream.read1(256 * 1024)
        if not part:
            raise Failure(f"the stream ended behind {got} bytes")
        got += len(part)
        if first is None and got > 64 * 1024:
            first = time.monotonic() - begun
    connection.close()
    return first, time.monotonic() - begun


def stalled_readers(folder):
    """300 clients that ask for a long past and read nothing, 100 that ask for pages of it, and one
    that reads."""
    service = Service(folder)
    service.start()
    clients, done = [], threading.Event()
    try:
        name = long_past(service, 100)
        path = f"/v1/conversations/{name}"
        before = resident(service)
        print(f"  memory before: {before:.1f} MiB", flush=True)
        clients = [stall(service, f"{path}/events?after={number % 90}") for number in range(300)]
        highest = 0.0
        for _ in range(50):
            time.sleep(0.1)
            highest = max(highest, resident(service))
        check("memory of 300 stalled readers, MiB", highest, 150)
        thread, default_longest, refused = prompt_default(service, done)
        first, whole = read_all(service, f"{path}/events?after=0", 99 * MIB)
        check("first event of a client that reads, s", first, 2)
        check("100 MiB for a client that reads, s", whole, 60)
        clients += [stall(service, f"{path}/history?limit=4&after={n % 90}") for n in range(100)]
        for _ in range(50):
            time.sleep(0.1)
            highest = max(highest, resident(service))
        check("memory with 100 stalled pages of history, MiB", highest, 320)
        begun = time.monotonic()
        service.expect(200, "GET", f"{path}/history?limit=1")
        check("a page of history beside them, s", time.monotonic() - begun, 5)
        done.set()
        thread.join()
        check("longest prompt to the default conversation, s", default_longest[0], 1)
        check("prompts to the default conversation that were refused", len(refused), 0)
    finally:
        done.set()
        for client in clients:
            client.close()
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


def connection(service, text=b""):
    """An open connection on which something was sent; none if it was refused."""
    client = socket.socket()
    client.settimeout(10)
    try:
        client.connect(("127.0.0.1", service.port))
        if text:
            client.sendall(text)
    except OSError:
        client.close()
        return None
    client.setblocking(False)
    return client


def everything_at_once(folder):
    """4,096 event streams, 300 of them stalled in a long past, 5,000 idle connections of a stranger,
    200 uploads at once and 10,000 conversations made, while the owner prompts."""
    if os.geteuid() != 0:
        raise Unavailable("only root can be a stranger to its own service")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16_000), most))
    service = Service(folder)
    service.start()
    done = threading.Event()
    open_now = []
    try:
        long_past = service.create()
        for number in range(24):
            text = f"{number} " + "x" * MIB
            path = f"/v1/conversations/{long_past}/prompt"
            while service.call("POST", path, {"content": text}).status == 409:
                time.sleep(0.01)
            service.wait_for_end(long_past)
        # The prompts of the owner go on throughout.
        thread, longest, refused = prompt_default(service, done)
        highest = [0.0]

        def note(what):
            now = resident(service)
            highest[0] = max(highest[0], now)
            print(f"  {what}: {now:.0f} MiB, the owner waited {longest[0] * 1000:.0f} ms at most",
                  flush=True)

        note("at first")
        path = f"/v1/conversations/{long_past}/events?after=0"
        open_now += [stall(service, path) for _ in range(300)]
        note("300 stalled readers of 24 MiB")
        host = f"host: 127.0.0.1:{service.port}\r\n\r\n".encode()
        stream = b"GET /events HTTP/1.1\r\n" + host
        streams = [connection(service, stream) for _ in range(4096 - 300)]
        open_now += streams
        wait_until("all streams are attached", lambda: attached(service) >= 4096, 60)
        note("4,096 event streams")
        strangers = as_stranger(lambda: [connection(service) for _ in range(5000)])
        open_now += [client for client in strangers if client]
        note(f"5,000 idle connections of a stranger, {alive(strangers)} of them kept")
        upload(service, 200, note)
        client = Client(service)
        for number in range(10_000):
            status, made = client.call("POST", "/v1/conversations", {"title": f"t{number}"})
            if status != 201:
                raise Failure(f"conversation {number} was refused: {made}")
        note("10,000 conversations made")
        done.set()
        thread.join()
        if refused:
            raise Failure(f"the owner was refused: {refused[0]}")
        check("memory, MiB", highest[0], 300)
        check("the owner's longest wait, s", longest[0], 1)
    finally:
        done.set()
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


def main():
    """Runs those that were asked for, or all."""
    failed, missing = [], []
    for name in sys.argv[1:] or LIMITS:
        print(name, flush=True)
        with tempfile.TemporaryDirectory(prefix="limits-") as folder:
            try:
                LIMITS[name](folder)
            except Failure as failure:
                print(f"  FAILED: {failure}", flush=True)
                failed.append(name)
            except Unavailable as reason:
                print(f"  not available: {reason}", flush=True)
                missing.append(name)
    if missing and not failed:
        sys.exit(UNAVAILABLE)
    sys.exit(f"failed: {', '.join(failed)}" if failed else None)


if __name__ == "__main__":
    main()
