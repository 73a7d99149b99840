#!/usr/bin/env python3
"""A Messages API whose model does the steps of a file, one a reply, and then says that it is done.

    steps.py FILE      prints where it is, and serves until it is ended

The file is an array of calls: `[TOOL, INPUT]`.
"""

import json
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from upstream import Scripted, call, events  # noqa: E402


def main():
    """Serves."""
    steps = json.loads(Path(sys.argv[1]).read_text())

    def reply(messages):
        done = sum(message["role"] == "assistant" for message in messages)
        if done < len(steps):
            return call(*steps[done], f"step_{done}")
        return events("All of it is done.")

    print(Scripted(reply).url(), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
