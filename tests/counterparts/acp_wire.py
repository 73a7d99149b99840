"""The lines between clients and agents of the Agent Client Protocol: a recorder of them, and a judge of the agent's.

Run as a program it is the recorder: `acp_wire.py FOLDER COMMAND…` runs an agent, passes the lines of both sides on, and
appends each one to a log in the folder, with the side that sent it. The agent's standard error goes to a file there.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

# The keywords by which several schemas hold for one value.
IN_PLACE = ("allOf", "anyOf", "oneOf")
# The fields that say which kind of value it is.
TAGS = (["sessionUpdate"], ["type"])
# The updates that only a client gets that has a capability, with its name.
OFFERED = {"notice": "notices", "compaction_update": "compaction", "compaction_summary_chunk": "compaction"}


def record(folder, command):
    """Runs an agent between standard input and standard output, and ends as it does."""
    log = Path(folder) / f"{os.getpid()}.jsonl"
    lock = threading.Lock()
    with open(log, "ab", buffering=0) as lines, open(log.with_suffix(".err"), "ab") as errors:
        agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

        def write(entry):
            with lock:
                lines.write(json.dumps(entry).encode() + b"\n")

        def pass_on(side, source, sink):
            try:
                for line in iter(source.readline, b""):
                    # A line is on record before the other side can have it.
                    write({"from": side, "line": line.decode(errors="replace")})
                    sink.write(line)
                    sink.flush()
                write({"from": side, "end": True})
                sink.close()
            except BrokenPipeError:
                write({"from": side, "end": False})

        threading.Thread(target=pass_on, args=("client", sys.stdin.buffer, agent.stdin), daemon=True).start()
        pass_on("agent", agent.stdout, sys.stdout.buffer)
        code = agent.wait()
        write({"from": "agent", "code": code})
    # The thread may still wait for a line of the client.
    os._exit(code if code >= 0 else 1)


class Wire:
    """The log of one agent."""

    def __init__(self, log):
        self.log = log

    def entries(self):
        """All entries so far."""
        return [json.loads(line) for line in self.log.read_bytes().split(b"\n")[:-1]]

    def messages(self):
        """The messages so far, each with the side that sent it. What is no object is left out."""
        for entry in self.entries():
            try:
                message = json.loads(entry.get("line", "null"))
            except ValueError:
                continue
            if isinstance(message, dict):
                yield entry["from"], message

    def sent(self, side, method):
        """The messages of one side that name this method."""
        return [message for sender, message in self.messages() if sender == side and message.get("method") == method]

    def updates(self):
        """The updates of all sessions."""
        return [message["params"]["update"] for message in self.sent("agent", "session/update")]

    def exchange(self, method):
        """The updates between the last request of a method and its answer, and that answer; `None` before it comes."""
        name, updates, answer = None, [], None
        for side, message in self.messages():
            if side == "client" and message.get("method") == method:
                name, updates, answer = message["id"], [], None
            elif side == "agent" and answer is None and name is not None:
                if message.get("method") == "session/update":
                    updates.append(message["params"]["update"])
                elif "method" not in message and message.get("id") == name:
                    answer = message
        return updates, answer

    def exit_code(self):
        """The exit code of the agent; `None` while it runs."""
        return next((entry["code"] for entry in self.entries() if "code" in entry), None)

    def is_alive(self):
        """True while the recorder runs. A client may end it by a signal, and then no exit code is on record."""
        return Path("/proc", self.log.stem).exists()

    def errors(self):
        """The standard error of the agent."""
        return self.log.with_suffix(".err").read_text(errors="replace")


def wires(folder):
    """The logs in a folder, by the time of their last lines."""
    logs = sorted(Path(folder).glob("*.jsonl"), key=lambda log: log.stat().st_ctime_ns)
    return [Wire(log) for log in logs]


def story(updates):
    """The prompts, the texts and the calls of updates, in their order."""
    parts, calls = [], {}
    for update in updates:
        who, _, rest = update["sessionUpdate"].partition("_message")
        if rest == "_chunk":
            if not parts or parts[-1][0] != who:
                parts.append([who, ""])
            parts[-1][1] += update["content"]["text"]
        elif who == "tool_call":
            parts.append(calls.setdefault(update["toolCallId"], ["call", update.get("status", "pending")]))
        elif who == "tool_call_update" and update.get("status"):
            calls[update["toolCallId"]].append(update["status"])
    return [(part[0], part[1], part[-1]) if part[0] == "call" else tuple(part) for part in parts]


def diffs(updates):
    """The changes that updates show."""
    contents = [update.get("content") for update in updates]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return {(block["path"], block["oldText"], block["newText"]) for block in blocks if block["type"] == "diff"}


def close(schema, closed=False):
    """Lets the objects of a schema have no fields that it does not name."""
    if isinstance(schema, list):
        for part in schema:
            close(part, closed)
    elif isinstance(schema, dict):
        if not closed and ("$ref" in schema or "properties" in schema):
            schema.setdefault("unevaluatedProperties", False)
            closed = True
        for key in IN_PLACE:
            close(schema.get(key), closed)
        close(schema.get("items"))
        close(list(schema.get("properties", {}).values()))


def innermost(error):
    """The part of an error that is about the kind of value that was meant."""
    kinds = {}
    for part in error.context:
        kinds.setdefault(part.schema_path[0], []).append(part)
    meant = [parts for parts in kinds.values()
             if not any(part.validator == "const" and list(part.path)[-1:] in TAGS for part in parts)]
    return innermost(meant[0][0]) if len(meant) == 1 else error


class Judge:
    """The official schema of the protocol, and the rules of JSON-RPC, applied to what agents send."""

    def __init__(self, path):
        # The recorder runs without it.
        from jsonschema import Draft202012Validator

        self.lines = 0
        self.definitions = json.loads(Path(path).read_text())["$defs"]
        self.validators = {}
        # The definitions by side, method and sort of message.
        self.names = {}
        for name, schema in self.definitions.items():
            # The place where a definition is used closes it.
            close(schema, closed=True)
            sort = next((sort for sort in ("Response", "Request", "Notification") if name.endswith(sort)), None)
            if "x-method" in schema:
                self.names[schema["x-side"], schema["x-method"], sort] = name
            place = {"$ref": f"#/$defs/{name}", "unevaluatedProperties": False, "$defs": self.definitions}
            self.validators[name] = Draft202012Validator(place)

    def try_out(self):
        """Fails if the schema takes what is wrong: a judge that takes everything judges nothing."""
        call = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "one"}
        wrong = [{**call, "kind": "work"}, {**call, "colour": "red"}, {"sessionUpdate": "tool_call", "toolCallId": "1"},
                 {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "content": "one"}},
                 {**call, "content": [{"type": "diff", "path": "/a", "newText": "b", "old": "a"}]}]
        for update in [call, *wrong]:
            fault = self.fault("SessionNotification", {"sessionId": "1", "update": update})
            if (fault is None) != (update is call):
                raise ValueError(f"the schema says {fault} about {update}")

    def fault(self, name, value):
        """The reason why a value is no such thing; `None` if it is one."""
        if name is None:
            return "the protocol has no such message"
        errors = list(self.validators[name].iter_errors(value))
        # Where a field is wrong, all fields of its object count as unknown, too.
        errors = [error for error in errors if error.validator != "unevaluatedProperties"] or errors
        if not errors:
            return None
        error = innermost(errors[0])
        return f"{name}{error.json_path[1:]}: {error.message[:300]}"

    def complaints(self, wire):
        """The faults of the lines of an agent."""
        state = {"open": {}, "asked": set(), "sessions": set(), "offered": {}}
        found = []
        for entry in wire.entries():
            line = entry.get("line")
            if line is None:
                continue
            try:
                message = json.loads(line)
            except ValueError as error:
                message = error
            if entry["from"] == "client":
                self.remember(message, state)
                continue
            self.lines += 1
            fault = "the line does not end" if not line.endswith("\n") else self.message_fault(message, state)
            if fault:
                found.append(f"{fault}: {line[:600].strip()}")
        return found

    def remember(self, message, state):
        """Remembers what matters of a message of the client."""
        if not isinstance(message, dict):
            return
        method, params = message.get("method"), message.get("params") or {}
        if method and "id" in message:
            state["open"][json.dumps(message["id"])] = method
        if method in ("session/load", "session/resume"):
            state["sessions"].add(params["sessionId"])
        if method == "initialize":
            state["offered"] = params.get("clientCapabilities", {}).get("session") or {}

    def message_fault(self, message, state):
        """The reason why a message of the agent is wrong; `None` if it is right."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return f"it is no message of JSON-RPC ({message!r:.200})"
        if further := message.keys() - {"jsonrpc", "id", "method", "params", "result", "error"}:
            return f"a message has no {further}"
        if "method" not in message:
            return self.answer_fault(message, state)
        method, params = message["method"], message.get("params")
        if "id" in message:
            name = json.dumps(message["id"])
            if name in state["asked"]:
                return f"the request {name} is there twice"
            state["asked"].add(name)
            return self.fault(self.names.get(("client", method, "Request")), params)
        if method == "$/cancel_request":
            if json.dumps(params["requestId"]) not in state["asked"]:
                return "it cancels no request of the agent"
            return self.fault(self.names["protocol", method, "Notification"], params)
        fault = self.fault(self.names.get(("client", method, "Notification")), params)
        if fault or method != "session/update":
            return fault
        if params["sessionId"] not in state["sessions"]:
            return "the client does not know the session yet"
        capability = OFFERED.get(params["update"]["sessionUpdate"])
        if capability and state["offered"].get(capability) is None:
            return f"the client has no capability {capability}"
        return None

    def answer_fault(self, message, state):
        """The reason why an answer of the agent is wrong; `None` if it is right."""
        method = state["open"].pop(json.dumps(message.get("id")), None)
        if method is None:
            return "it answers no request that is open"
        if ("result" in message) == ("error" in message):
            return "an answer has a result or an error"
        if "error" in message:
            return self.fault("Error", message["error"])
        if method == "session/new" and isinstance(message["result"], dict):
            state["sessions"].add(message["result"].get("sessionId"))
        return self.fault(self.names.get(("agent", method, "Response")), message["result"])


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2:])
