"""A Messages API that fails by chance: errors that pass, streams that break off, pauses. Each reply
says `I heard` and the last words of the request, so that answers can be told apart.
"""

import json
import random
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The errors that another attempt may cure: status and type.
PASSING = [(429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")]


def last_words(messages):
    """The last text of the last message; fails if the roles do not alternate."""
    for number, message in enumerate(messages):
        if message["role"] != ("user", "assistant")[number % 2]:
            raise ValueError(f"message {number} is of {message['role']}")
    if messages[-1]["role"] != "user":
        raise ValueError("the last message is not the user's")
    content = messages[-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def events(text):
    """The events of a reply, a few words in each delta."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    yield {"type": "message_start", "message": {"id": "msg_1", "model": "m", "role": "assistant",
                                                "content": [], "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    words = text.split(" ")
    for start in range(0, len(words), 4):
        piece = " ".join(words[start:start + 4]) + " "
        yield {"type": "content_block_delta", "index": 0,
               "delta": {"type": "text_delta", "text": piece}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    yield {"type": "message_stop"}


class Upstream(ThreadingHTTPServer):
    """The API; `faults` of a hundred requests fail."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, seed, faults):
        super().__init__(("127.0.0.1", 0), Handler)
        self.random = random.Random(seed)
        self.faults = faults
        self.violations = []
        # How often each fault was made, by its name.
        self.made = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """The service may be killed at any time, which is no news."""

    def fault(self):
        """The next request's fault, if it has one."""
        if self.random.randrange(100) >= self.faults:
            return None
        fault = self.random.choice(["error", "event", "cut", "reset", "slow"])
        self.made[fault] = self.made.get(fault, 0) + 1
        return fault


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        """Nothing is printed."""

    def document(self, status, kind):
        """Answers with an error."""
        error = {"type": "error", "error": {"type": kind, "message": "by chance"}}
        body = json.dumps(error).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        """The list of models is not served."""
        self.document(404, "not_found_error")

    def do_POST(self):
        """Streams a reply, or fails."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            heard = last_words(request["messages"])
        except (KeyError, IndexError, ValueError) as error:
            self.server.violations.append(str(error))
            return self.document(400, "invalid_request_error")
        fault = self.server.fault()
        if fault == "error":
            return self.document(*self.server.random.choice(PASSING))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        text = f"I heard {heard}. " + "word " * 40
        if fault == "event":
            self.event({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
        else:
            for number, event in enumerate(events(text)):
                if fault in ("cut", "reset") and number == 6:
                    return self.break_off(fault)
                self.event(event)
                threading.Event().wait(0.1 if fault == "slow" else 0.005)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def event(self, event):
        """Sends one event as a chunk."""
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def break_off(self, fault):
        """Ends the connection in the middle: between chunks, or inside one."""
        if fault == "reset":
            self.wfile.write(b"ff\r\ndata: {")
        self.close_connection = True


class Pause(float):
    """Between two events: how many seconds nothing is sent."""


def call(name, tool_input, key, input_tokens=10):
    """The events of a reply that is one call of a tool."""
    usage = {"input_tokens": input_tokens, "output_tokens": 1}
    yield {"type": "message_start", "message": {"id": "msg_1", "model": "m", "role": "assistant",
                                                "content": [], "usage": usage}}
    yield {"type": "content_block_start", "index": 0,
           "content_block": {"type": "tool_use", "id": key, "name": name, "input": {}}}
    yield {"type": "content_block_delta", "index": 0,
           "delta": {"type": "input_json_delta", "partial_json": json.dumps(tool_input)}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage}
    yield {"type": "message_stop"}


class Scripted(ThreadingHTTPServer):
    """A Messages API whose replies a function makes: it is given the messages, and yields events and
    pauses."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, reply):
        super().__init__(("127.0.0.1", 0), ScriptedHandler)
        self.reply = reply
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """A service that was ended is no news."""


class ScriptedHandler(Handler):
    """One connection."""

    def do_POST(self):
        """Streams the reply."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in self.server.reply(request["messages"]):
            if isinstance(event, Pause):
                time.sleep(event)
            else:
                self.event(event)
        self.wfile.write(b"0\r\n\r\n")
