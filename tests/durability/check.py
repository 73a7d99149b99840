"""Runs the checks of what the journals promise; see tests/durability.sh."""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import disk_full
import injected
import order
import sweep
from harness import Failure, NoAnswer

PARTS = {"order": order, "sweep": sweep, "injected": injected, "disk_full": disk_full}


def main():
    """All parts, or those that are named."""
    for name in sys.argv[1:] or PARTS:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="durability-") as folder:
            try:
                PARTS[name].check(Path(folder))
            except (Failure, NoAnswer) as error:
                print(f"durability: {name}: {error}", file=sys.stderr)
                if (log := Path(folder) / "service.log").exists():
                    print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
                return 1
        print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)
    return 0


sys.exit(main())
