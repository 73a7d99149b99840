#!/usr/bin/env python3
"""Editors on one conversation while bridges and the service are killed: HARNESS_BIN is the program, built with
`cargo build --release`. The model is a script.

    tests/acp_kills.py [--kills N] [--seed N] [--without CHECK,…] [--keep-going]
    tests/acp_kills.py --load N

Two editors, each with a `harness acp`, a `harness attach --plain` on pipes and a plain client of the event stream have
one conversation. In each round an editor prompts, now and then both do; the model says texts in pieces and makes calls,
which an editor, both or the plain client allow or deny. At some point of the round a bridge or the service is killed:
another bridge loads or resumes the session, the service starts again on its folder and port. After each round:

    answers      each prompt of a bridge that lives was answered once and in time, as its run ended
    content      an editor has what the journal says, in its order; a reply that a killed service left may be there, too
    fresh        a bridge that loads the session afterwards has exactly the journal
    resumed      a call from before a resume has its end
    ids          a resumed session gives no message the id of an earlier one
    permissions  no question is open whose answer was given or whose run has ended, and none is asked twice
    effects      an allowed call ran once, another one never
    stream       the plain client has each event of the journal once
    terminal     the terminal has each text
    schema       each line is as the schema has it, which `acp_check.py --install` puts into the folder COUNTERPARTS
    left         no process is left at the end

`--without` leaves checks out. `--keep-going` goes on in a new folder after a violation; without it the first one ends
the trial. The seed names the rounds; their times are not the same twice. `--load` measures `session/load` of a
conversation with so many prompts, texts, calls and results.

Spec: [ACP-04] [ACP-06] [ACP-08] [ACP-09] [ACP-11] [ACP-12]
"""

import argparse
import collections
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS), str(TESTS / "support")]
from editors import (  # noqa: E402
    FINAL, SCHEMA, AgentLines, Editor, KilledService, PlainClient, Violation, is_running, planned_reply, processes,
)
from harness import LIMIT, Failure, NoAnswer, wait_until  # noqa: E402
from upstream import Scripted  # noqa: E402

# Maximum time until a prompt is answered after its round has settled, and until an editor has the rest.
ANSWER_LIMIT, REST_LIMIT = 20.0, 5.0
# Time after which a bridge may give up following until its next prompt.
OUTAGE = 9.0
# Maximum time of a round.
ROUND_LIMIT = 60.0
POINTS = ("sent", "text", "asked", "effect", "ended", "later")


class Trial:
    """A folder with a service, and the clients of a conversation."""

    def __init__(self, folder, options, lines, figures):
        self.folder, self.options, self.lines, self.figures = folder, options, lines, figures
        self.model = Scripted(planned_reply)
        self.service = KilledService(folder, self.model.url())
        self.cwd = str(folder / "workspace")
        self.environment = self.service.surroundings()
        self.numbers, self.started, self.decisions, self.texts = itertools.count(1), [], {}, {}
        self.plain = self.terminal = None
        self.said, self.problems = [], []

    def begin(self):
        """Starts all of it."""
        self.service.start()
        one, other = Editor(self, 0), Editor(self, 1)
        self.session = one.ask("session/new", cwd=self.cwd, mcpServers=[])["sessionId"]
        self.plain = PlainClient(self)
        other.attach("session/load")
        self.bridges = [one, other]
        command = [os.environ["HARNESS_BIN"], "attach", "--plain", "-c", self.session, "--name", "terminal"]
        with open(self.folder / "terminal.log", "ab") as log:
            self.terminal = subprocess.Popen(command, env=self.environment, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=log)
        self.started.append(self.terminal)
        threading.Thread(target=lambda: self.said.extend(iter(self.terminal.stdout.readline, b"")), daemon=True).start()
        wait_until("the terminal is attached", lambda: "terminal" in self.plain.present)

    def plan(self, name, chance, point):
        """A plan for the model, and the answers to its questions."""
        calls, replies, words = chance.choice((0, 0, 1, 1, 2)), [], itertools.count()

        def text():
            token = f"{name}.{next(words)} "
            self.texts[token] = token + " ".join(chance.choice(("one", "two", "zwölf", "🙂", "`a`"))
                                                 for _ in range(chance.randrange(2, 30)))
            return {"text": self.texts[token]}

        for number in range(calls):
            call = f"toolu_{name}_{number}"
            file = Path(self.cwd) / f"{call}.txt"
            if chance.random() < 0.5:
                file.write_text("one\n")
                block = {"tool": "edit", "input": {"path": file.name, "old_string": "one", "new_string": "two one"}}
            else:
                command = f"echo two >>{file.name}; sleep {chance.choice((0, 0.1, 0.4))}"
                block = {"tool": "bash", "input": {"command": command, "access": "write"}}
            block["call"] = call
            wait = chance.uniform(0, 0.1) + (0.5 if point == "asked" else 0)
            option = chance.choice(("once", "once", "deny"))
            who = chance.choice((0, 1, "plain", "both"))
            if point == "asked" and chance.random() < 0.3:
                who = "nobody"
            answers = {0: [(wait, option)], 1: [(wait, chance.choice(("once", "deny")))]} if who == "both" else {
                who: [(wait, option)]}
            self.decisions[call] = answers
            if replies and "call" in replies[-1][-1] and chance.random() < 0.5:
                replies[-1].append(block)
            else:
                replies.append(([text()] if chance.random() < 0.5 else []) + [block])
        replies.append([text()])
        return json.dumps({"pause": chance.choice((0.002, 0.02, 0.05)), "replies": replies}, ensure_ascii=False)

    def answer(self, approval, option):
        """Answers an approval by HTTP, if need be when the service is back. Another client may have been faster."""
        order = {"answer": "allow", "digest": approval["digest"]} if option == "once" else {"answer": "deny"}
        path = f"/v1/conversations/{self.session}/approvals/{approval['id']}"
        while self.plain.is_wanted:
            try:
                return self.service.call("POST", path, {**order, "by": "plain"}, headers=self.service.token())
            except NoAnswer:
                time.sleep(0.05)

    def wait_for(self, point, chance):
        """Waits for a point of the round, or for its end."""
        events, passing = len(self.plain.events), len(self.plain.passing)
        deltas = chance.randrange(1, 6)
        wanted = {"asked": "approval_asked", "effect": "effect_began", "ended": "run_ended"}.get(point)

        def is_there():
            new = {event["type"] for event in self.plain.events[events:]}
            if point == "text" and self.plain.passing[passing:].count("delta") >= deltas:
                return True
            return "run_ended" in new or wanted in new or time.monotonic() > deadline

        deadline = time.monotonic() + (chance.uniform(0, 1) if point == "later" else 5)
        while point != "sent" and not is_there():
            time.sleep(0.002)
        time.sleep(chance.choice((0, chance.uniform(0, 0.03))))

    def round(self, number):
        """A round with one fault at most, and what has to be true after it."""
        chance = random.Random(f"{self.options.seed} {number}")
        fault, point = chance.choices(("none", "bridge", "service"), (2, 4, 4))[0], chance.choice(POINTS)
        first, is_double = chance.randrange(2), point != "sent" and chance.random() < 0.2
        plans = [self.plan(f"r{number}{letter}", chance, point) for letter in "ab"[:1 + is_double]]
        self.what = f"round {number}, {fault} at {point}{', two prompts' if is_double else ''}"
        tokens = [token for token in self.texts if token.startswith(f"r{number}")]
        prompts = [(self.bridges[first], self.bridges[first].prompt(plans[0]))]
        if is_double:
            time.sleep(chance.uniform(0, 0.3))
            prompts.append((self.bridges[1 - first], self.bridges[1 - first].prompt(plans[1])))
        if fault != "none":
            self.wait_for(point, chance)
        if fault == "bridge":
            self.kill_bridge(chance.randrange(2), chance)
        elif fault == "service":
            for bridge in self.bridges:
                bridge.void.update(tokens)
            self.service.kill()
            begun, outage = time.monotonic(), chance.choices((0, 0.3, 1.5, 13), (8, 8, 4, 1))[0]
            # A bridge with a prompt starts the service, too.
            while time.monotonic() < begun + outage and not is_running(self.service.named()):
                time.sleep(0.02)
            for bridge in self.bridges:
                bridge.may_be_away = time.monotonic() > begun + OUTAGE or bridge.may_be_away
            self.what += f", out for {time.monotonic() - begun:.1f} s"
            self.service.start()
        self.figures["rounds"] += 1
        self.figures["rounds without a kill" if fault == "none" else f"kills of the {fault}"] += 1
        self.figures["prompts"] += len(prompts)
        self.settle()
        self.check(number, prompts, fault)

    def kill_bridge(self, place, chance):
        """Kills a bridge, and opens the session in another one."""
        before = self.bridges[place]
        before.kill()
        time.sleep(chance.choice((0, chance.uniform(0, 0.4))))
        method = chance.choices(("session/load", "session/resume"), (7, 3))[0]
        self.what += f" of {before.name}, {method}"
        self.bridges[place] = Editor(self, place, before if method == "session/resume" else None)
        self.bridges[place].attach(method)

    def settle(self):
        """Waits until no run is going. A question is answered by HTTP if nobody else can."""
        begun, path = time.monotonic(), f"/v1/conversations/{self.session}"
        # A prompt may still be on its way.
        wait_until("prompts arrive", lambda: all(
            answers or any(event.get("content") == text for event in self.plain.events)
            for bridge in self.bridges for method, text, answers in list(bridge.requests.values())
            if method == "session/prompt" and bridge.is_alive()), ANSWER_LIMIT)
        while (state := self.service.snapshot(self.session)["summary"]["state"]) in ("running", "waiting_approval"):
            waited = time.monotonic() - begun
            if waited > ROUND_LIMIT:
                raise Violation(f"answers: the run does not end within {waited:.0f} s: {state}")
            if state == "waiting_approval" and waited > 3:
                for approval in self.service.expect(200, "GET", f"{path}/approvals")["approvals"]:
                    self.figures["questions that are left"] += 1
                    call = approval["call"]
                    lost = [f"{bridge.name} has answered about {call}, which waits for an answer"
                            for bridge in self.bridges if bridge.is_alive() and call in bridge.chosen]
                    self.hold("permissions", lambda lost=lost: lost, 0)
                    self.answer(approval, "deny")
            time.sleep(0.02)

    def hold(self, name, problems, limit=REST_LIMIT):
        """Notes the problems that do not pass."""
        deadline = time.monotonic() + limit
        while (found := problems()) and time.monotonic() < deadline:
            time.sleep(0.02)
        if name not in self.options.without:
            self.problems += [f"{name}: {problem}" for problem in found]

    def journal(self, events):
        """The prompts, texts and calls of the journal, each with its number."""
        parts, calls = [], {}
        for seq, event in events:
            kind = event["type"]
            if kind in ("user", "text") and event["content"]:
                parts.append((seq, ["user" if kind == "user" else "agent", event["content"]]))
            elif kind == "tool_call":
                calls[event["id"]] = ["call", event["id"], "open"]
                parts.append((seq, calls[event["id"]]))
            elif kind == "tool_result":
                calls[event["id"]][2] = "failed" if event["isError"] else "completed"
            elif kind == "calls_skipped":
                for call in calls.values():
                    call[2] = "failed" if call[2] == "open" else call[2]
        return [(seq, tuple(part)) for seq, part in parts]

    def check(self, number, prompts, fault):
        """Checks what has to be true after a round."""
        self.hold("answers", self.missing_answers, ANSWER_LIMIT)
        events = [(past["seq"], past["event"]) for past in self.service.history(self.session)]
        journal = self.journal(events)
        for bridge in self.bridges:
            if bridge.may_be_away:
                self.figures["rounds of a bridge that does not follow"] += 1
                continue
            self.hold("content", lambda: bridge.difference(journal))
            self.hold("permissions", lambda: [
                f"{bridge.name} is still asked about {call}" for call in bridge.open.values()])
            self.check_bridge(bridge, journal)
        self.check_ends(prompts, [event for _, event in events], fault)
        self.check_effects(number, [event for _, event in events], fault)
        last = events[-1][0]
        self.hold("stream", lambda: self.plain.faults + (
            [] if self.plain.last == last else [f"its last event is {self.plain.last} and not {last}"]))
        whole = {event["content"] for _, event in events if event["type"] == "text" and not event.get("partial")}
        want = [text for token, text in self.texts.items() if token.startswith(f"r{number}") and text in whole]
        self.hold("terminal", lambda: [f"it says {text!r} {count} times" for text in want if (
            count := sum(line.startswith(b"agent: ") and text.encode() in line for line in list(self.said))) != 1])

        fresh = Editor(self, "fresh")
        fresh.attach("session/load")
        # What clients were shown of a reply when the service died becomes a record with the next run.
        unfinished = self.service.snapshot(self.session).get("unfinished", [])
        unfinished = [(last, ("agent", event["text"])) for event in unfinished]
        self.hold("fresh", lambda: fresh.difference(journal + unfinished), 1)
        self.hold("fresh", lambda: [f"it is asked about {call}" for call in fresh.open.values()], 0)
        self.check_bridge(fresh, journal)
        self.hold("left", lambda: [code for code in [fresh.leave()] if code != 0], 0)
        if self.problems:
            raise Violation("\n  ".join([self.what, *self.problems]))

    def missing_answers(self):
        """The prompts of living bridges that are not answered, and all that are answered twice."""
        return [f"{bridge.name}: {method} {name} has {len(answers)} answers" for bridge in self.bridges
                for name, (method, _, answers) in list(bridge.requests.items()) if len(answers) != 1]

    def check_bridge(self, bridge, journal):
        """Checks what a bridge has sent in the round."""
        faults, bridge.faults = bridge.faults, []
        self.hold("schema", lambda: faults, 0)
        twice = [call for call, count in bridge.asked.items() if count > 1]
        self.hold("permissions", lambda: [f"{bridge.name} is asked {twice} again"] if twice else [], 0)
        ends = {part[1]: part[2] for _, part in journal if part[0] == "call" and part[2] in FINAL}
        self.hold("resumed", lambda: [f"{bridge.name}: the call {call} is {status} and not {ends[call]}"
                                      for call, status in bridge.before.items() if ends.get(call, status) != status], 1)
        again = sorted(bridge.used & bridge.parts.keys())
        self.hold("ids", lambda: [f"{bridge.name} uses {again} again"] if again else [], 0)

    def check_ends(self, prompts, events, fault):
        """Checks the answers to the prompts of a round against the ends of their runs."""
        run, taken, ends = None, collections.defaultdict(list), {}
        for event in events:
            if event["type"] == "run_started":
                run = event["run_id"]
            elif event["type"] == "user":
                taken[event["content"]].append(run)
            elif event["type"] == "run_ended":
                ends[event["run_id"]] = event["outcome"]
        for bridge, name in prompts:
            _, text, answers = bridge.requests[name]
            outcomes = [ends.get(run, "interrupted") for run in taken[text]]
            if len(outcomes) > 1:
                self.problems.append(f"effects: the prompt {name} of {bridge.name} ran {len(outcomes)} times")
            if not answers or not bridge.is_alive():
                continue
            end = answers[0].get("result", {}).get("stopReason") or answers[0].get("error", {}).get("message", "")
            self.figures[f"answers: {end[:70]}"] += 1
            is_right = outcomes == ["completed"] if "result" in answers[0] else fault == "service" and end
            # An error says that the run has ended, or that the bridge does not follow it any more.
            if not is_right or ("the run ended" in end and outcomes == ["completed"]):
                self.hold("answers", lambda bridge=bridge, answer=answers[0], outcomes=outcomes: [
                    f"{bridge.name} is answered {answer} and its run is {outcomes}"], 0)

    def check_effects(self, number, events, fault):
        """Checks how often each call of a round ran."""
        asked = {event["id"]: event["call"] for event in events if event["type"] == "approval_asked"}
        allowed = {asked[event["id"]]: event["answer"] == "allow" for event in events
                   if event["type"] == "approval_answered" and event["id"] in asked}
        done = {event["id"] for event in events if event["type"] == "tool_result" and not event["isError"]}
        for call in [call for call in self.decisions if call.startswith(f"toolu_r{number}")]:
            file = Path(self.cwd) / f"{call}.txt"
            ran = file.read_text().count("two") if file.exists() else 0
            right = {1} if call in done else {0}
            if allowed.get(call) and call not in done and fault == "service":
                right = {0, 1}
            options = {option for answers in self.decisions[call].values() for _, option in answers}
            is_foreign = allowed.get(call) and "once" not in options
            if ran not in right or is_foreign or (call in done and not allowed.get(call)):
                self.hold("effects", lambda call=call, ran=ran, right=right: [
                    f"{call} ran {ran} times and not {right}; it was allowed: {allowed.get(call)}; "
                    f"the answers: {self.decisions[call]}"], 0)

    def end(self):
        """Ends all of it, and looks for what is left."""
        codes = [bridge.leave() for bridge in self.bridges if bridge.is_alive()]
        self.plain.is_wanted = False
        self.terminal.stdin.close()
        wait_until("the terminal ends", lambda: self.terminal.poll() is not None)
        self.service.kill()
        self.what = "at the end"
        self.hold("left", lambda: [f"bridges ended with {codes}"] if any(codes) else [], 0)
        self.hold("left", lambda: [f"{name}: {command}" for name, command in processes(self.folder).items()], 10)
        if self.problems:
            raise Violation("\n  ".join([self.what, *self.problems]))

    def clear(self):
        """Ends every process of the folder."""
        if self.plain:
            self.plain.is_wanted = False
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.service.kill()
        for process in processes(self.folder):
            os.kill(process, signal.SIGKILL)


def kill(options):
    """Makes rounds until there were enough kills. Returns the violations."""
    lines = AgentLines(Path(os.environ.get("COUNTERPARTS", "")) / SCHEMA)
    figures, violations, numbers = collections.Counter(), [], itertools.count(1)

    def kills():
        return figures["kills of the bridge"] + figures["kills of the service"]

    while kills() < options.kills and (options.keep_going or not violations):
        with tempfile.TemporaryDirectory(prefix="acp-kills-", ignore_cleanup_errors=True) as folder:
            trial = Trial(Path(folder).resolve(), options, lines, figures)
            trial.what = "at the start"
            try:
                trial.begin()
                while kills() < options.kills:
                    trial.round(next(numbers))
                trial.end()
            except (Violation, Failure, NoAnswer) as error:
                words = str(error) if trial.what in str(error) else f"{trial.what}\n  {error}"
                violations.append(f"seed {options.seed}, {words}")
                print(f"VIOLATION with {violations[-1]}", flush=True)
                if not options.keep_going:
                    print((trial.folder / "bridges.log").read_text()[-3000:], trial.service.last_log(), sep="\n")
            finally:
                trial.clear()
    for name, count in sorted(figures.items()):
        print(f"{count:6} {name}")
    print(f"{lines.count:6} lines of bridges{'' if lines.judge else ', NOT CHECKED against the schema'}", flush=True)
    return violations


def load(entries):
    """Measures how long a bridge takes to load a conversation."""
    from huge import Journal

    with tempfile.TemporaryDirectory(prefix="acp-load-") as name:
        folder = Path(name).resolve()
        service = KilledService(folder, "http://127.0.0.1:1")
        journal, made = Journal(service.home, "long"), 0
        while made < entries:
            # A prompt, a text, and in each further turn a text, a call and a result.
            turns = min(10, max(0, (entries - made - 2) // 3))
            journal.run(turns, 400)
            made += 2 + 3 * turns
        journal.close()
        service.start()
        try:
            times = []
            for _ in range(5):
                took, updates, size = one_load(service.surroundings(), str(folder / "workspace"))
                times.append(took)
                print(f"  {took * 1000:.0f} ms: {updates} updates, {size} bytes", flush=True)
            print(f"session/load of {made} entries, {journal.seq} records: {statistics.median(times) * 1000:.0f} ms in "
                  f"the median, {updates} updates, {size} bytes")
        finally:
            service.kill()


def one_load(environment, cwd):
    """The time from the request to its answer, and the number and the size of the updates between."""
    process = subprocess.Popen([os.environ["HARNESS_BIN"], "acp"], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)

    def request(name, method, **params):
        message = {"jsonrpc": "2.0", "id": name, "method": method, "params": params}
        begun, updates, size = time.monotonic(), 0, 0
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            if b'"method":"session/update"' not in line:
                if "result" not in json.loads(line):
                    raise Failure(f"{method}: {line}")
                return time.monotonic() - begun, updates, size
            updates, size = updates + 1, size + len(line)
        raise Failure(f"{method}: the bridge has ended")

    try:
        request(1, "initialize", protocolVersion=1, clientCapabilities={})
        return request(2, "session/load", sessionId="long", cwd=cwd, mcpServers=[])
    finally:
        process.stdin.close()
        process.wait(LIMIT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--without", type=lambda names: names.split(","), default=[])
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--load", type=int)
    options = parser.parse_args()
    if options.load:
        return load(options.load)
    print(f"seed {options.seed}", flush=True)
    begun, violations = time.monotonic(), kill(options)
    print(f"{time.monotonic() - begun:.0f} s")
    return f"violations: {len(violations)}; the first one: {violations[0]}" if violations else None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as error:
        sys.exit(str(error))
