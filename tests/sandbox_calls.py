#!/usr/bin/env python3
"""What the attempts of `tests/sandbox.sh` need of a program: system calls by number, sockets, terminals.

    tests/sandbox_calls.py NAME [ARGUMENT…]
    tests/sandbox_calls.py without namespaces|both PROGRAM [ARGUMENT…]

Exit code 0: it went through. 1: it was refused. 77: it cannot be tried here, such as a call that this kernel was
built without. `without` becomes a program on a machine
that has no namespaces to give, or no Landlock either: a filter refuses the calls, as those of containers do.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import tty

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
# The numbers on x86_64 and on aarch64.
CALLS = {
    "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "clone": (56, 220), "clone3": (435, 435),
    "fsopen": (430, 430), "init_module": (175, 105), "io_uring_setup": (425, 425), "iopl": (172, None),
    "kcmp": (312, 272), "kexec_load": (246, 104), "keyctl": (250, 219), "landlock_create_ruleset": (444, 444),
    "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438), "pidfd_open": (434, 434), "pivot_root": (155, 41),
    "process_vm_readv": (310, 270), "ptrace": (101, 117), "quotactl": (179, 60), "reboot": (169, 142),
    "setns": (308, 268), "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282),
}
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.EAFNOSUPPORT}
CLONE_NEWUSER = 0x10000000
# Longer than an answer of this machine takes that is not broken.
LIMIT = 10
# What the operator of the terminal types, and the text that ends what was written to it.
TYPED, FENCE = b"x" * 64, b"\0end\0"


def call(name, *arguments):
    number = CALLS[name][0 if X86 else 1]
    if number is None:
        sys.exit(77)
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *[
        ctypes.c_long(one) if isinstance(one, int) else one for one in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def passes(name, *arguments):
    """A call with arguments that do nothing: any other error than a refusal is the kernel's own."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in REFUSALS:
            raise


def clone3():
    """Every kernel with Landlock has this call, so that ENOSYS is a refusal."""
    try:
        passes("clone3", 0, 0)
    except OSError as error:
        raise OSError(errno.EPERM, "refused") from error


def clone_user():
    child = call("clone", CLONE_NEWUSER | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def open_by_handle(path):
    # The head of a handle says how many bytes there are; a kernel's is at most 128 long.
    handle = ctypes.create_string_buffer(struct.pack("II", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, ctypes.c_char_p(path.encode()), handle, ctypes.byref(mount), 0)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.write(call("open_by_handle_at", folder, handle, os.O_RDWR), b"x")


def process_vm(pid):
    place, length = heap_of(pid)
    buffer = ctypes.create_string_buffer(length)
    local = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), length)
    remote = (ctypes.c_ulong * 2)(place, length)
    call("process_vm_readv", int(pid), local, 1, remote, 1, 0)


def trace_own():
    """Traces a process of its own and reads its memory, as a debugger does."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    try:
        call("ptrace", 0x4206, child, 0, 0)
        process_vm(child)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def heap_of(pid):
    """Some memory of a process; of the first page of its program, if its map cannot be read."""
    with open(f"/proc/{pid}/maps") as maps:
        start, end = maps.readline().split()[0].split("-")
    return int(start, 16), 16


def read_memory(pid):
    place, length = heap_of(pid)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(place)
        memory.read(length)


def mapped(path):
    with open(path, "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[0:1] = b"x"


def exchange(one, other):
    result = LIBC.renameat2(-100, one.encode(), -100, other.encode(), 2)
    if result < 0:
        raise OSError(ctypes.get_errno(), "exchange")


def pidfd_getfd(pid):
    call("pidfd_getfd", call("pidfd_open", int(pid), 0), 0, 0)


def setns(pid):
    call("setns", os.open(f"/proc/{pid}/ns/net", os.O_RDONLY), 0)


def type_into_terminal():
    """Types into a terminal that it opens. If it can open none, makes the call on standard input: the kernel answers that
    this is not a terminal, unless the call is refused."""
    try:
        _, follower = pty.openpty()
    except OSError:
        try:
            fcntl.ioctl(0, termios.TIOCSTI, b"x")
        except OSError as error:
            if error.errno != errno.ENOTTY:
                raise
        return
    os.setsid()
    fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
    fcntl.ioctl(follower, termios.TIOCSTI, b"x")


def on_terminal(*command):
    """Runs a program that has a terminal, as a service has that was started in one, and ends as the program does."""
    leader, follower = pty.openpty()
    child = os.fork()
    if child == 0:
        os.close(leader)
        os.setsid()
        fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
        os.close(follower)
        os.execvp(command[0], command)
    os.close(follower)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)


def first_disk():
    with open("/proc/partitions") as table:
        rows = [line.split() for line in table if line.split() and line.split()[0].isdigit()]
    if not rows:
        sys.exit(77)
    major, minor, _, name = max(rows, key=lambda row: int(row[2]))
    return int(major), int(minor), name


def read_disk():
    with open(f"/dev/{first_disk()[2]}", "rb") as disk:
        disk.read(512)


def make_disk(path):
    major, minor, _ = first_disk()
    os.mknod(path, 0o600 | 0o060000, os.makedev(major, minor))
    with open(path, "rb") as disk:
        disk.read(512)


def greeted(connected):
    connected.settimeout(LIMIT)
    if connected.recv(5) != b"hello":
        raise OSError(errno.EPIPE, "nobody greets")


def to_path(path):
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(path)
    greeted(connected)


def to_abstract(name):
    to_path("\0" + name)


def to_port(port):
    greeted(socket.create_connection(("127.0.0.1", int(port)), LIMIT))


def to_port_by_datagram(port):
    connected = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connected.connect(("127.0.0.1", int(port)))
    connected.send(b"x")
    greeted(connected)


def leaves(address):
    """Whether there is a way to an address, without a packet sent."""
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((address, 53))


def own_server(family, address):
    server = socket.socket(getattr(socket, family))
    server.bind((address, 0))
    server.listen()
    connected = socket.socket(getattr(socket, family))
    connected.connect(server.getsockname())
    server.accept()


def own_unix_server(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    socket.socket(socket.AF_UNIX).connect(path)


def add_address():
    """Gives the loopback interface another address, and takes it away again, so that the next attempt can."""
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    address = struct.pack("HH4s", 8, 2, socket.inet_aton("127.99.99.99"))
    body = struct.pack("BBBBI", 2, 32, 0, 254, 1) + address
    add, remove, acknowledged, create = 20, 21, 0x5, 0x400
    for kind, flags in ((add, acknowledged | create), (remove, acknowledged)):
        link.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        code = -struct.unpack("i", link.recv(4096)[16:20])[0]
        # It is there already if an attempt was ended between the two.
        if code not in (0, errno.EEXIST):
            raise OSError(code, "refused")


def terminal():
    leader, follower = pty.openpty()
    os.write(leader, b"x\n")
    os.read(follower, 2)


def semaphore():
    import multiprocessing
    multiprocessing.Semaphore()


def threads():
    import threading
    one = threading.Thread(target=lambda: subprocess.run(["true"], check=True))
    one.start()
    one.join()


def heard(path, words):
    """Fails unless the words were written to the terminal that `outside` holds."""
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(path)
    with connected.makefile("rb") as answer:
        if words.encode() not in answer.read():
            raise OSError(errno.ENODATA, "the terminal got nothing")


def outside(abstract, ready, heard_at, *paths):
    """Greets every client, by every kind of socket, and holds a terminal on which something was typed. The ports and the
    terminal go to the file `ready`. A client of `heard_at` gets what was written to the terminal since the last client.
    Ends with its standard input."""
    servers = []
    for address in [heard_at, *paths, "\0" + abstract]:
        server = socket.socket(socket.AF_UNIX)
        server.bind(address)
        servers.append(server)
    listener = servers[0]
    by_port = socket.socket()
    by_port.bind(("127.0.0.1", 0))
    servers.append(by_port)
    by_datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    by_datagram.bind(("127.0.0.1", 0))
    for server in servers:
        server.listen()
    leader, follower = pty.openpty()
    # What is written comes out as it is, and what is typed is not shown.
    tty.setraw(follower)
    os.write(leader, TYPED)
    with open(ready + ".new", "w") as file:
        print(by_port.getsockname()[1], by_datagram.getsockname()[1], os.ttyname(follower),
              f"/proc/{os.getpid()}/fd/{follower}", file=file)
    os.rename(ready + ".new", ready)
    import select
    while True:
        for readable in select.select([*servers, by_datagram, sys.stdin], [], [])[0]:
            if readable is sys.stdin:
                return
            if readable is by_datagram:
                readable.sendto(b"hello", readable.recvfrom(1)[1])
            elif readable is listener:
                client = readable.accept()[0]
                # All that was written before comes out before this.
                os.write(follower, FENCE)
                written = b""
                while not written.endswith(FENCE):
                    written += os.read(leader, 4096)
                client.sendall(written)
                client.close()
            else:
                readable.accept()[0].send(b"hello")


def victim(ready):
    """A process that attempts are made on. Any process of its user may trace it, also on a kernel that lets only its
    parent (Yama). Its number goes to the file `ready`. Ends with its standard input."""
    set_ptracer, any_process = 0x59616D61, -1
    LIBC.prctl(set_ptracer, ctypes.c_long(any_process), 0, 0, 0)
    os.chdir("/")
    with open(ready, "w") as file:
        print(os.getpid(), file=file)
    sys.stdin.read()


def get_free(_):
    """Ends the process that started this one, and stays for a while if that has worked."""
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    time.sleep(0.2)
    if os.getppid() == parent:
        raise OSError(errno.EPERM, "it lives on")
    time.sleep(60)


def without(missing, *command):
    """Becomes a program for which some calls are refused, with all that it starts."""
    refused = {"unshare": errno.EPERM}
    if missing == "both":
        refused["landlock_create_ruleset"] = errno.ENOSYS
    load, jump_if_equal, answer = 0x20, 0x15, 0x06
    errno_of, allow = 0x00050000, 0x7FFF0000
    steps = [(load, 0, 0, 0)]
    for name, error in refused.items():
        steps += [(jump_if_equal, 0, 1, CALLS[name][0 if X86 else 1]), (answer, 0, 0, errno_of | error)]
    steps.append((answer, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code))
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    for request in ((no_new_privileges, 1, 0, 0, 0), (seccomp, by_filter, ctypes.c_char_p(program), 0, 0)):
        if LIBC.prctl(*request) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    os.execvp(command[0], command)


ATTEMPTS = {
    "add-address": add_address,
    "add_key": lambda: passes("add_key", 0, 0, 0, 0, 0),
    "bpf": lambda: passes("bpf", 0xFFFF, 0, 0),
    "chroot": lambda: call("chroot", ctypes.c_char_p(b"/")),
    "clone-user": clone_user,
    "clone3": clone3,
    "exchange": exchange,
    "family": lambda *numbers: socket.socket(*map(int, numbers)),
    "fsopen": lambda: call("fsopen", ctypes.c_char_p(b"tmpfs"), 0),
    "get-free": get_free,
    "heard": heard,
    "init_module": lambda: passes("init_module", 0, 0, 0),
    "io_uring": lambda: passes("io_uring_setup", 0, 0),
    "iopl": lambda: call("iopl", 0),
    "kcmp": lambda pid: call("kcmp", os.getpid(), int(pid), 0, 0, 0),
    "kexec": lambda: passes("kexec_load", 0, 0, 0, 0xDEAD0000),
    "keyctl": lambda: passes("keyctl", 0xFFFF),
    "leaves": leaves,
    "make-disk": make_disk,
    "mapped": mapped,
    "mount": lambda path: call("mount", ctypes.c_char_p(b"tmpfs"), ctypes.c_char_p(path.encode()),
                               ctypes.c_char_p(b"tmpfs"), 0, 0),
    "mount_setattr": lambda: passes("mount_setattr", -1, 0, 0, 0, 0),
    "move_mount": lambda: passes("move_mount", -1, 0, -1, 0, 0),
    "on-terminal": on_terminal,
    "open_by_handle": open_by_handle,
    "open_tree": lambda: call("open_tree", -100, ctypes.c_char_p(b"/"), 0),
    "outside": outside,
    "own-server": own_server,
    "own-unix-server": own_unix_server,
    "perf": lambda: passes("perf_event_open", 0, 0, -1, -1, 0),
    "pidfd_getfd": pidfd_getfd,
    "pivot_root": lambda: passes("pivot_root", ctypes.c_char_p(b"/nowhere"), ctypes.c_char_p(b"/nowhere")),
    "process_vm": process_vm,
    "ptrace": lambda pid: call("ptrace", 0x4206, int(pid), 0, 0),
    "quotactl": lambda: passes("quotactl", -1, 0, 0, 0),
    "read-disk": read_disk,
    "read-memory": read_memory,
    "reboot": lambda: passes("reboot", 0, 0, 0, 0),
    "semaphore": semaphore,
    "setns": setns,
    "setxattr": lambda path: os.setxattr(path, "user.harness", b"x"),
    "socketpair": lambda: socket.socketpair(),
    "stay": lambda name: time.sleep(60),
    "swapon": lambda: passes("swapon", ctypes.c_char_p(b"/nowhere"), 0),
    "syslog": lambda: call("syslog", 10, 0, 0),
    "terminal": terminal,
    "threads": threads,
    "trace-own": trace_own,
    "to-abstract": to_abstract,
    "to-path": to_path,
    "to-port": to_port,
    "to-port-by-datagram": to_port_by_datagram,
    "type": type_into_terminal,
    "umount": lambda path: passes("umount2", ctypes.c_char_p(path.encode()), 2),
    "unshare": lambda flags: call("unshare", int(flags, 16)),
    "userfaultfd": lambda: passes("userfaultfd", 0xFFFF),
    "victim": victim,
    "without": without,
    "write-open": lambda path: os.close(os.open(path, os.O_WRONLY)),
}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    try:
        ATTEMPTS[name](*arguments)
    except OSError as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(77 if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS) else 1)
