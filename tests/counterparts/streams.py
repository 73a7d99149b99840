"""Replies of the Messages API, made at random from a seed: the events of each as the API streams them."""

import json
import random

MODELS = ["claude-opus-5-5", "claude-fable-5-1", "claude-sonnet-5-5", "claude-haiku-5-5"]
WORDS = ["Ada", "größer", "日本語", "👩‍🚀", "x = \"y\\n\"", "\n\n", "</tool>", "e\u0301", "\u2028", "tab\t", "done.", "\\u0041"]
CALLS = [("list_dir", {"path": "src"}), ("read", {"path": "src/main.rs", "offset": 1}),
         ("grep", {"pattern": "main", "path": "."}), ("read", {"path": "none/ünknown.txt"}), ("list_dir", {})]


class Replies:
    """Makes replies one after the other. An open call of the API's own is answered by the next one."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.number = 0
        # The call whose result the next reply begins with.
        self.open = None

    def id(self, prefix):
        self.number += 1
        return f"{prefix}_{self.number:06}"

    def text(self):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 12)))

    def pieces(self, text):
        """A text in pieces of any length, with empty ones."""
        pieces = [""] if self.random.random() < 0.3 else []
        while text:
            length = self.random.randint(1, 9)
            pieces.append(text[:length])
            text = text[length:]
        return pieces

    def search(self):
        hits = [{"type": "web_search_result", "url": f"https://example.org/{number}", "title": self.text(),
                 "encrypted_content": "E" * 40, "page_age": self.random.choice([None, "May 1, 2026"])}
                for number in range(self.random.randint(0, 3))]
        failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
        return failed if self.random.random() < 0.2 else hits

    def page(self):
        document = {"type": "document", "title": self.text(), "citations": {"enabled": True},
                    "source": {"type": "text", "media_type": "text/plain", "data": self.text()}}
        page = {"type": "web_fetch_result", "url": "https://example.org/a", "content": document,
                "retrieved_at": "2026-11-25T10:00:00Z"}
        failed = {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}
        return failed if self.random.random() < 0.2 else page

    def result(self, call):
        content = self.search() if call["name"] == "web_search" else self.page()
        return {"type": f"{call['name']}_tool_result", "tool_use_id": call["id"], "content": content,
                "caller": {"type": "direct"}}

    def citation(self):
        if self.random.random() < 0.6:
            return {"type": "web_search_result_location", "url": "https://example.org/1", "title": self.text(),
                    "encrypted_index": "I" * 20, "cited_text": self.text()}
        return {"type": "char_location", "cited_text": self.text(), "document_index": 0, "document_title": None,
                "start_char_index": 0, "end_char_index": 7, "file_id": None}

    def reply(self):
        """The content of a reply, its model and the reason of its end."""
        blocks, model = [], self.random.choice(MODELS)
        if self.open:
            blocks.append(self.result(self.open))
            self.open = None
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choices(["thinking", "redacted", "text", "cited", "search", "fetch", "fallback"],
                                       [4, 1, 8, 3, 3, 2, 1])[0]
            if kind == "thinking":
                thinking = self.random.choice(["", self.text()])
                blocks.append({"type": "thinking", "thinking": thinking, "signature": self.id("sig")})
            elif kind == "redacted":
                blocks.append({"type": "redacted_thinking", "data": "R" * 30})
            elif kind == "text":
                blocks.append({"type": "text", "text": self.text()})
            elif kind == "cited":
                cited = [self.citation() for _ in range(self.random.randint(1, 3))]
                blocks.append({"type": "text", "text": self.text(), "citations": cited})
            elif kind == "fallback":
                to = self.random.choice(MODELS)
                blocks.append({"type": "fallback", "from": {"model": model}, "to": {"model": to},
                               "trigger": {"type": "refusal", "category": "cyber"}})
                model = to
            else:
                name = "web_search" if kind == "search" else "web_fetch"
                asked = {"query": self.text()} if kind == "search" else {"url": "https://example.org/a"}
                call = {"type": "server_tool_use", "id": self.id("srvtoolu"), "name": name, "input": asked,
                        "caller": {"type": "direct"}}
                blocks += [call, self.result(call)]
        end = self.random.choices(["end_turn", "tool_use", "mixed", "max_tokens", "stop_sequence", "refusal",
                                   "pause_turn"], [10, 8, 2, 1, 1, 1, 1])[0]
        if end in ("tool_use", "mixed"):
            for name, given in self.random.sample(CALLS, self.random.randint(1, 3)):
                blocks.append({"type": "tool_use", "id": self.id("toolu"), "name": name, "input": given,
                               "caller": {"type": "direct"}})
        if end == "mixed":
            call = {"type": "server_tool_use", "id": self.id("srvtoolu"), "name": "web_search",
                    "input": {"query": self.text()}, "caller": {"type": "direct"}}
            blocks.insert(len(blocks) - 1, call)
            self.open = call
            end = "tool_use"
        if end == "pause_turn":
            call = {"type": "server_tool_use", "id": self.id("srvtoolu"), "name": "web_fetch",
                    "input": {"url": "https://example.org/b"}, "caller": {"type": "direct"}}
            blocks.append(call)
            self.open = call
        return blocks, model, end

    def usage(self):
        counts = {name: self.random.randint(0, 900) for name in
                  ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")}
        counts["cache_creation"] = {"ephemeral_5m_input_tokens": counts["cache_creation_input_tokens"],
                                    "ephemeral_1h_input_tokens": 0}
        return {**counts, "service_tier": "standard", "inference_geo": None}

    def events(self):
        """The events of the next reply, each a name and its data."""
        blocks, model, end = self.reply()
        first = blocks[0]["from"]["model"] if blocks[0]["type"] == "fallback" else model
        start = {"id": self.id("msg"), "type": "message", "role": "assistant", "model": first, "content": [],
                 "stop_reason": None, "stop_sequence": None, "stop_details": None, "container": None,
                 "usage": {**self.usage(), "output_tokens": 1}}
        yield {"type": "message_start", "message": start}
        for index, block in enumerate(blocks):
            yield from self.block(index, block)
            if self.random.random() < 0.2:
                yield {"type": "ping"}
        usage = {"output_tokens": self.random.randint(2, 900)}
        if self.random.random() < 0.6:
            usage.update({name: self.random.randint(0, 900) for name in
                          ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")})
        if any(block["type"] == "server_tool_use" for block in blocks):
            usage["server_tool_use"] = {"web_search_requests": self.random.randint(0, 3),
                                        "web_fetch_requests": self.random.randint(0, 2)}
        sequence = "END" if end == "stop_sequence" else None
        details = {"type": "refusal", "category": "cyber", "explanation": None} if end == "refusal" else None
        delta = {"stop_reason": end, "stop_sequence": sequence, "stop_details": details, "container": None}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}

    def block(self, index, block):
        start, deltas = dict(block), []
        if block["type"] == "text":
            start = {"type": "text", "text": ""}
            if "citations" in block:
                start["citations"] = []
                deltas = [{"type": "citations_delta", "citation": one} for one in block["citations"]]
            texts = [{"type": "text_delta", "text": piece} for piece in self.pieces(block["text"])]
            # Citations come anywhere between the pieces of the text, in their order.
            for delta in deltas:
                texts.insert(self.random.randint(0, len(texts)), None)
            given = iter(deltas)
            deltas = [text or next(given) for text in texts]
        elif block["type"] == "thinking":
            start.update({"thinking": "", "signature": ""})
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in self.pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] in ("tool_use", "server_tool_use"):
            start["input"] = {}
            text = json.dumps(block["input"], ensure_ascii=self.random.random() < 0.5)
            if block["input"] or self.random.random() < 0.5:
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in self.pieces(text)]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}

    def stream(self):
        """The bytes of the next reply."""
        events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in self.events())
        return "".join(events).encode()
