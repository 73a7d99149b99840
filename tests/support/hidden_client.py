#!/usr/bin/env python3
"""A client that a command starts and that hides whose it is: `hidden_client.py WAY HOST PORT [TOKEN]` asks the service
for its conversations, without the token and with it, and prints the status of each answer, or `-` if it finds no
service there.

The ways: `plain`; `session` and `orphan`, in a session of its own, also after its parent has exited; `table`, with the
socket in the table of a thread; `ended`, in such a table after the first thread has ended; `undumpable`, in a process
that others cannot look into; `flight`, with the socket under way between two others while the service looks for it.
"""

import ctypes
import http.client
import os
import socket
import sys
import threading
import time

WAY, HOST, PORT, TOKENS = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
LIBC = ctypes.CDLL(None)
CLONE_FILES, PR_SET_DUMPABLE = 0x400, 4
SYS_EXIT = 60 if os.uname().machine == "x86_64" else 93
# Longer than the service takes to look for a socket, in seconds.
UNDER_WAY = 0.3


def ask():
    """Asks once without a token, and once with each."""
    if WAY in ("table", "ended"):
        assert LIBC.unshare(CLONE_FILES) == 0
    while WAY == "ended" and ") Z " not in open(f"/proc/{os.getpid()}/stat").read():
        time.sleep(0.01)
    for headers in [{}, *({"authorization": f"Bearer {token}"} for token in TOKENS)]:
        client = http.client.HTTPConnection(HOST, PORT, timeout=10)
        try:
            client.connect()
        except OSError:
            print("-", end=" ", flush=True)
            continue
        if WAY == "flight":
            near, far = socket.socketpair()
            socket.send_fds(near, [b"x"], [client.sock.fileno()])
            client.sock.close()
            time.sleep(UNDER_WAY)
            client.sock = socket.socket(fileno=socket.recv_fds(far, 1, 1)[1][0])
            client.sock.settimeout(10)
        # A name that the service does not know would be refused for that.
        client.request("GET", "/v1/conversations", headers={"host": f"127.0.0.1:{PORT}", **headers})
        print(client.getresponse().status, end=" ", flush=True)


def main():
    """Hides, and asks."""
    if WAY == "orphan" and os.fork() != 0:
        return
    if WAY in ("session", "orphan"):
        # The first process of a group cannot do it.
        if os.getpgid(0) == os.getpid():
            if os.fork() != 0:
                os.wait()
                return
        os.setsid()
        time.sleep(0.05)
    if WAY == "undumpable":
        assert LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    if WAY not in ("table", "ended"):
        ask()
        return
    thread = threading.Thread(target=ask)
    thread.start()
    if WAY == "ended":
        LIBC.syscall(SYS_EXIT, 0)
    thread.join()


main()
