"""Checks the tools of seven public MCP servers in conversations whose model is a script.

Each server is added and accepted by the client's command, as an operator does it, contained with its default access, and
called by the model in a folder of its own. Every result is looked at. At the end no process of a server is left.

Needs `HARNESS_BIN`, the path of the binary, and `COUNTERPARTS`, the folder with `node_modules/.bin`, `mcp/bin` and
`mcp-old/bin` in which the servers are.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from harness import Failure, Service, wait_until  # noqa: E402

FOLDER = Path(os.environ["COUNTERPARTS"])
PAGE = "<html><body><h1>A page</h1><p>It says fourteen.</p></body></html>"


class Api(ThreadingHTTPServer):
    """A Messages API that calls the tools that it is given, and serves a page for the fetch."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls = []
        self.requests = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    def log_message(self, format, *args):
        """Nothing is printed."""

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/page":
            return self.answer(200, "text/html", PAGE.encode())
        return self.answer(404, "application/json", b"{}")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(request)
        block, more = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
        stop = "end_turn"
        if self.server.calls:
            name, given = self.server.calls.pop(0)
            block = {"type": "tool_use", "id": f"toolu_{len(self.server.requests)}", "name": name, "input": {}}
            more = {"type": "input_json_delta", "partial_json": json.dumps(given)}
            stop = "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [{"type": "message_start", "message": message},
                  {"type": "content_block_start", "index": 0, "content_block": block},
                  {"type": "content_block_delta", "index": 0, "delta": more},
                  {"type": "content_block_stop", "index": 0},
                  {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
                  {"type": "message_stop"}]
        lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.answer(200, "text/event-stream", lines.encode())


class Trial:
    """One service, one folder, and the servers in it."""

    def __init__(self, folder, api):
        self.api = api
        # They may be installed where contained programs see nothing else, such as below /tmp.
        self.service = Service(folder, "--sandbox-write", str(FOLDER), model=("--model", "claude-sonnet-5"))
        self.work = self.service.folder / "workspace"
        self.service.environment.update({
            "ANTHROPIC_BASE_URL": api.url(), "ANTHROPIC_API_KEY": "sk-test", "HOME": os.environ["HOME"],
        })
        self.service.start()
        self.conversation = None
        self.checked = 0

    def command(self, *words):
        environment = {"PATH": os.environ["PATH"], "HARNESS_HOME": str(self.service.home), "HOME": os.environ["HOME"]}
        done = subprocess.run([os.environ["HARNESS_BIN"], *words], env=environment, cwd=self.work, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        if done.returncode != 0:
            raise Failure(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def add(self, name, *words):
        """Adds a server, accepts it, and begins a conversation that may call all of its tools."""
        flags = [word for word in words if word.startswith("--env=")]
        words = [word for word in words if not word.startswith("--env=")]
        self.command("mcp", "add", name, "--yes", *flags, "--", *words)
        self.conversation = self.service.expect(201, "POST", "/v1/conversations", {"workspace": str(self.work)})["id"]
        rules = {"add": [{"action": "allow", "rule": f"mcp({name}.* *)"}]}
        self.service.order("PATCH", f"/v1/conversations/{self.conversation}/rules", rules)

    def call(self, name, given, *parts, is_error=False):
        """Lets the model call a tool, and looks at the result."""
        self.api.calls.append((name, given))
        self.service.order("POST", f"/v1/conversations/{self.conversation}/prompt", {"content": f"Call {name}."})
        self.service.wait_for_end(self.conversation)
        results = [entry["event"] for entry in self.service.history(self.conversation)
                   if entry["event"]["type"] == "tool_result"]
        last = results[-1] if results else None
        if last is None or last["isError"] != is_error or not all(part in last["result"] for part in parts):
            raise Failure(f"{name} {given}: {last}\n{self.service.last_log()}")
        self.checked += 1
        return last["result"]


def npm(name):
    return str(FOLDER / "node_modules" / ".bin" / f"mcp-server-{name}")


def pip(name, folder="mcp"):
    return str(FOLDER / folder / "bin" / f"mcp-server-{name}")


def files(trial):
    """Reads and writes files of the folder, and nothing else."""
    trial.add("files", npm("filesystem"), ".")
    note = str(trial.work / "note.txt")
    trial.call("mcp__files__write_file", {"path": note, "content": "one\ntwo\n"}, "note.txt")
    trial.call("mcp__files__read_text_file", {"path": note}, "one", "two")
    edits = [{"oldText": "two", "newText": "2"}]
    trial.call("mcp__files__edit_file", {"path": note, "edits": edits}, "+2")
    trial.call("mcp__files__list_directory", {"path": str(trial.work)}, "note.txt", "src")
    trial.call("mcp__files__read_text_file", {"path": "/etc/hostname"}, "denied", is_error=True)


def git(trial):
    """Commits with the git server."""
    subprocess.run("git init -q && git config user.name a && git config user.email a@b", shell=True, cwd=trial.work, check=True)
    trial.add("git", pip("git"))
    place = {"repo_path": str(trial.work)}
    trial.call("mcp__git__git_status", place, "src")
    trial.call("mcp__git__git_add", {**place, "files": ["src/main.rs"]}, "staged")
    trial.call("mcp__git__git_commit", {**place, "message": "Add main"}, "committed")
    trial.call("mcp__git__git_log", place, "Add main")


def sqlite(trial):
    """Makes a table and reads from it."""
    trial.add("db", pip("sqlite", "mcp-old"), "--db-path", str(trial.work / "a.db"))
    trial.call("mcp__db__create_table", {"query": "CREATE TABLE t (n INTEGER)"}, "created")
    trial.call("mcp__db__write_query", {"query": "INSERT INTO t VALUES (7), (8)"}, "2")
    trial.call("mcp__db__read_query", {"query": "SELECT sum(n) AS s FROM t"}, "15")


def clock(trial):
    """Asks for the time."""
    trial.add("time", pip("time"), "--local-timezone=Europe/Vienna")
    trial.call("mcp__time__get_current_time", {"timezone": "Asia/Tokyo"}, "Asia/Tokyo")
    trial.call("mcp__time__get_current_time", {"timezone": "Nowhere/At_All"}, "Nowhere", is_error=True)


def fetch(trial):
    """Fetches a page of this machine."""
    trial.add("fetch", pip("fetch"), "--ignore-robots-txt", "--allow-private-ips")
    trial.call("mcp__fetch__fetch", {"url": f"{trial.api.url()}/page"}, "It says fourteen.")


def memory(trial):
    """Keeps a graph in a file of the folder."""
    trial.add("memory", f"--env=MEMORY_FILE_PATH={trial.work / 'memory.jsonl'}", npm("memory"))
    entities = [{"name": "Ana", "entityType": "person", "observations": ["likes tea"]}]
    trial.call("mcp__memory__create_entities", {"entities": entities}, "Ana")
    trial.call("mcp__memory__read_graph", {}, "likes tea")


def everything(trial):
    """Calls what the reference server has, and cancels a long call."""
    trial.add("every", npm("everything"))
    trial.call("mcp__every__echo", {"message": "hello"}, "Echo: hello")
    trial.call("mcp__every__get-sum", {"a": 19, "b": 23}, "42")
    trial.call("mcp__every__get-tiny-image", {}, "[image image/png", "not shown")
    trial.call("mcp__every__get-structured-content", {"location": "New York"}, "temperature")
    trial.call("mcp__every__trigger-long-running-operation", {"duration": 1, "steps": 3}, "completed")
    trial.api.calls.append(("mcp__every__trigger-long-running-operation", {"duration": 60, "steps": 60}))
    path = f"/v1/conversations/{trial.conversation}"
    trial.service.order("POST", f"{path}/prompt", {"content": "Begin."})

    def is_called():
        return any(entry["event"]["type"] == "effect_began" for entry in trial.service.history(trial.conversation)[-4:])

    wait_until("the long call", is_called)
    begun = time.monotonic()
    trial.service.order("POST", f"{path}/cancel", {})
    trial.service.wait_for_end(trial.conversation)
    took = time.monotonic() - begun
    if took > 5:
        raise Failure(f"the cancel took {took:.1f} s")
    trial.call("mcp__every__echo", {"message": "still here"}, "Echo: still here")


def processes(text):
    """The processes with a text in their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found


def main():
    api = Api()
    with tempfile.TemporaryDirectory() as name:
        for check in (files, git, sqlite, clock, fetch, memory, everything):
            trial = Trial(Path(name) / check.__name__, api)
            try:
                check(trial)
                listed = json.loads(trial.command("mcp", "list", "--json"))["items"][0]
                if listed["running"] != 1 or listed.get("error"):
                    raise Failure(f"{check.__name__}: {listed}")
                left_out = [tool for tool in listed["tools"] if tool["state"] != "accepted"]
                print(f"{listed['name']} ({listed['version']}): {len(listed['tools'])} tools, {trial.checked} calls, "
                      f"left out: {[tool['tool'] for tool in left_out]}", flush=True)
            finally:
                trial.service.kill()
            wait_until(f"no process of {check.__name__}", lambda: not processes(str(trial.work)), 10)


if __name__ == "__main__":
    try:
        main()
    except Failure as error:
        sys.exit(str(error))
