#!/usr/bin/env python3
"""What the service is built of: no version with a known hole, no licence that asks for more than a
notice, no second version of a crate but those that are named here, no unsafe code of its own.

    tests/dependencies.py                    checks Cargo.lock
    tests/dependencies.py --update FOLDER    writes tests/advisories.txt anew, of a checkout of
                                             RustSec's advisory-db

tests/advisories.txt has a line for each package of Cargo.lock that was looked up, with the versions in
which each of its advisories is mended or never was a hole. A package without a line was added since, and is
a failure until the file is made anew.

Spec: [TIDY-15]
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "advisories.txt"

# Advisories that cannot apply, and why.
ACCEPTED = {
    "RUSTSEC-2025-0141": "bincode is unmaintained and has no hole; syntect reads with it what is built in",
    "RUSTSEC-2026-0258": "HTTP/2 is neither spoken to the API nor to clients",
}
# Each asks for no more than a notice, or for its own sources to stay under it.
LICENCES = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CDLA-Permissive-2.0", "ISC", "MIT",
    "MPL-2.0", "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "WTFPL", "Zlib",
}
# Crates of which others need two versions.
TWICE = {
    "bitflags", "block-buffer", "cfg_aliases", "cpufeatures", "crypto-common", "digest", "getrandom", "http",
    "itertools", "nix", "r-efi", "rand", "rand_core", "sha2", "syn", "thiserror", "thiserror-impl", "webpki-roots",
    "windows-sys", "winnow",
}


def version(text):
    """The first three numbers of a version."""
    numbers = re.match(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", text).groups()
    return tuple(int(number or 0) for number in numbers)


def meets(requirement, at):
    """Whether a version meets a requirement of Cargo, such as `>=1.2, <2`."""
    for part in requirement.split(","):
        operator, least = re.match(r"\s*(>=|<=|>|<|=|\^|~)?\s*(\S+)", part).groups()
        least = version(least)
        same = 1 if least[0] else 2 if least[1] else 3
        holds = {
            ">=": at >= least,
            "<=": at <= least,
            ">": at > least,
            "<": at < least,
            "=": at == least,
            "~": at >= least and at[:2] == least[:2],
        }.get(operator, at >= least and at[:same] == least[:same])
        if not holds:
            return False
    return True


def locked():
    """The packages of Cargo.lock, each with its versions."""
    packages = {}
    for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]:
        packages.setdefault(package["name"], []).append(package["version"])
    return packages


def update(database):
    """Writes the list anew."""
    date = subprocess.run(["git", "-C", database, "log", "-1", "--format=%cs"], text=True,
                          stdout=subprocess.PIPE, check=True).stdout.strip()
    lines = [f"# of the advisory-db of {date}"]
    for name in sorted(locked()):
        line = [name]
        for file in sorted((Path(database) / "crates" / name).glob("*.md")):
            head = tomllib.loads(re.search(r"```toml\n(.*?)```", file.read_text(), re.S)[1])
            if not head["advisory"].get("withdrawn"):
                versions = head.get("versions", {})
                safe = versions.get("patched", []) + versions.get("unaffected", [])
                line.append(f"{head['advisory']['id']} {' | '.join(safe) or 'none'}")
        lines.append("; ".join(line))
    LIST.write_text("\n".join(lines) + "\n")


def holes():
    """The advisories that apply, and the packages that nobody looked up."""
    looked_up = {}
    for line in LIST.read_text().splitlines()[1:]:
        name, *advisories = line.split("; ")
        looked_up[name] = [advisory.split(" ", 1) for advisory in advisories]
    own = {package["name"] for package in metadata()["packages"] if package["source"] is None}
    for name, versions in locked().items():
        if name not in looked_up and name not in own:
            yield f"{name} is not in {LIST.name}: make the file anew with --update"
        for advisory, safe in looked_up.get(name, []):
            for at in versions:
                is_safe = safe != "none" and any(meets(one, version(at)) for one in safe.split(" | "))
                if not is_safe and advisory not in ACCEPTED:
                    yield f"{name} {at} has {advisory}, mended in {safe}"


def metadata():
    """What Cargo tells of all packages."""
    told = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT,
                          stdout=subprocess.PIPE, check=True).stdout
    return json.loads(told)


def is_allowed(licence):
    """Whether one of the licences that may be chosen is allowed, and each that has to be taken."""
    text = re.sub(r" WITH \S+?(?=[ )]|$)", "", licence.replace("/", " OR "))
    words = re.sub(r"[^\s()]+", lambda word: {"AND": "and", "OR": "or"}.get(
        word[0], str(word[0] in LICENCES)), text)
    return re.fullmatch(r"(True|False|and|or|[\s()])+", words) is not None and eval(words)


def other_failures():
    """What is wrong with licences, second versions and unsafe code."""
    for package in metadata()["packages"]:
        licence = package["license"] or "none"
        if not is_allowed(licence):
            yield f"{package['name']} {package['version']} has the licence {licence}"
    for name, versions in locked().items():
        if len(versions) > 1 and name not in TWICE:
            yield f"{name} is there in the versions {', '.join(versions)}"
    if 'unsafe_code = "forbid"' not in (ROOT / "Cargo.toml").read_text():
        yield "Cargo.toml does not forbid unsafe code"
    for manifest in ["Cargo.toml", *(f"{crate}/Cargo.toml" for crate in ("actors", "protocol", "standin", "tui"))]:
        if tomllib.loads((ROOT / manifest).read_text()).get("lints") != {"workspace": True}:
            yield f"{manifest} does not take the workspace's lints"


def main():
    if sys.argv[1:2] == ["--update"]:
        update(sys.argv[2])
        return
    failures = [*holes(), *other_failures()]
    if failures:
        sys.exit("dependencies: " + "\ndependencies: ".join(failures))
    print(f"dependencies: ok, {LIST.read_text().splitlines()[0].lstrip('# ')}")


if __name__ == "__main__":
    main()
