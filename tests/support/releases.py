"""Two published releases of xmltodict, and the way from one to the other in steps: for where the project's
history cannot be had.

    releases.py FOLDER     fetches the newer one and prints where it is; exit code 77 where it cannot be had
"""

import difflib
import re
import subprocess
import sys
import tarfile
from pathlib import Path

NAME = "xmltodict"
# The source packages that the index of Python packages keeps, by their SHA-256.
BEFORE = ("0.15.1", "3d8d49127f3ce6979d40a36dbcad96f8bab106d232d24b49efdd4bd21716983c")
AFTER = ("1.0.0", "f50eb9020d28c673b40bbe3f43458ee165f0267c67f8ad8df0d70d9a4f3ac824")
# What the changes of a feature say, and no other change does. What is left goes with the last one.
STEPS = {
    "namespaces": ("self.namespace_declarations:",),
    "streaming": ("streaming depth", "the emitted item"),
    "empty-lists": ("Skip empty lists",),
    "text-values": ("def _convert_value_to_string", "v = _convert_value_to_string(v)", "isinstance(v, bool)",
                    "cdata = _convert_value_to_string(iv)"),
    "comments": ("escape", "comments_list", "comment_key=comment_key", "False, comment_key", "_XMLGenerator",
                 "seen_root", "len(input_dict) != 1"),
    "cdata": (),
}
DESCRIPTIONS = {
    "namespaces": "A namespace that an element without other attributes declares stays on it",
    "streaming": "What was streamed is let go: the memory does not grow with the items",
    "empty-lists": "An empty list makes no element",
    "text-values": "The text of an element with attributes may be a number or a boolean",
    "comments": "Comments are written, at the top and in elements",
    "cdata": "force_cdata may name the elements, or be a function",
}
# How long the packages may take to come, in seconds.
MOST = 300.0


def unpacked(release, folder):
    """The folder of a release, fetched into that one; none where the index cannot be reached."""
    version, digest = release
    pinned = folder / "pinned.txt"
    pinned.write_text(f"{NAME}=={version} --hash=sha256:{digest}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
               "--require-hashes", "--dest", folder, "--requirement", pinned]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST)
    except subprocess.TimeoutExpired:
        return None
    if "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr:
        raise ValueError(done.stderr)
    if done.returncode != 0:
        return None
    with tarfile.open(folder / f"{NAME}-{version}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return folder / f"{NAME}-{version}"


class Releases:
    """The features as changes between two releases."""

    def __init__(self, folder):
        self.before, self.after = (folder / f"{NAME}-{version}" for version, _ in (BEFORE, AFTER))
        self.texts = self.steps()
        self.tests = self.found_tests(folder / "tried")

    @classmethod
    def fetch(cls, folder):
        """Those of the index; none where it cannot be reached."""
        folder.mkdir()
        return cls(folder) if all(unpacked(release, folder) for release in (BEFORE, AFTER)) else None

    def steps(self):
        """The source after each feature; the first one is the base."""
        old, new = ((release / f"{NAME}.py").read_text().splitlines(keepends=True)
                    for release in (self.before, self.after))
        codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        owners = [self.owner("".join(old[a:b] + new[c:d])) for _, a, b, c, d in codes]
        texts, done = ["".join(old)], set()
        for feature in STEPS:
            done.add(feature)
            parts = (new[c:d] if owner in done else old[a:b]
                     for (_, a, b, c, d), owner in zip(codes, owners))
            texts.append("".join(line for part in parts for line in part))
        return texts

    @staticmethod
    def owner(change):
        """The feature that a change belongs to."""
        says = (name for name, words in STEPS.items() if any(word in change for word in words))
        return next(says, list(STEPS)[-1])

    def found_tests(self, folder):
        """The tests that begin to pass with each feature, by running all of them after each step."""
        failing = []
        for number, text in enumerate(self.texts):
            tried = folder / str(number)
            (tried / "tests").mkdir(parents=True)
            for name, content in self.files().items():
                (tried / "tests" / name).write_text(content)
            (tried / f"{NAME}.py").write_text(text)
            command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
            done = subprocess.run(command, cwd=tried, capture_output=True, text=True, check=False, timeout=MOST)
            named = re.findall(r"^(?:FAIL|ERROR): (\w+) \((\S+?)\)", done.stderr, re.M)
            failing.append({owner if owner.endswith(f".{test}") else f"{owner}.{test}" for test, owner in named})
        return {name: sorted(before - after) for name, before, after in zip(STEPS, failing, failing[1:])}

    def files(self):
        """The tests of the newer release."""
        return {path.name: path.read_text() for path in sorted((self.after / "tests").glob("*.py"))}

    def base(self):
        """The source of the older release."""
        return self.texts[0]

    def features(self):
        """Each feature with its description and its tests."""
        return {name: (DESCRIPTIONS[name], tests) for name, tests in self.tests.items()}

    def commands(self):
        """What makes each change."""
        return {name: f"cat > {NAME}.py <<'END OF FILE'\n{text}END OF FILE"
                for name, text in zip(STEPS, self.texts[1:])}


def main():
    """Fetches the newer release."""
    found = unpacked(AFTER, Path(sys.argv[1]))
    if found is None:
        sys.exit(77)
    print(found)


if __name__ == "__main__":
    main()
