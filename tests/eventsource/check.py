"""Follows event streams with three EventSource clients while every connection breaks again and
again; see tests/eventsource/run.sh.
"""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from harness import DEFAULT, Failure, NoAnswer, Service, wait_until
from proxy import Proxy

HERE = Path(__file__).resolve().parent
CLIENTS = {
    "npm": ["node", str(HERE / "npm.mjs")],
    "httpx": [sys.executable, str(HERE / "httpx_client.py")],
    "chromium": ["node", str(HERE / "chromium.mjs")],
}
# A client that takes no id from a block without data begins anew when it is cut before its first
# event. Nothing is lost to it behind the first id that it saw, or if its address says `after`.
NEEDS_AN_EVENT = {"npm"}
# A client that drops what it has received, but not handled yet, when its connection breaks.
DROPS_AT_A_BREAK = {"chromium"}
PASSING = {"delta", "discarded", "presence", "attached"}
# The fields that events have got since the first version; `GET /events` has none of them.
LATER = {"run_id", "key", "by", "queue", "item", "attachments", "duration_ms", "extent"}
PLAIN = {"user", "text", "tool_call", "tool_result", "reasoning", "status"}
NASTY = "list src\r\n\ndata: x\nid: 9\n\revent: y\u2028\x00\ufeff\x85: \U0001f980\n\n\nretry: 1\n"
PROMPTS = ["list src", "think about what is in src", "hello", "tell me a long story", NASTY]
KILLS = 5
LIFE = 6.0


class Client:
    """One process with one connection a stream."""

    def __init__(self, name, streams, folder):
        self.name = name
        self.events = collections.defaultdict(list)
        self.opened = collections.Counter()
        self.gave_up = []
        self.settled = threading.Event()
        self.errors = open(folder / f"{name}.err", "w+b")
        self.process = subprocess.Popen(
            [*CLIENTS[name], json.dumps(streams)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Takes what it prints."""
        for line in self.process.stdout:
            event = json.loads(line)
            if event.get("settled"):
                self.settled.set()
                continue
            stream = event["stream"]
            if event.get("open"):
                self.opened[stream] += 1
            elif reason := event.get("gaveUp"):
                self.gave_up.append(f"{stream}: {reason}")
            else:
                self.events[stream].append((event["id"], event["data"]))

    def settle(self):
        """Waits until it has handled all that it has received."""
        self.process.stdin.write(b"settle\n")
        self.process.stdin.flush()
        if not self.settled.wait(20):
            raise Failure(f"{self.name} has not settled in 20 s")

    def stop(self):
        """Ends it with all that it started."""
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def lasting(self, stream):
        """The events with an id of their own. A passing one shows the id before it, or none."""
        lasting, last = [], None
        for id_, data in list(self.events[stream]):
            try:
                event = json.loads(data)
            except ValueError as error:
                raise Failure(f"{self.name} {stream}: {error}: {data[:200]!r}") from error
            if event["type"] in ("reset", "gap"):
                raise Failure(f"{self.name} {stream}: {data[:300]}")
            if event["type"] in PASSING:
                continue
            is_notice = event["type"] == "status" and event["message"].startswith("interrupted")
            if is_notice and id_ in ("", last):
                continue
            last = id_
            lasting.append((id_, event))
        return lasting


class Load(threading.Thread):
    """Prompts a conversation again and again, whatever happens to the service."""

    def __init__(self, service, conversation, seed):
        super().__init__(daemon=True)
        self.service = service
        self.conversation = conversation
        self.random = random.Random(f"{seed} {conversation}")
        self.over = threading.Event()
        self.accepted = {}

    def run(self):
        number = 0
        while not self.over.is_set():
            number += 1
            large = "list src\n" + self.random.randrange(30_000) * "é"
            text = self.random.choice([*PROMPTS, large])
            self.send(f"{self.conversation}-{number}", text)
            self.over.wait(self.random.uniform(0.2, 1.0))
            if "story" in text:
                self.over.wait(1.5)
                self.cancel()

    def send(self, key, text):
        """Sends a prompt until it is answered."""
        while not self.over.is_set():
            try:
                answer = self.service.prompt(self.conversation, text, key)
                if answer.status == 200:
                    self.accepted[key] = (text, answer.body["run_id"])
                    return
                if answer.status != 409:
                    raise Failure(f"{key}: {answer.status} {answer.body}")
            except NoAnswer:
                pass
            self.over.wait(0.05)

    def cancel(self):
        """Stops a run that may go on for long."""
        try:
            self.service.call("POST", f"/v1/conversations/{self.conversation}/cancel")
        except NoAnswer:
            pass


def expected(service, conversation, is_plain):
    """The events of a journal, each with its id, as a client is to see them."""
    journal, events = service.journal(conversation), service.history(conversation)
    if [line.id for line in journal.lines] != [event["id"] for event in events]:
        raise Failure(f"the history of {conversation} is not its journal")
    shown = []
    for line, past in zip(journal.lines, events):
        event = past["event"]
        if is_plain:
            if (line.plain_type() or "") not in PLAIN:
                continue
            event = {key: value for key, value in event.items() if key not in LATER}
        shown.append((line.id, event))
    return shown


class Bench:
    """The service behind the proxy, the load, and the clients."""

    def __init__(self, folder, seed):
        self.folder = folder
        self.seed = seed
        self.proxy = Proxy(seed)
        hosts = f"127.0.0.1:{self.proxy.port}"
        self.service = Service(folder, "--allowed-hosts", hosts, "--log", "warn")
        self.clients = []
        self.streams = {}

    def begin(self):
        """A quiet start: every conversation has a past, every client is attached."""
        service, proxy = self.service, self.proxy
        service.start()
        proxy.target = service.port
        proxy.start()
        self.watched = service.create()
        self.other = service.create()
        for conversation in (self.watched, DEFAULT, self.other):
            service.accepted(conversation, "list src", "past")
            service.wait_for_end(conversation)
        self.past = {
            conversation: service.journal(conversation).lines[-1].id
            for conversation in (self.watched, DEFAULT)
        }
        path = f"/v1/conversations/{self.watched}/events"
        # By name: the target, the conversation, whether it is the plain view, whether from 0 on.
        self.streams = {
            "v1": (path, self.watched, False, False),
            "v1 from 0": (f"{path}?after=0", self.watched, False, True),
            "events": ("/events", DEFAULT, True, False),
        }
        urls = {
            name: f"http://127.0.0.1:{proxy.port}{stream[0]}"
            for name, stream in self.streams.items()
        }
        for name in CLIENTS:
            self.clients.append(Client(name, urls, self.folder))
        wanted = {f"{name} {stream[0]}" for name in CLIENTS for stream in self.streams.values()}

        def attached():
            for client in self.clients:
                if client.process.poll() is not None:
                    client.errors.seek(0)
                    raise Failure(f"{client.name} ended: {client.errors.read().decode()[-2000:]}")
            is_open = all(len(client.opened) == len(urls) for client in self.clients)
            return is_open and wanted <= proxy.begun

        try:
            wait_until("all clients attach", attached, 40)
        except Failure as error:
            opened = {client.name: dict(client.opened) for client in self.clients}
            raise Failure(f"{error}: {opened}, {sorted(proxy.begun)}") from None
        for client in self.clients:
            if client.name in DROPS_AT_A_BREAK:
                client.settle()

    def cut_before_the_first_event(self):
        """Nobody has seen an event of a live stream when the connections end."""
        self.proxy.switch("refuse")
        for conversation in (self.watched, DEFAULT):
            self.service.accepted(conversation, "list src", "while cut")
            self.service.wait_for_end(conversation)
        self.proxy.switch("cut")

    def live_through(self):
        """Load, cuts, and deaths of the service."""
        loads = [
            Load(self.service, conversation, self.seed)
            for conversation in (self.watched, DEFAULT, self.other)
        ]
        for load in loads:
            load.start()
        chance = random.Random(self.seed)
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.7, 1.3) * LIFE)
            self.service.kill()
            # Some clients come back in vain first.
            time.sleep(chance.uniform(0, 2))
            self.service.start()
        time.sleep(LIFE)
        for load in loads:
            load.over.set()
            load.join(30)
        self.proxy.switch("pass")
        for load in loads:
            load.cancel()
            self.service.wait_for_end(load.conversation)
            self.service.accepted(load.conversation, "list src", "the last one")
            self.service.wait_for_end(load.conversation)
            self.check_prompts(load)
        self.prompts = sum(len(load.accepted) for load in loads)

    def check_prompts(self, load):
        """Every prompt that was accepted is in the journal once, as it was sent."""
        journal = self.service.journal(load.conversation)
        for key, (text, run) in load.accepted.items():
            found = [(prompt["run"], prompt["content"]) for prompt in journal.prompts(key)]
            if found != [(run, text)]:
                raise Failure(f"{key}: the journal has {len(found)} of it, or another text")

    def check(self):
        """Every client saw exactly the journal."""
        for client in self.clients:
            for stream, (target, conversation, is_plain, is_whole) in self.streams.items():
                name = f"{client.name} {target}"
                journal = expected(self.service, conversation, is_plain)
                last = journal[-1][0]

                def arrived(client=client, stream=stream, last=last):
                    return client.gave_up or any(
                        id_ == last for id_, _ in list(client.events[stream])
                    )

                wait_until(f"{name} sees the last event", arrived, 20)
                if client.gave_up:
                    raise Failure(f"{client.name} gave up: {client.gave_up}")
                self.compare(client, stream, name, journal, is_whole, self.past[conversation])

    def compare(self, client, stream, name, journal, is_whole, past):
        """Holds what a client saw against the journal."""
        seen = client.lasting(stream)
        ids = [id_ for id_, _ in journal]
        start = 0 if is_whole else 1 + place_before(ids, past)
        note = "from its start"
        if client.name in NEEDS_AN_EVENT and not is_whole:
            start = ids.index(seen[0][0])
            behind = start - 1 - place_before(ids, past)
            note = f"from the first id it saw, {behind} behind its start"
        wanted = journal[start:]
        shown = self.proxy.connections.get(name, [])
        if seen != wanted:
            came = f"its connections showed {shown[:5]}"
            raise Failure(f"{name}: {difference(seen, wanted)}; {came}")
        resumed = sum(1 for last in shown if last)
        print(
            f"{client.name:8} {stream:9} {len(seen)} events with an id, {note}: no loss, no "
            f"duplicate, in order; {len(client.events[stream]) - len(seen)} passing ones; "
            f"{len(shown)} connections, {resumed} with Last-Event-ID",
            flush=True,
        )
        if stream == "v1":
            honours = "goes on from" if shown[1:2] and shown[1] else "knows nothing of"
            print(f"{client.name:8} cut before its first event it {honours} the block of only an id")


def place_before(ids, past):
    """The place of the last of these ids that is not behind the past."""
    end = int(past.split("-")[1])
    return max(place for place, id_ in enumerate(ids) if int(id_.split("-")[1]) <= end)


def difference(seen, wanted):
    """The first place where they part."""
    ids = [id_ for id_, _ in seen]
    double = [id_ for id_, count in collections.Counter(ids).items() if count > 1]
    lost = [id_ for id_, _ in wanted if id_ not in set(ids)]
    for place, pair in enumerate(zip(seen, wanted)):
        if pair[0] != pair[1]:
            break
    else:
        place = min(len(seen), len(wanted))
    return (
        f"saw {len(seen)} events instead of {len(wanted)}; lost {lost[:5]}, double {double[:5]}; "
        f"they part at place {place}: {str(seen[place:place + 2])[:600]} instead of "
        f"{str(wanted[place:place + 2])[:600]}"
    )


def main():
    """The whole check."""
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"eventsource: SEED={seed}", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="eventsource-") as folder:
        bench = Bench(Path(folder), seed)
        try:
            bench.begin()
            bench.cut_before_the_first_event()
            bench.live_through()
            bench.check()
        except (Failure, NoAnswer) as error:
            print(f"eventsource: SEED={seed}: {error}", file=sys.stderr)
            print(bench.service.last_log(), file=sys.stderr)
            return 1
        finally:
            for client in bench.clients:
                client.stop()
            bench.service.kill()
    proxy = bench.proxy
    print(
        f"eventsource: {proxy.cuts} connections cut at random bytes, {proxy.refused} refused, "
        f"{KILLS} kills of the service, {bench.prompts} prompts, {proxy.bytes} bytes of events "
        f"in {time.monotonic() - begun:.1f} s"
    )
    return 0


sys.exit(main())
