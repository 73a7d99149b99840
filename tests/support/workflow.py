"""What scripts need that run a workflow: a repository, a scripted model that works on one feature after
another, and the service with its routes of workflows.
"""

import hashlib
import os
import subprocess

from .harness import Failure, Service, wait_until
from .upstream import Scripted, call, events

# How long a workflow may take to come to rest.
REST = 300.0
# How the prompts of a workflow open: that of an iteration, and that of a rejected attempt.
FIRST = "You work on one feature of a larger task."
AGAIN = "What you left was not accepted."


def git(folder, *words, text=None):
    """What git says."""
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@localhost"]
    command = ["git", "-C", folder, *who, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, input=text)
    return done.stdout.strip()


def check(what, found, wanted):
    """Compares."""
    if found != wanted:
        raise Failure(f"{what}: {found}\n  instead of {wanted}")


class Model:
    """A model that works on features. `script` says what it replies: it is given the feature and the attempt,
    and gives a list of functions that give replies: all but the last one are calls. The last one is repeated."""

    def __init__(self):
        self.calls = 0
        # The texts that it was told in the last request.
        self.told = []
        # The tokens of its replies that were taken whole.
        self.tokens = 0

    def script(self, feature, attempt):
        """What it replies."""
        raise NotImplementedError

    def __call__(self, messages):
        texts = [(number, text) for number, message in enumerate(messages)
                 if message["role"] == "user" for text in self.texts(message)]
        self.hear([text for _, text in texts])
        prompts = [(number, text) for number, text in texts if text.startswith((FIRST, AGAIN))]
        feature = prompts[0][1].split("# The feature `")[1].split("`")[0]
        done = sum(self.done_calls(message) for message in messages[prompts[-1][0]:])
        replies = self.script(feature, len(prompts))
        yield from replies[min(done, len(replies) - 1)]()

    @staticmethod
    def done_calls(message):
        """How many results of calls it has that went well: one that a crash cut off is made again."""
        content = message["content"] if isinstance(message["content"], list) else []
        return sum(block["type"] == "tool_result" and not block.get("is_error") for block in content)

    def hear(self, texts):
        """Is told all that it is told."""
        self.told = texts

    @staticmethod
    def texts(message):
        """The texts of a message."""
        content = message["content"]
        if isinstance(content, str):
            return [content]
        return [block["text"] for block in content if block["type"] == "text"]

    def runs(self, command, tokens=10):
        """A reply that is a command."""
        self.calls += 1
        self.tokens += tokens + 1
        return call("bash", {"command": command}, f"toolu_{self.calls}", tokens)

    def says(self, text):
        """A reply in words."""
        self.tokens += 11
        return events(text)


class Workflow:
    """A service with one workflow, on the repository in `folder`."""

    def __init__(self, folder, model, name):
        self.id = f"{name}-1"
        self.folder = folder / name
        self.file = self.folder / ".harness" / "workflows" / f"{name}.toml"
        flags = ["--base-url", Scripted(model).url(), "--model", "claude-haiku-4-5"]
        self.service = Service(folder, *flags, model=())
        self.service.environment = {"ANTHROPIC_API_KEY": "sk-ant-of-the-workflow",
                                    "HARNESS_WORKTREES": str(folder / "worktrees")}

    def order(self, path, body, statuses=(200, 202)):
        """An order of a person."""
        token = (self.service.home / "token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        answer = self.service.call("POST", f"/v1/workflows{path}", body, headers=headers)
        if answer.status not in statuses:
            raise Failure(f"{path}: {answer.status}: {answer.body}")
        return answer.body

    def make(self):
        """Starts the service and makes the workflow of the approved file."""
        self.service.start()
        approved = hashlib.sha256(self.file.read_bytes()).hexdigest()
        new = {"folder": str(self.folder), "path": str(self.file), "approve": approved, "id": self.id}
        self.order("", new, (201,))

    def rest(self, state, reason=None, limit=REST):
        """Waits until it is at rest, which has to be like that; gives the snapshot."""
        def is_resting():
            found = self.service.expect(200, "GET", f"/v1/workflows/{self.id}")
            return found if found["state"] not in ("initializing", "running") else None
        found = wait_until("the workflow is at rest", is_resting, limit)
        if (found["state"], found.get("reason")) != (state, reason):
            raise Failure(f"it is {found['state']} and not {state}: {found}")
        return found

    def records(self):
        """All that is on record."""
        path = f"/v1/workflows/{self.id}/history?after=0&limit=1000"
        return [past["event"]["record"] for past in self.service.expect(200, "GET", path)["events"]]

    def transcript(self):
        """What has happened, as the command tells it."""
        environment = {"PATH": os.environ["PATH"], "HARNESS_HOME": str(self.service.home),
                       "HARNESS_REQUIRE_TOKEN": "false"}
        command = [os.environ["HARNESS_BIN"], "workflow", "log", self.id]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


def data_of(records, kind):
    """What the records of a type say."""
    return [record["data"] for record in records if record["type"] == kind]


def verdicts(records):
    """The feature, the attempt, whether it was accepted and why not, of each verdict."""
    features, found = {}, []
    for record in records:
        data = record["data"]
        if record["type"] == "iteration_started":
            features[data["n"]] = data["feature"]
        if record["type"] == "verdict":
            reasons = sorted({it["reason"] for it in data.get("reasons", [])})
            found.append((features[data["n"]], data["attempt"], data["accepted"], reasons))
    return found
