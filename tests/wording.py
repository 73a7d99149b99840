#!/usr/bin/env python3
"""A ratchet for names and prose: counts what STYLE.md asks to avoid in product code, and fails when a count is
above its recorded value in tests/wording.tsv. The failure names the places that are new since the values were recorded.

    tests/wording.py                 compares with the recorded values
    tests/wording.py --record        lowers recorded values to the counts; it never raises one
    tests/wording.py --list MEASURE  prints every place of a measure
    tests/wording.py --try           adds violations to a copy of the tree and expects them to be named

Tests, test helpers, benches and examples are not counted.

Spec: [TIDY-19]
"""

import collections
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RECORD = "tests/wording.tsv"
SOURCES = ("actors/src", "protocol/src", "src", "standin/src", "tui/src")
# Most places that a failure prints for one measure.
SHOWN = 20

NOT_PRODUCT = re.compile(r"_tests?\.rs$|/tests?\.rs$|/tests?/|testing|_properties|contract\.rs$")
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\(\w+\))? )?mod \w+ \{.*", re.DOTALL)
DOC = re.compile(r"\s*//[/!] ?(.*)")
COMMENT = re.compile(r"\s*//")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
TYPE = re.compile(r"(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)")
FUNCTION = re.compile(r"\bfn (\w+)")
QUESTION = re.compile(r"(?:What|Who|Whom|Whose|Where|How|Whether|When|Why|Which|Whoever|Whatever)\b")
PHRASES = {
    "unnamed_actor": r"\b(?:nobody|somebody|whoever|anybody)\b",
    "is_told": r"\b(?:is|are|was|were) (?:also )?told\b",
    "what_came_of": r"\bwhat (?:came|comes|becomes?|became) of\b",
    "anew": r"\banew\b",
    "goes_on": r"\b(?:goes|go|going) on\b",
    "stands_or_lies": r"\b(?:stands?|stood|lies|lie|lay)\b",
    "as_it_is": r"\bas (?:it|they) (?:was|were|is|are|stands?)\b",
    "as_far_as": r"\b(?:as|how) far\b",
    "is_gone": r"\b(?:is|are|was) gone\b",
}
PHRASES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PHRASES.items()}
# The phrases that are counted in texts for people, too.
IN_STRINGS = ("unnamed_actor", "is_told", "what_came_of", "anew")
UNCLEAR_FUNCTIONS = ("of", "told", "said", "shown", "whole", "take", "named")
MEASURES = (
    "doc_opens_with_question_word",
    *(f"doc_says_{name}" for name in PHRASES),
    "string_says_such_a_phrase",
    *(f"function_named_{name}" for name in UNCLEAR_FUNCTIONS),
    "type_name_of_one_word",
    "type_name_used_again",
    "loose_file_in_src",
)


class Place(NamedTuple):
    """One finding. Its line number is not compared: code above it may move."""

    file: str
    line: int
    text: str


def product_files(tree):
    """The names and texts of product code, without test modules."""
    for name, text in sorted(tree.items()):
        if name.endswith(".rs") and name.startswith(tuple(f"{top}/" for top in SOURCES)):
            if not NOT_PRODUCT.search(f"/{name}"):
                yield name, TEST_MODULE.sub("", text)


def measure(tree):
    """The places of each measure in a tree."""
    places = {name: [] for name in MEASURES}
    definitions = collections.defaultdict(dict)
    for name, text in product_files(tree):
        in_doc = False
        for number, line in enumerate(text.split("\n"), 1):
            place = Place(name, number, line.strip())
            if doc := DOC.match(line):
                if not in_doc and QUESTION.match(doc[1]):
                    places["doc_opens_with_question_word"].append(place)
                for phrase, pattern in PHRASES.items():
                    places[f"doc_says_{phrase}"] += [place] * len(pattern.findall(doc[1]))
                in_doc = True
                continue
            in_doc = False
            if COMMENT.match(line):
                continue
            for string in STRING.findall(line):
                if " " in string and len(string) > 8 and any(PHRASES[one].search(string) for one in IN_STRINGS):
                    places["string_says_such_a_phrase"].append(place)
            for function in FUNCTION.findall(line):
                if function in UNCLEAR_FUNCTIONS:
                    places[f"function_named_{function}"].append(place)
            if (found := TYPE.match(line)) and not name.startswith("standin/"):
                definitions[found[1]].setdefault(name, place)
    for type_name, by_file in definitions.items():
        if len(re.findall(r"[A-Z][a-z0-9]*", type_name)) == 1:
            places["type_name_of_one_word"] += by_file.values()
        if len(by_file) > 1:
            places["type_name_used_again"] += by_file.values()
    loose = [name for name in tree if re.fullmatch(r"src/[^/]+\.rs", name)]
    places["loose_file_in_src"] = [Place(name, 1, "") for name in loose]
    return places


def working_tree(root):
    """The files of a folder that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *SOURCES]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name: (root / name).read_text() for name in names if name and (root / name).is_file()}


def tree_when_recorded(root):
    """The files at the commit that last changed the recorded values. `None` without that history."""
    command = ["git", "log", "-1", "--format=%H", "--", RECORD]
    commit = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    if not commit:
        return None
    command = ["git", "archive", commit, "--", *SOURCES]
    archive = subprocess.run(command, cwd=root, capture_output=True)
    if archive.returncode != 0:
        return None
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        return {one.name: files.extractfile(one).read().decode() for one in files if one.isfile()}


def recorded(root):
    """The recorded value of each measure."""
    rows = (line.split("\t") for line in (root / RECORD).read_text().splitlines()[1:])
    return {name: int(value) for name, value in rows}


def new_places(now, before):
    """The places that were not there before, whichever line they are on."""
    old = collections.Counter((place.file, place.text) for place in before)
    for place in now:
        if old[place.file, place.text] > 0:
            old[place.file, place.text] -= 1
        else:
            yield place


def problems(root):
    """One text for each count that is above its recorded value."""
    places, limits = measure(working_tree(root)), recorded(root)
    if set(limits) != set(MEASURES):
        return [f"{RECORD} has other measures than tests/wording.py: {sorted(set(limits) ^ set(MEASURES))}"]
    found = []
    before = None
    for name, limit in limits.items():
        count = len(places[name])
        if count <= limit:
            continue
        if before is None:
            before = measure(tree_when_recorded(root) or {})
        new = list(new_places(places[name], before[name]))
        lines = [f"  {place.file}:{place.line}: {place.text}" for place in new[:SHOWN]]
        lines += [f"  … and {len(new) - SHOWN} more: tests/wording.py --list {name}"] if len(new) > SHOWN else []
        found.append("\n".join([f"{name}: {count}, of at most {limit}. New:", *lines]))
    return found


def record(root):
    """Writes the counts that are below the recorded values."""
    places, path = measure(working_tree(root)), root / RECORD
    limits = recorded(root) if path.exists() else {}
    rows = [f"{name}\t{min(len(places[name]), limits.get(name, len(places[name])))}" for name in MEASURES]
    path.write_text("\n".join(["measure\tat most", *rows]) + "\n")


def check(root):
    """Compares and reports. Returns the exit code."""
    found = problems(root)
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        print("wording: say it as STYLE.md asks", file=sys.stderr)
        return 1
    places, limits = measure(working_tree(root)), recorded(root)
    lower = [name for name in limits if len(places[name]) < limits[name]]
    print(f"wording: {len(limits)} counts are within their recorded values")
    if lower:
        print(f"wording: lower than recorded: {', '.join(lower)}; record them with tests/wording.py --record")
    return 0


def try_it():
    """Adds violations to a copy of the tree, and expects each to be named with its place."""
    file = "protocol/src/violations.rs"
    text = "//! What it is for.\n\npub struct Input;\n\npub fn of() {\n    let _ = \"nobody is told\";\n}\n"
    expected = {
        "doc_opens_with_question_word": 1, "type_name_of_one_word": 3, "type_name_used_again": 3, "function_named_of": 5,
        "string_says_such_a_phrase": 6,
    }
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(copy)], check=True)
        # The copy is compared with itself, so that it has no violation but the added ones.
        (copy / RECORD).unlink()
        record(copy)
        author = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "add", RECORD], cwd=copy, check=True)
        subprocess.run(["git", *author, "commit", "-qm", "x", "--allow-empty"], cwd=copy, check=True)
        if problems(copy):
            raise SystemExit(f"wording: an unchanged copy has problems: {problems(copy)}")
        (copy / file).write_text(text)
        found = {problem.split(":")[0]: problem for problem in problems(copy)}
    for name, line in expected.items():
        if f"  {file}:{line}: " not in found.get(name, ""):
            raise SystemExit(f"wording: {file}:{line} is not named for {name}: {found.get(name)}")
    if set(found) != set(expected):
        raise SystemExit(f"wording: unexpected: {sorted(set(found) - set(expected))}")
    print(f"wording: {len(expected)} added violations are named with their places")


def main():
    match sys.argv[1:]:
        case []:
            raise SystemExit(check(ROOT))
        case ["--record"]:
            record(ROOT)
        case ["--list", name]:
            if name not in MEASURES:
                raise SystemExit(f"wording: {name} is not a measure; these are: {', '.join(MEASURES)}")
            for place in measure(working_tree(ROOT))[name]:
                print(f"{place.file}:{place.line}: {place.text}")
        case ["--try"]:
            try_it()
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
