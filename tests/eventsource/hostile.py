"""What web pages that mean ill can do to the service, in a real browser: nothing is taken, and nothing
can be read; see tests/eventsource/run.sh.

Spec: [SEC-04]
"""

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from harness import Failure, Service

# Another site, and another host.
REFUSALS = {403, 421}
# Twelve pages try twenty things each, of which the browser itself refuses some.
FEWEST = 117


def main():
    with tempfile.TemporaryDirectory(prefix="harness-hostile-") as folder:
        service = Service(folder)
        service.start()
        try:
            command = ["node", str(HERE / "hostile.mjs"), str(service.port)]
            told = subprocess.run(command, stdout=subprocess.PIPE, timeout=350, check=True)
            found = json.loads(told.stdout)
            taken = [answer for answer in found["answers"] if answer[3] not in REFUSALS]
            if taken:
                raise Failure(f"answered: {taken[:10]}")
            if found["readable"]:
                raise Failure(f"a page read: {found['readable'][:10]}")
            if len(found["answers"]) < FEWEST:
                raise Failure(f"only {len(found['answers'])} requests were answered")
            conversation = service.snapshot("default")
            if conversation["summary"]["prompts"]:
                raise Failure("a page sent a prompt")
            counts = collections.Counter(answer[3] for answer in found["answers"])
            print(f"hostile pages: {dict(counts)}, nothing taken and nothing read")
        finally:
            service.kill()


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"hostile pages: {failure}")
