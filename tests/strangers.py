#!/usr/bin/env python3
"""What another user of the machine can do to the service, and what a user namespace changes.

Runs as root: the service belongs to one user here and its stranger is another, by their numbers
alone, so that no account is made. Both numbers belong to nobody. HARNESS_BIN names the program.

    sudo HARNESS_BIN=target/release/harness tests/strangers.py [CHECK ...]

Each check prints a line. What cannot be had on a machine is said ("not available") and makes the
exit code 77, never 0.

Spec: [SEC-05] [SEC-14] [SEC-16] [SEC-17] [SEC-19] [SEC-52] [SEC-55] [HTTP-83]
"""

import itertools
import json
import math
import mmap
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from bounds import Bare, hold, longest, twice  # noqa: E402
from harness import wait_until  # noqa: E402

OWNER, STRANGER = 47110, 47111
UNAVAILABLE = 77
LIMIT = 60.0


class Unavailable(Exception):
    """The machine does not have what a check needs."""


def demote(uid):
    """What a child does before it runs a program as that user."""

    def change():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    return change


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class World:
    """A state folder and a workspace of the owner, and the service on them."""

    def __init__(self, program):
        self.folder = Path(tempfile.mkdtemp(prefix="harness-strangers-"))
        os.chmod(self.folder, 0o755)
        # Nobody else can run what lies in a private folder.
        self.program = self.folder / "harness"
        shutil.copy(program, self.program)
        os.chmod(self.program, 0o755)
        self.owner_home = self.folder / "owner"
        self.workspace = self.owner_home / "work"
        self.workspace.mkdir(parents=True)
        for folder in (self.owner_home, self.workspace):
            os.chown(folder, OWNER, OWNER)
        self.home = self.owner_home / ".harness"
        self.process = None
        self.address = None

    def environment(self, **more):
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.owner_home), **more}

    def start(self, *flags, prefix=(), **more):
        """Starts the service as the owner; gives what it says before it listens or ends."""
        command = [*prefix, str(self.program), "serve", "--demo", "--port", "0",
                   "--require-token=false", "--workspace", str(self.workspace), *flags]
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            command, env=self.environment(**more), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.log, preexec_fn=demote(OWNER), cwd=self.workspace)
        line = self.process.stdout.readline().decode()
        found = re.search(r"http://([0-9.]+):(\d+)", line)
        if found:
            self.address = (found[1], int(found[2]))
        return bool(found)

    def said(self):
        return (self.folder / "log").read_text(errors="replace")

    def run(self, *arguments, uid=OWNER, limit=LIMIT):
        """Runs a command of the owner's to its end."""
        return subprocess.run(
            [str(self.program), *arguments], env=self.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=limit, preexec_fn=demote(uid),
            cwd=self.workspace)

    def token(self):
        return (self.home / "token").read_text().strip()

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def as_user(uid, work):
    """Runs a function in a child of that user; gives what it returns, which is JSON."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            demote(uid)()
            result = {"value": work()}
        except BaseException:  # The parent tells it.
            result = {"error": traceback.format_exc()}
        with os.fdopen(writer, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    result = json.loads(text or '{"error": "it said nothing"}')
    if "error" in result:
        raise AssertionError(result["error"])
    return result["value"]


def shared_number():
    """A number that this process shares with its children."""
    return memoryview(mmap.mmap(-1, 8)).cast("Q")


def connect(address, limit=LIMIT):
    """A connection. No name is looked up: a demoted child cannot load what that takes."""
    connection = socket.socket()
    connection.settimeout(limit)
    connection.connect(address)
    return connection


def ask(address, method, path, headers=(), body=b"", limit=LIMIT):
    """One request on a connection of its own: the status and the body."""
    head = [f"{method} {path} HTTP/1.1", f"host: {address[0]}:{address[1]}", "connection: close",
            f"content-length: {len(body)}", *headers]
    with connect(address, limit) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), content.decode(errors="replace")


def prompt(address, headers=(), limit=LIMIT):
    headers = ["content-type: application/json", *headers]
    return ask(address, "POST", "/prompt", headers, b'{"content": "hello"}', limit)


def strangers_are_not_let_in(world):
    """A stranger gets no epoch and no route; the owner needs nothing; a forward is a stranger."""
    world.start()
    status, health = as_user(STRANGER, lambda: ask(world.address, "GET", "/healthz"))
    check(status == 200 and json.loads(health) == {"status": "ok"}, health)
    for method, path in [("GET", "/v1/service"), ("GET", "/v1/conversations"), ("GET", "/events"),
                         ("POST", "/cancel"), ("GET", "/nowhere")]:
        status, _ = as_user(STRANGER, lambda: ask(world.address, method, path))
        check(status == 401, f"{method} {path}: {status}")
    check(as_user(OWNER, lambda: ask(world.address, "GET", "/v1/service"))[0] == 200, "owner")
    for header in ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "Via: 1.1 x",
                   "X-Real-IP: 127.0.0.1"]:
        status, _ = as_user(OWNER, lambda: ask(world.address, "GET", "/v1/tools", [header]))
        check(status == 401, f"{header}: {status}")
        token = f"authorization: Bearer {world.token()}"
        status, _ = as_user(OWNER, lambda: ask(world.address, "GET", "/v1/tools", [header, token]))
        check(status == 200, f"{header} with the token: {status}")


def a_port_taken_over_learns_nothing(world):
    """The service dies; a stranger has its port and repeats what it knows."""
    world.start()
    nonce = "0" * 64
    _, health = as_user(STRANGER, lambda: ask(world.address, "GET", f"/healthz?nonce={nonce}"))
    follower = subprocess.Popen(
        [str(world.program), "events", "--json"], env=world.environment(), preexec_fn=demote(OWNER),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    check(follower.stdout.read(1) == b"{", "the client attaches")
    world.kill()
    # The owner's commands and the stranger wait for each other.
    listens, is_over = shared_number(), shared_number()

    def impostor():
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(world.address)
        listener.listen(16)
        listener.settimeout(1)
        listens[0] = 1
        told, connections, deadline = b"", 0, time.monotonic() + LIMIT
        answer = (f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                  f"content-length: {len(health)}\r\n\r\n{health}").encode()
        while time.monotonic() < deadline and not (is_over[0] and connections >= 5):
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            connections += 1
            connection.settimeout(2)
            try:
                while piece := connection.recv(65536):
                    told += piece
                    connection.sendall(answer)
            except OSError:
                pass
            connection.close()
        return [connections, told.decode(errors="replace")]

    commands = []

    def owner():
        try:
            wait_until("the stranger listens", lambda: listens[0], LIMIT)
            for arguments in (["prompt", "my private words"], ["attach", "--plain"],
                              ["steer", "my private words"], ["conversations"]):
                commands.append(world.run(*arguments))
        finally:
            is_over[0] = 1

    thread = threading.Thread(target=owner)
    thread.start()
    connections, told = as_user(STRANGER, impostor)
    thread.join()
    follower.kill()
    follower.wait()
    check(connections >= 5, f"{connections} connections came")
    for private in (world.token(), "private", "POST", "uthorization"):
        check(private not in told, f"{private} was told:\n{told}")
    check(len(commands) == 4, f"{len(commands)} commands ended")
    for ran in commands:
        check(ran.returncode == 1 and "no service runs" in ran.stderr, ran)


def a_flood_takes_nothing_of_the_owner(world):
    """4,808 connections of a stranger or more, each with a request: the owner waits at most so many times as long as for
    a bare server under such a flood."""
    return twice(lambda: flood_of_the_owner(world))


def flood_of_the_owner(world):
    """Floods a new service, and a bare server until the owner has had as many answers from it."""
    world.kill()
    world.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10000), hard))
    made, alive, waits, failures = flooded(world, world.address, 5, keeps=300)
    files = len(os.listdir(f"/proc/{world.process.pid}/fd"))
    check(not failures, failures[:3])
    check(alive <= 300, f"{alive} connections of the stranger are open")
    bare = Bare(world.folder)
    try:
        _, _, bare_waits, _ = flooded(world, bare.address, len(waits), keeps=math.inf)
    finally:
        bare.close()
    hold("the owner's longest wait", 1000 * max(waits), 1000 * longest(bare_waits), 10, "ms")
    return (f"{made} connections, {alive} kept, {files} files, the owner was answered {len(waits)} times and "
            f"waited {1000 * max(waits):.0f} ms at most")


def flooded(world, address, answers, keeps):
    """A stranger floods a server until the owner has had so many answers from it, and waits until the server keeps at
    most so many connections. Gives how many were made and are open, the time of each answer, and the failures."""
    served = shared_number()
    told = world.workspace / "owner.json"
    # The owner's requests come from the owner.
    child = os.fork()
    if child == 0:
        demote(OWNER)()
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        told.write_text(json.dumps(ask_until(stop, address, served)))
        os._exit(0)
    made, alive = as_user(STRANGER, lambda: flood(address, served, answers, keeps))
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    waits, failures = json.loads(told.read_text())
    # Fewer connections are no flood, and an owner who asks nothing waits for nothing.
    check(made > 4000, f"{made} connections of the stranger were made")
    check(served[0] >= answers, f"the owner was answered {served[0]} times in {LIMIT:.0f} s: {failures[:3]}")
    return made, alive, waits, failures


def ask_until(stop, address, served):
    """The owner prompts, and waits for the end of the run; again and again. Gives the waits and the failures."""
    waits, failures = [], []

    def timed(request):
        start = time.monotonic()
        status, body = request()
        if status != 200:
            failures.append((status, body))
        waits.append(time.monotonic() - start)
        served[0] += 1
        return json.loads(body)

    def runs():
        state = timed(lambda: ask(address, "GET", "/v1/conversations/default?tail=0"))
        return state.get("summary", {}).get("state") == "running"

    while not stop.is_set():
        try:
            timed(lambda: prompt(address))
            while runs() and not stop.is_set():
                time.sleep(0.02)
        except (OSError, ValueError, IndexError) as error:
            failures.append(repr(error))
        time.sleep(0.1)
    return [waits, failures]


def flood(address, served, answers, keeps):
    """Connections with a request each, first as fast as they can be made."""
    request = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n\r\n" % address[1]
    connections, deadline = [], time.monotonic() + LIMIT
    for number in itertools.count(1):
        if number > 4808:
            if served[0] >= answers or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        connection = socket.socket()
        connection.settimeout(5)
        try:
            connection.connect(address)
            connection.sendall(request)
            connections.append(connection)
        except OSError:
            connection.close()
    made, alive, deadline = len(connections), connections, time.monotonic() + LIMIT
    while len(alive) > keeps and time.monotonic() < deadline:
        time.sleep(0.1)
        alive = [connection for connection in alive if is_open(connection)]
    return [made, len(alive)]


def is_open(connection):
    """False if the other side has closed it."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def slow_requests_end(world):
    """A byte a second keeps no connection, on no route, at no time."""
    world.start()
    host = f"host: 127.0.0.1:{world.address[1]}\r\n"
    whole = f"GET /healthz HTTP/1.1\r\n{host}\r\n"
    chunked = f"{host}transfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n"
    firsts = ["GET /hea", whole + "GET /hea", whole + whole + f"GET /healthz HTTP/1.1\r\n{host}x: ",
              f"GET /healthz HTTP/1.1\r\n{chunked}", f"PUT /prompt HTTP/1.1\r\n{chunked}",
              f"POST /prompt HTTP/1.1\r\n{chunked}", f"GET /v1/tools HTTP/1.1\r\n{chunked}",
              f"GET /events HTTP/1.1\r\n{chunked}", ""]

    def drip():
        start, lasted = time.monotonic(), {}
        connections = {connect(world.address): first for first in firsts}
        for connection, first in connections.items():
            connection.sendall(first.encode())
        while connections and time.monotonic() - start < 60:
            readable, _, _ = select.select(list(connections), [], [], 1)
            for connection in readable:
                try:
                    gone = not connection.recv(65536)
                except OSError:
                    gone = True
                if gone:
                    lasted[connections.pop(connection)] = time.monotonic() - start
            for connection, first in list(connections.items()):
                try:
                    if first:
                        connection.sendall(b"1\r\nx\r\n" if "chunked" in first else b"x")
                except OSError:
                    lasted[connections.pop(connection)] = time.monotonic() - start
        return [list(connections.values()), max(lasted.values(), default=0)]

    lasts = 0
    for uid in (STRANGER, OWNER):
        open_still, lasted = as_user(uid, drip)
        check(not open_still, f"uid {uid}: still open after 60 s: {open_still}")
        lasts = max(lasts, lasted)
    check(lasts < 30, f"{lasts:.1f} s")
    return f"the last of {2 * len(firsts)} ended after {lasts:.1f} s"


def answers_that_nobody_reads_cost_little(world):
    """256 connections of a stranger send requests without end and read no answer."""
    return twice(lambda: unread_answers(world))


def unread_answers(world):
    """Sends them to a new service."""
    world.kill()
    world.start()
    request = b"GET /v1/x HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n\r\n" % world.address[1] * 1000
    health = request.replace(b"/v1/x", b"/healthz")

    def used():
        ticks = Path(f"/proc/{world.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        status = Path(f"/proc/{world.process.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024
        return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"), resident

    def send():
        connections = []
        for number in range(256):
            connection = connect(world.address)
            connection.setblocking(False)
            connections.append((connection, health if number % 2 else request))
        stop, sent = time.monotonic() + 8, 0
        while time.monotonic() < stop:
            for connection, text in connections:
                try:
                    sent += connection.send(text)
                except OSError:
                    pass
            time.sleep(0.05)
        return sent

    (cpu, before), begun = used(), time.monotonic()
    sent = as_user(STRANGER, send)
    (after, resident), span = used(), time.monotonic() - begun
    # Less is no load.
    check(sent >= 256 * 1000, f"{sent} bytes were sent")
    hold("memory with answers that nobody reads", resident, before, 4, "MiB")
    hold("computed for answers that nobody reads", after - cpu, span, 0.5, "s")
    check(as_user(OWNER, lambda: ask(world.address, "GET", "/v1/service"))[0] == 200, "owner")
    return (f"{sent / 1048576:.0f} MiB sent, memory {before:.0f} to {resident:.0f} MiB, "
            f"{after - cpu:.1f} s of CPU")


def user_namespaces_make_nobody_the_owner(world):
    """In a user namespace without a number for each user, nobody is let in by a number."""
    works = subprocess.run(["unshare", "-U", "true"], preexec_fn=demote(OWNER),
                           capture_output=True, text=True)
    if works.returncode != 0:
        raise Unavailable(f"user namespaces: {works.stderr.strip()}")
    said = []
    for flags in (["-U"], ["-U", "--map-user=65534"], ["-U", "--map-root-user"]):
        started = world.start(prefix=["unshare", *flags])
        if not started:
            world.process.wait()
            last = world.said().strip().splitlines()[-1]
            check("belongs to a user that has no number here" in last, last)
            said.append(f"{' '.join(flags)}: refused to start")
            continue
        for uid in (STRANGER, OWNER):
            status, body = as_user(uid, lambda: ask(world.address, "GET", "/v1/conversations"))
            check(status == 401, f"{flags}, uid {uid}: {status} {body}")
        # The owner's own program has the token.
        ran = world.run("conversations")
        check(ran.returncode == 0, ran)
        said.append(f"{' '.join(flags)}: asks everyone for the token")
        world.kill()
    return "; ".join(said)


def the_process_is_closed(world):
    """Not even the owner's other programs read the service's environment or memory; no core."""
    # The service must give up the right to leave a core file, so it starts with that right.
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        check_closed(world)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    return "core files were off before" if before[1] == 0 else None


def check_closed(world):
    """Looks into the service, and into another program of the owner, which shows that the look works."""
    world.start(ANTHROPIC_API_KEY="sk-ant-of-the-owner", AWS_SECRET_ACCESS_KEY="of-the-owner-0123456789")
    pid = world.process.pid
    core = [line.split()[4:6] for line in Path(f"/proc/{pid}/limits").read_text().splitlines()
            if line.startswith("Max core")]
    check(core == [["0", "0"]], core)

    names = ["environ", "mem", "maps", "auxv"]

    def look(pid):
        opened = []
        for name in names:
            try:
                with open(f"/proc/{pid}/{name}", "rb"):
                    opened.append(name)
            except PermissionError:
                pass
        return opened

    for uid in (OWNER, STRANGER):
        opened = as_user(uid, lambda: look(pid))
        check(opened == [], f"uid {uid} opened {opened}")
    # The owner can look into a program that closes nothing; into its memory only if the kernel allows it (Yama).
    other = subprocess.Popen(["sleep", "60"], preexec_fn=demote(OWNER), stdin=subprocess.DEVNULL)
    try:
        opened = as_user(OWNER, lambda: look(other.pid))
    finally:
        other.kill()
        other.wait()
    check(set(names) - {"mem"} <= set(opened), f"of a program that closes nothing only {opened} is open")


def the_demo_listens_once(world):
    """The demo's model has no port."""
    world.start()
    inodes = set()
    for name in os.listdir(f"/proc/{world.process.pid}/fd"):
        try:
            link = os.readlink(f"/proc/{world.process.pid}/fd/{name}")
        except OSError:
            continue
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    listening = [row.split() for table in ("tcp", "tcp6") if os.path.exists(f"/proc/net/{table}")
                 for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    ours = [row[1] for row in listening if row[3] == "0A" and row[9] in inodes]
    check(len(ours) == 1, ours)


def what_others_leave_above_is_not_told(world):
    """A stranger owns a folder above the workspace and puts a link, a hard link, a file there."""
    private = world.owner_home / "private"
    private.write_text("the private words of the owner\n")
    os.chown(private, OWNER, OWNER)
    os.chmod(private, 0o600)
    shared = world.folder / "shared"
    shared.mkdir()
    os.chown(shared, STRANGER, STRANGER)
    workspace = shared / "work"
    workspace.mkdir()
    os.chown(workspace, OWNER, OWNER)
    world.workspace = workspace

    def report_context_files():
        """The context files of a conversation: the JSON of the service, and the text of its client."""
        world.start()
        _, shown = as_user(OWNER, lambda: ask(world.address, "GET", "/v1/conversations/default"))
        ran = world.run("conversations", "show", "default")
        world.kill()
        return shown.replace(" ", ""), ran.stdout

    # A file of the owner in a folder of the owner is reported.
    os.chown(shared, OWNER, OWNER)
    (shared / "AGENTS.md").write_text("the owner's words\n")
    os.chown(shared / "AGENTS.md", OWNER, OWNER)
    shown, ran = report_context_files()
    check('"context_files":[{' in shown, shown)
    check(f"told      {shared}" in ran, ran)
    (shared / "AGENTS.md").unlink()
    os.chown(shared, STRANGER, STRANGER)
    said = []
    for leave in (lambda: os.symlink(private, shared / "AGENTS.md"),
                  lambda: os.link(private, shared / "AGENTS.md"),
                  lambda: (shared / "AGENTS.md").write_text("the stranger's private words\n")):
        try:
            leave()
        except PermissionError:
            continue
        shown, ran = report_context_files()
        check("AGENTS.md(" not in shown and '"context_files":[{' not in shown, shown)
        check(f"told      {shared}" not in ran, ran)
        (shared / "AGENTS.md").unlink()
        said.append("left out")
    return ", ".join(said)


CHECKS = [
    strangers_are_not_let_in,
    a_port_taken_over_learns_nothing,
    a_flood_takes_nothing_of_the_owner,
    slow_requests_end,
    answers_that_nobody_reads_cost_little,
    user_namespaces_make_nobody_the_owner,
    the_process_is_closed,
    the_demo_listens_once,
    what_others_leave_above_is_not_told,
]


def main():
    if os.geteuid() != 0:
        print("strangers: not available: only root can be two other users")
        return UNAVAILABLE
    program = os.environ.get("HARNESS_BIN")
    if not program:
        print("strangers: HARNESS_BIN has to name the program", file=sys.stderr)
        return 2
    chosen = [run for run in CHECKS if not sys.argv[1:] or run.__name__ in sys.argv[1:]]
    passed = failed = missing = 0
    for run in chosen:
        world = World(program)
        name = run.__name__.replace("_", " ")
        try:
            said = run(world)
            print(f"ok: {name}" + (f": {said}" if said else ""), flush=True)
            passed += 1
        except Unavailable as reason:
            print(f"not available: {name}: {reason}", flush=True)
            missing += 1
        except Exception:
            print(f"FAILED: {name}\n{traceback.format_exc()}{world.said()[-2000:]}", flush=True)
            failed += 1
        finally:
            world.close()
    print(f"{passed} passed, {failed} failed, {missing} not available")
    if failed:
        return 1
    return UNAVAILABLE if missing else 0


sys.exit(main())
