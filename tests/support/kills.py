"""A workflow whose service is killed behind a record of its journal and started again: at its end it has to
be as without a kill.
"""

import concurrent.futures
import hashlib
import random
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .harness import Failure, Journal, NoAnswer, wait_until
from .workflow import Workflow, data_of, git

# How long one life with a kill may take, in seconds.
MOST = 90.0
# How long behind a record the service is killed at most, in seconds.
LATEST = 0.03
# How many lives are tried at a time.
AT_ONCE = 2


@dataclass
class Case:
    """A workflow that is tried again and again."""

    name: str
    # Makes the model, and the repository with the file.
    model: type
    repository: object
    # What a resume grants.
    grants: dict


@dataclass
class Kill:
    """So long behind that record."""

    record: int
    delay: float


class Killer(threading.Thread):
    """Kills a service as soon as its journal has a record."""

    def __init__(self, workflow, at):
        super().__init__(daemon=True)
        self.service, self.at = workflow.service, at
        self.journal = journal(workflow)
        self.is_wanted = True
        # What the journal had then.
        self.found = 0
        self.start()

    def run(self):
        while self.is_wanted and records_in(self.journal) < self.at.record:
            time.sleep(0.001)
        # Also if it was the last record, behind which nobody waits for the kill.
        if records_in(self.journal) >= self.at.record:
            time.sleep(self.at.delay)
            self.service.kill()
            self.found = records_in(self.journal)

    def end(self):
        """Ends it; whether it has killed."""
        self.is_wanted = False
        self.join()
        return self.found > 0


def journal(workflow):
    """Where the journal of the workflow is."""
    return workflow.service.home / "workflows" / f"{workflow.id}.jsonl"


def records_in(path):
    """How many whole records a journal has."""
    try:
        return max(path.read_bytes().count(b"\n") - 1, 0)
    except FileNotFoundError:
        return 0


def drive(workflow, grants):
    """Orders what a person would, whatever becomes of the service, until the workflow is completed."""
    deadline = time.monotonic() + MOST
    file = workflow.file
    approved = hashlib.sha256(file.read_bytes()).hexdigest()
    new = {"folder": str(workflow.folder), "path": str(file), "approve": approved, "id": workflow.id}
    path = f"/v1/workflows/{workflow.id}"
    while time.monotonic() < deadline:
        try:
            answer = workflow.service.call("GET", path)
            state = answer.body["state"] if answer.status == 200 else "missing"
            reason = answer.body.get("reason")
            if state == "completed":
                return answer.body
            if state == "missing":
                workflow.order("", new, (200, 201))
            elif state in ("draft", "ready"):
                # A repetition is known by its key.
                key = "first" if state == "draft" else "second"
                workflow.order(f"/{workflow.id}/run", {"key": key}, (202, 409))
            elif (state, reason) == ("paused", "budget_tokens"):
                workflow.order(f"/{workflow.id}/resume", grants, (200, 409))
            elif state not in ("initializing", "running"):
                raise Failure(f"it is {state}: {answer.body}")
            time.sleep(0.02)
        except NoAnswer:
            wait_until("the service is dead", lambda: not workflow.service.is_alive())
            workflow.service.start()
    raise Failure(f"it is not completed within {MOST:.0f} s: {answer.body}")


def outcome(workflow, completed):
    """What a workflow is at its end, and what it did on the way. Ends the service."""
    records, branch = workflow.records(), completed["branch"]
    counted = [(end["n"], end["attempt"], end["check"], end["tree"])
               for end in data_of(records, "check_ended") if end["counts"]]
    judged = [(it["n"], it["attempt"], it["tree"], it["accepted"],
               sorted(reason["reason"] for reason in it.get("reasons", [])))
              for it in data_of(records, "verdict")]
    started = data_of(records, "iteration_started")
    workflow.service.kill()
    for what, found in (("check", counted), ("candidate", [it[:2] for it in judged])):
        if len(found) != len(set(found)):
            raise Failure(f"two results count for one {what}: {sorted(found)}")
    worktree = completed["worktree"]
    return {
        "features": {it["id"]: it["state"] for it in completed["features"]},
        "iterations": [(it["n"], it["status"]) for it in data_of(records, "iteration_ended")],
        "verdicts": judged,
        "checks": sorted(counted),
        "commits": git(workflow.folder, "log", "--format=%T %s %an", branch).splitlines(),
        "left": git(worktree, "status", "--porcelain", "--ignored"),
        "prompts": {it["n"]: prompts(workflow, it["n"]) for it in started},
    }


def prompts(workflow, number):
    """The keys of the prompts of an iteration's conversation, each of which is there once."""
    path = workflow.service.home / "conversations" / f"wf-{workflow.id}-{number}.jsonl"
    if not path.exists():
        return []
    lines = (line.record for line in Journal.read(path).lines)
    return [record["data"].get("key") for record in lines if record["type"] == "prompt"]


def life(case, at=None):
    """One life of the workflow, with a kill or without: its outcome, its records, whether it was killed."""
    with tempfile.TemporaryDirectory(prefix=f"{case.name}-") as folder:
        workflow = Workflow(Path(folder), case.model(), case.name)
        case.repository(workflow.folder, workflow.file)
        workflow.service.start()
        killer = Killer(workflow, at) if at else None
        try:
            completed = drive(workflow, case.grants)
            killed = killer.end() if killer else False
            if not workflow.service.is_alive():
                workflow.service.start()
            if killed:
                # What was seen at its end is so in another life.
                completed = workflow.service.expect(200, "GET", f"/v1/workflows/{workflow.id}")
            records = records_in(journal(workflow))
            return outcome(workflow, completed), records, killed
        except Failure as failure:
            log = workflow.transcript() if workflow.service.is_alive() else ""
            raise Failure(f"{at}: {failure}\n{log}{workflow.service.last_log()}") from failure
        finally:
            if killer:
                killer.end()
            workflow.service.kill()


def try_kills(case, count, seed):
    """Kills one life after another behind seeded records, and compares each with one without a kill."""
    expected, records, _ = life(case)
    print(f"{case.name}: {records} records without a kill; seed {seed}", flush=True)
    chance = random.Random(seed)
    kills = [Kill(chance.randrange(1, records), chance.uniform(0, LATEST)) for _ in range(count)]

    def tried(at):
        found, _, killed = life(case, at)
        if not killed:
            raise Failure(f"{at}: nothing was killed")
        for what, wanted in expected.items():
            if found[what] != wanted:
                raise Failure(f"{at}: {what}: {found[what]}\n  instead of {wanted}")
        print(f"{case.name}: the same behind a kill at record {at.record} after {at.delay * 1000:.0f} ms",
              flush=True)

    failures = []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(tried, at) for at in kills]:
            try:
                done.result()
            except Failure as failure:
                print(failure, flush=True)
                failures.append(failure)
    if failures:
        raise Failure(f"{len(failures)} of {count} kills made a difference")
