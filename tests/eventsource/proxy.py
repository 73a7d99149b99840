"""A TCP proxy that breaks the connections through it, at bytes that nobody chose."""

import math
import random
import re
import select
import socket
import struct
import threading

# The last thing that tells where a stream begins; from then on the client can be cut.
POSITION = re.compile(rb"id: [0-9a-f-]+\n\n")
LARGEST_CUT = 60_000


class Proxy:
    """Listens at once; passes connections on to a port."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.target = 0
        # "pass" everything on, "cut" at random bytes, or "refuse".
        self.mode = "pass"
        self.lock = threading.Lock()
        self.open = set()
        # By the target of the request.
        self.connections = {}
        self.begun = set()
        self.cuts = 0
        self.refused = 0
        self.bytes = 0

    def start(self):
        """Serves until the process ends."""
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def switch(self, mode):
        """Changes what is done with connections, and ends those that are open."""
        with self.lock:
            self.mode = mode
            ending = list(self.open)
        for client in ending:
            shut(client)

    def carry(self, client):
        """One connection."""
        with self.lock:
            mode = self.mode
            is_cut = mode == "cut"
            exponent = self.random.uniform(0, math.log(LARGEST_CUT))
            limit = int(math.exp(exponent)) if is_cut else None
            by_reset = self.random.random() < 0.5
        server = None
        try:
            if mode == "refuse":
                raise ConnectionRefusedError
            server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            server.settimeout(None)
        except OSError:
            with self.lock:
                self.refused += 1
            reset(client)
            return
        with self.lock:
            self.open.add(client)
            # It may have been switched meanwhile.
            if mode != self.mode:
                shut(client)
        try:
            Connection(self, client, server, limit, by_reset).run()
        except OSError:
            pass
        with self.lock:
            self.open.discard(client)
        server.close()
        client.close()


class Connection:
    """One connection, in one thread: another that waits for a socket would keep it from closing."""

    def __init__(self, proxy, client, server, limit, by_reset):
        self.proxy = proxy
        self.client = client
        self.server = server
        # How many bytes behind the head of the answer are passed on.
        self.limit = limit
        self.by_reset = by_reset
        self.request = Request()
        self.head = b""
        self.is_headed = False
        self.sent = 0
        self.text = b""

    def run(self):
        """Until one side ends it, or the limit is reached."""
        while True:
            for side in select.select([self.client, self.server], [], [])[0]:
                part = side.recv(65536)
                if not part:
                    self.end(side)
                    return
                if side is self.client:
                    self.forward(part)
                elif self.back(part):
                    return

    def end(self, side):
        """One side has ended it."""
        # A head that is cut would be an answer of another kind for browsers.
        if side is self.server and not self.is_headed:
            reset(self.client)

    def forward(self, part):
        """From the client to the service."""
        if self.request.note(part):
            shown = self.proxy.connections
            with self.proxy.lock:
                shown.setdefault(self.request.name, []).append(self.request.last_event_id)
        self.server.sendall(part)

    def back(self, part):
        """From the service to the client; true when it is to be cut there."""
        if not self.is_headed:
            self.head += part
            head, end, part = self.head.partition(b"\r\n\r\n")
            if not end:
                return False
            self.is_headed = True
            self.client.sendall(head + end)
        is_cut = self.limit is not None and self.sent + len(part) >= self.limit
        if is_cut:
            part = part[: self.limit - self.sent]
        self.client.sendall(part)
        self.sent += len(part)
        self.text += part
        proxy, name = self.proxy, self.request.name
        with proxy.lock:
            proxy.bytes += len(part)
            proxy.cuts += is_cut
            if name not in proxy.begun and POSITION.search(self.text):
                proxy.begun.add(name)
        self.text = self.text[-200:]
        if is_cut and self.by_reset:
            reset(self.client)
        return is_cut


class Request:
    """What a client asked for last on a connection."""

    def __init__(self):
        self.head = b""
        self.name = ""
        self.last_event_id = None

    def note(self, part):
        """Takes bytes in; true when the head of a request is whole. None has a body."""
        self.head += part
        head, end, rest = self.head.partition(b"\r\n\r\n")
        if not end:
            return False
        self.head = rest
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        agent = headers.get("user-agent", "")
        who = next((name for name in ("chrom", "httpx") if name in agent), "npm")
        self.last_event_id = headers.get("last-event-id")
        self.name = f"{who.replace('chrom', 'chromium')} {lines[0].split()[1]}"
        return True


def shut(sock):
    """Ends a connection; what was sent still arrives."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def reset(sock):
    """Breaks a connection off."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    except OSError:
        pass
