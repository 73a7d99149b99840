"""A service whose model calls `bash`, or the tool that it names, with the JSON of the last prompt, and then says that it
is done."""

import json
import urllib.parse

from harness import Service, wait_until
from upstream import Scripted, call, events


class ShellService(Service):
    """The service with that model. The caller starts it."""

    def __init__(self, folder, user, *flags, **more):
        self.calls = 0
        self.upstream = Scripted(self.reply)
        super().__init__(folder, "--base-url", self.upstream.url(), "--model", "claude-haiku-4-5", *flags, model=())
        self.environment = {"ANTHROPIC_API_KEY": "sk-ant-of-the-shell", "HOME": str(user), **more}
        user.mkdir(exist_ok=True)

    def reply(self, messages):
        """A call with the JSON of the last prompt; a word after its result."""
        content = messages[-1]["content"]
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        # The end of a job is told beside the prompt.
        if given := [text for text in texts if text.startswith("{")]:
            self.calls += 1
            given = json.loads(given[-1])
            return call(given.pop("tool", "bash"), given, f"call_{self.calls}")
        return events("done")

    def shell(self, conversation, **given):
        """Runs a command and allows it if it asks. What it changed at protected places is taken back. Returns the result
        and the approval of the command; `None` without one."""
        path = f"/v1/conversations/{urllib.parse.quote(conversation)}"
        self.order("POST", f"{path}/prompt", {"content": json.dumps(given)})
        asked = None
        while (state := self.state(conversation)) != "idle":
            if state != "waiting_approval":
                wait_until(f"the conversation leaves the state {state}", lambda was=state: self.state(conversation) != was)
                continue
            for approval in self.approvals(path):
                is_change = "change" in approval
                asked = asked if is_change else approval
                answer = {"answer": "deny" if is_change else "allow", "digest": approval["digest"]}
                self.order("POST", f"{path}/approvals/{approval['id']}", answer)
                wait_until(f"approval {approval['id']} is taken", lambda was=approval: was not in self.approvals(path))
        results = [past["event"] for past in self.history(conversation) if past["event"]["type"] == "tool_result"]
        return results[-1]["result"], asked

    def approvals(self, path):
        """The approvals of a conversation that wait for an answer."""
        return self.expect(200, "GET", f"{path}/approvals")["approvals"]

    def state(self, conversation):
        """The state of a conversation."""
        return self.snapshot(conversation)["summary"]["state"]
