"""Checks the service against the vendor's own clients of the Messages API, for Python and for Node.

Two services, one for each version of the API, get replies that are made at random from a printed seed. Their requests
are held to the types of the Python client, in which no field beyond the known ones is allowed. The content, the usage
and the end of each reply in the journal are compared with what both clients make of the same stream. Then a server
refuses betas by header, by field, by model or now and then: no turn fails.

Needs `HARNESS_BIN`, the path of the binary, the package `anthropic` beside the Python that runs this, and
`@anthropic-ai/sdk` below `COUNTERPARTS`.
"""

import argparse
import base64
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import typing
import warnings
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# The types have to be read with lists, which are checked, in place of iterables, which are not, and of open files.
typing.Iterable = typing.IO = typing.List

import anthropic  # noqa: E402
import anthropic.types  # noqa: E402
import anthropic.types.beta  # noqa: E402
from anthropic.types import message_create_params as plain_params  # noqa: E402
from anthropic.types.beta import message_create_params as beta_params  # noqa: E402
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError  # noqa: E402
from typing_extensions import is_typeddict  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from harness import Failure, Service  # noqa: E402
from streams import MODELS, Replies  # noqa: E402

VERSIONS = ["2023-06-01", "2026-10-21"]
# How many conversations the replies are spread over: a request has all of its past.
REPLIES_EACH = 12
PICTURE = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
SCHEMA = {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "string"}}}
REFUSALS = {
    "server-side-fallback": ("fallbacks", "fallbacks: Extra inputs are not permitted"),
    "context-management": ("context_management", "context_management: Extra inputs are not permitted"),
}


class Api:
    """A server that answers each request for a reply with the next stream, and keeps the requests."""

    def __init__(self, streams, refuse=None):
        self.streams, self.refuse = streams, refuse
        self.next, self.requests, self.lock = 0, [], threading.Lock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                models = [{"type": "model", "id": model, "display_name": model, "created_at": "2026-01-01T00:00:00Z",
                           "max_input_tokens": 1000000, "max_tokens": 64000} for model in api.models()]
                page = {"data": models, "has_more": False, "first_id": None, "last_id": None}
                self.answer(200, "application/json", json.dumps(page).encode())

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                given = self.headers.get("x-stream")
                status, kind, answer = (200, "text/event-stream", api.streams[int(given)]) if given else api.reply(
                    self.headers, body)
                self.answer(status, kind, answer)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def models(self):
        return MODELS + [f"model-{number}" for number in range(60)]

    def reply(self, headers, body):
        with self.lock:
            self.requests.append((headers.get("anthropic-version"), headers.get("anthropic-beta"), body))
            if self.refuse and (message := self.refuse(headers.get("anthropic-beta") or "", body)):
                error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
                return 400, "application/json", json.dumps(error).encode()
            stream = self.streams[self.next] if self.next < len(self.streams) else LAST
            self.next += 1
            return 200, "text/event-stream", stream


def simple(text):
    """The stream of a reply with this text."""
    start = {"id": "msg_x", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
             "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    events = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


LAST = simple("Yes.")


def judges():
    """The types of a request, without betas and with some; no field beyond the known ones is allowed."""
    closed = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("anthropic.types")]
    found = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, type)}
    models = [one for one in found.values() if issubclass(one, BaseModel)]
    for one in found.values():
        if is_typeddict(one):
            one.__pydantic_config__ = closed
    # A block of a reply is also taken in a request, as a model that lets any field pass.
    for one in models:
        one.model_config["extra"] = "forbid"
    for one in models:
        one.model_rebuild(force=True)
    with warnings.catch_warnings():
        # One type says itself that it takes more.
        warnings.simplefilter("ignore")
        return (TypeAdapter(plain_params.MessageCreateParamsStreaming),
                TypeAdapter(beta_params.MessageCreateParamsStreaming))


def try_judges(plain, beta):
    """The types refuse what the API refuses: a judge that takes everything judges nothing."""
    good = {"model": "m", "max_tokens": 1, "stream": True, "messages": [{"role": "user", "content": [
        {"type": "text", "text": "x"}]}]}
    plain.validate_python(good)
    beta.validate_python({**good, "fallbacks": "default"})
    bad_text = [{"role": "user", "content": [{"type": "text", "text": "x", "partial": True}]}]
    bad_tool = [{"name": "a", "input_schema": {"type": "object"}, "secret": 1}]
    for judge, change in [(plain, {"fallbacks": "default"}), (plain, {"thread": {"type": "create"}}),
                          (beta, {"extra": 1}), (beta, {"messages": bad_text}), (plain, {"messages": bad_text}),
                          (plain, {"tools": bad_tool}), (beta, {"tools": bad_tool}),
                          (plain, {"thinking": {"type": "adaptive", "depth": 1}})]:
        try:
            judge.validate_python({**good, **change})
        except ValidationError:
            continue
        raise Failure(f"the types of the client take {change}")


def judge(requests, version, plain, beta):
    """Holds the requests to the types; how many blocks of each type they have."""
    kinds = Counter()
    for said, betas, body in requests:
        if said != version:
            raise Failure(f"a request names version {said} and not {version}")
        try:
            (beta if betas else plain).validate_python(body)
        except ValidationError as error:
            wrong = [(one["loc"], one["msg"]) for one in error.errors()][:6]
            raise Failure(f"a request is not as the client's types have it: {wrong}\n{json.dumps(body)[:2000]}") from error
        if version == VERSIONS[1] and "temperature" in body:
            raise Failure("a request of the newer version has a temperature")
        for message in body["messages"]:
            kinds.update(block["type"] for block in message["content"])
    return kinds


def converse(service, chance, api):
    """Says something in new conversations until no reply is left; their ids."""
    conversations = []
    while api.next < len(api.streams):
        thinking = chance.choice(["off", "low", "high", "max"])
        settings = {"model": chance.choice(MODELS), "max_turns": 60, "max_tokens": 8000, "thinking": thinking,
                    "web_search": chance.choice(["on", "off"]), "web_fetch": chance.random() < 0.5,
                    "refusal_fallback": chance.choice(["on", "off"]),
                    "clear_tool_results": chance.random() < 0.5, "stop_sequences": ["END"] if chance.random() < 0.3 else [],
                    "system_prompt": chance.choice(["", "Be brief."])}
        if chance.random() < 0.3:
            settings["temperature"] = 0.5
        conversation = service.expect(201, "POST", "/v1/conversations", {"settings": settings})["id"]
        conversations.append(conversation)
        last = min(api.next + REPLIES_EACH, len(api.streams))
        while api.next < last:
            prompt = {"content": "Go on."}
            if chance.random() < 0.2:
                prompt["attachments"] = [{"data": PICTURE, "name": "a.png"},
                                         {"data": base64.b64encode("Ein Text".encode()).decode(), "name": "a.txt"}]
            if chance.random() < 0.2:
                prompt["schema"] = SCHEMA
            before = api.next
            service.order("POST", f"/v1/conversations/{conversation}/prompt", prompt)
            service.wait_for_end(conversation)
            if api.next == before:
                raise Failure(f"a run asked for no reply: {service.history(conversation)[-3:]}")
    return conversations


def replies(service, conversation):
    """The replies in a journal: content, usage and end."""
    content = []
    for line in service.journal(conversation).lines:
        kind, data = line.record["type"], line.record["data"]
        if kind == "block":
            content.append((data["index"], data["block"]))
        elif kind == "reply_ended":
            blocks = [block for _, block in sorted(content, key=lambda one: one[0])]
            yield {"id": data["id"], "content": blocks, "usage": data["usage"], "stop_reason": data["stop_reason"],
                   "model": data["model"]}
            content = []
        elif kind == "reply_failed":
            raise Failure(f"a reply failed: {data}")


def bare(value):
    """A value without members that are null: the clients add those that a stream left out."""
    if isinstance(value, dict):
        return {name: bare(inner) for name, inner in value.items() if inner is not None}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def part(message):
    """What is compared of a message: of the usage what the clients keep."""
    known = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation",
             "server_tool_use"]
    usage = bare(message["usage"])
    content = bare(message["content"])
    for block in content:
        # A text without citations has an empty list of them, or none.
        if block["type"] == "text" and not block.get("citations"):
            block.pop("citations", None)
        block.pop("parsed_output", None)
        block.pop("parsed", None)
    return {"id": message["id"], "model": message["model"], "stop_reason": message["stop_reason"], "content": content,
            "usage": {name: usage[name] for name in known if name in usage}}


def compare(name, theirs, ours):
    """Compares the replies of a client with those of the journal."""
    if len(theirs) != len(ours):
        raise Failure(f"{name} has {len(theirs)} replies, the journals {len(ours)}")
    for number, (their, our) in enumerate(zip(theirs, ours)):
        one, other = part(their), part(our)
        if one != other:
            wrong = {key: (one[key], other[key]) for key in one if one[key] != other[key]}
            raise Failure(f"reply {number} of {name} and of the journal: {json.dumps(wrong, indent=1)[:3000]}")


def of_python(url, count):
    """What the client for Python makes of the streams."""
    client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
    question = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    for number in range(count):
        with client.beta.messages.stream(**question, extra_headers={"x-stream": str(number)}) as stream:
            yield stream.get_final_message().to_dict(mode="json")


def of_node(url, count):
    """What the client for Node makes of the streams."""
    script = Path(os.environ["COUNTERPARTS"]) / "sdk_reply.mjs"
    shutil.copy(HERE / "sdk_reply.mjs", script)
    made = subprocess.run(["node", script, url, str(count)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Failure(f"the client for Node failed: {made.stderr[-2000:]}")
    return [json.loads(line) for line in made.stdout.split("\n") if line]


def started(folder, api, *flags):
    """The service with that server as its API."""
    service = Service(folder, *flags, model=("--model", MODELS[0]))
    service.environment.update({"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "k"})
    service.start()
    return service


def check_replies(seed, count, version, types):
    """Holds requests and replies under one version to the clients."""
    making = Replies(seed)
    api = Api([making.stream() for _ in range(count)])
    with tempfile.TemporaryDirectory() as folder:
        service = started(Path(folder), api, "--api-version", version)
        try:
            conversations = converse(service, random.Random(seed), api)
            ours = [reply for conversation in conversations for reply in replies(service, conversation)]
        finally:
            service.kill()
    kinds = judge(api.requests, version, *types)
    # A run may have asked for more than there were.
    ours = ours[:count]
    compare("the client for Python", list(of_python(api.url, count)), ours)
    compare("the client for Node", of_node(api.url, count), ours)
    print(f"{version}: {len(api.requests)} requests are as the client's types have them, {count} replies as both clients "
          f"have them, in {len(conversations)} conversations; blocks: {dict(kinds.most_common())}", flush=True)


def refusing(chance):
    """A rule that refuses betas: by header, by field, by model, or now and then."""

    def refuse(header, body):
        model = body["model"]
        number = int(model.rpartition("-")[2]) if model.startswith("model-") else 0
        found = [name for name in REFUSALS if name in header]
        fields = [REFUSALS[name][1] for name in REFUSALS if REFUSALS[name][0] in body]
        way = number % 5
        if way == 0 and header:
            return "invalid beta flag"
        if way == 1 and found:
            return f"Unsupported beta header: {found[-1]}-2026-01-01"
        if way == 2 and fields:
            return fields[0]
        if way == 3 and number % 2 and "output_config" in body and "format" in body["output_config"]:
            return "output_config.format: Extra inputs are not permitted"
        if way == 4 and chance.random() < 0.2:
            return chance.choice(fields) if fields else None
        return None

    return refuse


def check_refusals(seed, turns):
    """Runs turns at a server that refuses betas: none fails, and what was said is in each request."""
    chance = random.Random(seed)
    api = Api([], refusing(chance))
    with tempfile.TemporaryDirectory() as folder:
        service = started(Path(folder), api, "--refusal-fallback", "on", "--clear-tool-results", "true")
        try:
            done, failed = 0, []
            while done < turns:
                settings = {"model": f"model-{chance.randrange(60)}"}
                conversation = service.expect(201, "POST", "/v1/conversations", {"settings": settings})["id"]
                for number in range(chance.randint(1, 12)):
                    prompt = {"content": f"Prompt {done}."}
                    if chance.random() < 0.2:
                        prompt["schema"] = SCHEMA
                    service.order("POST", f"/v1/conversations/{conversation}/prompt", prompt)
                    service.wait_for_end(conversation)
                    said = [block.get("text") for message in api.requests[-1][2]["messages"]
                            for block in message["content"] if message["role"] == "user"]
                    if len(said) != number + 1 or prompt["content"] != said[-1]:
                        raise Failure(f"something of the user's was left out: {said}")
                    done += 1
                ends = [entry["event"] for entry in service.history(conversation)
                        if entry["event"]["type"] == "run_ended"]
                failed += [end for end in ends if end["outcome"] != "completed"]
        finally:
            service.kill()
    if failed:
        raise Failure(f"{len(failed)} of {done} turns failed: {failed[0]}")
    refused = len(api.requests) - done
    if refused < 60:
        raise Failure(f"only {refused} requests were refused")
    print(f"{done} turns at a server that refused {refused} requests: none failed, nothing was left out", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--replies", type=int, default=500, help="for each version")
    parser.add_argument("--turns", type=int, default=1000)
    flags = parser.parse_args()
    print(f"seed {flags.seed}; anthropic {anthropic.__version__}", flush=True)
    try:
        types = judges()
        try_judges(*types)
        for number, version in enumerate(VERSIONS):
            check_replies(flags.seed + number, flags.replies, version, types)
        check_refusals(flags.seed, flags.turns)
    except Failure as error:
        sys.exit(f"seed {flags.seed}: {error}")


if __name__ == "__main__":
    main()
