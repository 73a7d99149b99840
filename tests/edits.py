#!/usr/bin/env python3
"""Draws edits from the history of this repository, and makes others of them: the cases of the tool `edit`.

    tests/edits.py > tests/fixtures/edits.jsonl

What an edit has to come to is worked out here, in plain bytes, and with nothing of the tool's own code. The
cases are drawn from one commit's past and with one seed, so that the file comes out the same every time.

A line is a case. `before` holds a byte a character (Latin-1); `old` and `new` are texts. What is expected
is either `refused`, a part of the reason, or `places`: the bytes that are replaced, each with what is put
there, and `after`, the SHA-256 of the whole. `commit` and `path` tell where a case was drawn.
"""

import hashlib
import json
import random
import re
import subprocess
import sys

# The last commit that cases are drawn from.
REVISION = "6b7ee0d984571273729c4a203502338c8a139113"
SEED = 20
DRAWN = 100
# How many lines of a file are kept on each side of a change.
AROUND, AROUND_MADE = 45, 14
ENDINGS = (".rs", ".md", ".toml", ".py", ".sh", ".js", ".mjs", ".html", ".css", ".yml")
LONGEST = 1500


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout


def changes():
    """Each file that a commit changed in one place: the commit, the path, and its contents before and after."""
    log = git("log", "--no-merges", "--diff-filter=M", "--raw", "--no-abbrev", "--no-renames", "--format=%H", REVISION)
    commit = ""
    for line in log.decode().splitlines():
        if re.fullmatch("[0-9a-f]{40}", line):
            commit = line
        elif line.startswith(":"):
            facts, path = line.split("\t")
            before, after = facts.split()[2:4]
            if path.endswith(ENDINGS):
                yield commit, path, before, after


def lines_of(content):
    return content.splitlines(keepends=True) if b"\r" not in content else []


def hunk(before, after):
    """The lines that one change replaced: where, how many before and after; the ends in common are left out."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, len(before) - end, len(after) - end


def count(content, text):
    """How often a text stands somewhere, also where places overlap."""
    return sum(content.startswith(text, at) for at in range(len(content)))


def excerpt(commit, path, old_blob, new_blob, around):
    """An edit of a part of the file: None if it is none that a model would make."""
    contents = [git("cat-file", "blob", blob) for blob in (old_blob, new_blob)]
    if any(b"\0" in content for content in contents):
        return None
    before, after = (lines_of(content) for content in contents)
    if not before or not after:
        return None
    start, end, end_after = hunk(before, after)
    if (start == end and start == end_after) or end - start > 40 or end_after - start > 40:
        return None
    first, behind = max(0, start - around), len(before) - min(len(before), end + around)
    before, after = before[first : len(before) - behind], after[first : len(after) - behind]
    start, end, end_after = start - first, end - first, end_after - first
    content = b"".join(before)
    # As much of the surroundings as makes it unique, as a model would give.
    up, down = 0, 0
    while True:
        old = b"".join(before[start - up : end + down])
        if old and count(content, old) == 1:
            break
        if up <= down and start - up > 0:
            up += 1
        elif end + down < len(before):
            down += 1
        elif start - up > 0:
            up += 1
        else:
            return None
    new = b"".join(after[start - up : end_after + down])
    stripped = (old.removesuffix(b"\n"), new.removesuffix(b"\n"))
    if all(stripped) and old.endswith(b"\n") and new.endswith(b"\n") and count(content, stripped[0]) == 1:
        old, new = stripped
    if len(old) > LONGEST or len(new) > LONGEST:
        return None
    try:
        case = {"old": old.decode(), "new": new.decode()}
    except UnicodeDecodeError:
        return None
    at = content.index(old)
    return {
        "commit": commit[:12],
        "path": path,
        "content": content,
        **case,
        "at": at,
        "expected": b"".join(after),
    }


def applied(kind, content, old, new, places, expected=None, **more):
    """A case that is carried out: `places` are from, to and what is put there."""
    after, at = b"", 0
    for start, end, put in places:
        after += content[at:start] + put
        at = end
    after += content[at:]
    assert expected is None or after == expected, kind
    assert after != content, kind
    shown = [[start, end, put.decode("latin-1")] for start, end, put in places]
    digest = hashlib.sha256(after).hexdigest()
    return {"kind": kind, "before": content.decode("latin-1"), "old": old, "new": new, "places": shown, "after": digest, **more}


def refused(kind, content, old, new, reason, **more):
    """A case that is refused."""
    return {"kind": kind, "before": content.decode("latin-1"), "old": old, "new": new, "refused": reason, **more}


ALIKE = {"'": "\u2019", '"': "\u201c", "-": "\u2013", " ": "\u00a0"}
PLAIN = {ord(alike): plain for plain, alike in ALIKE.items()}


def loosened(text):
    """A text without line ends' kinds, blanks before them and look-alikes."""
    text = text.translate(PLAIN).replace("\r\n", "\n")
    return re.sub(r"[ \t]+(?=\n)", "", text)


def is_loosely_alone(content, old):
    return count(loosened(content.decode()), loosened(old)) == 1


def crlf(data):
    return data.replace(b"\n", b"\r\n")


# Each kind: a case made of a drawn one, or None where that one does not lend itself to it.
# `c` is the content, `o` and `n` are the bytes of the texts, `a` and `z` where the old one begins and ends.


def file_crlf(c, o, n, a, z, old, new):
    """The file has CR LF, the texts have LF."""
    if b"\n" not in o or b"\n" not in n:
        return None
    a2 = len(crlf(c[:a]))
    return applied("file CRLF", crlf(c), old, new, [(a2, a2 + len(crlf(o)), crlf(n))])


def one_line_crlf(c, o, n, a, z, old, new):
    """The old text has no line end, and the new one gets those of its surroundings."""
    line = o.split(b"\n")[0]
    if not line or count(c, line) != 1:
        return None
    a2 = len(crlf(c[: c.index(line)]))
    put = line + b"\n// more\n// and more"
    return applied("new lines in CRLF", crlf(c), line.decode(), put.decode(), [(a2, a2 + len(line), crlf(put))])


def newline_first_crlf(c, o, n, a, z, old, new):
    """The texts begin with a newline, which is CR LF in the file."""
    if not a or b"\n" in o or count(crlf(c), b"\n" + o) != 1:
        return None
    a2 = len(crlf(c[: a - 1]))
    z2 = a2 + 2 + len(o)
    return applied("newline first in CRLF", crlf(c), "\n" + old, "\n" + new, [(a2, z2, b"\r\n" + crlf(n))])


def text_crlf(c, o, n, a, z, old, new):
    """The file has LF, the texts have CR LF: the file keeps its own."""
    if b"\n" not in o or b"\n" not in n:
        return None
    return applied("texts CRLF", c, crlf(o).decode(), crlf(n).decode(), [(a, z, n)])


def only_match_crlf(c, o, n, a, z, old, new):
    """The line ends are mixed: CR LF where the old text is, LF elsewhere."""
    if b"\n" not in o or b"\n" not in n:
        return None
    return applied("mixed line ends", c[:a] + crlf(o) + c[z:], old, new, [(a, a + len(crlf(o)), crlf(n))])


def lone_cr(c, o, n, a, z, old, new):
    """A CR is no line end in a file that has LF."""
    if b"\n" not in o:
        return None
    return refused("lone CR", c.replace(b"\n", b"\r") + b"\n", old, new, "no match")


def tabs(c, o, n, a, z, old, new):
    """The file is indented by tabs, the text by blanks."""
    if not re.search(rb"(?m)^    ", o):
        return None
    return refused("tabs for blanks", re.sub(rb"(?m)^(    )+", lambda m: b"\t" * (len(m[0]) // 4), c), old, new, "no match")


def same_tabs(c, o, n, a, z, old, new):
    """Both are indented by tabs."""
    if not re.search(rb"(?m)^    ", o):
        return None
    tab = lambda data: data.replace(b"    ", b"\t")
    c2, o2, n2 = tab(c), tab(o), tab(n)
    if count(c2, o2) != 1 or o2 == n2:
        return None
    at = c2.index(o2)
    return applied("tabs", c2, o2.decode(), n2.decode(), [(at, at + len(o2), n2)])


def latin_around(c, o, n, a, z, old, new):
    """Bytes that are no UTF-8 stand before and behind the old text."""
    head, tail = b"caf\xe9 \xa0\xff\n", b"\nna\xefve \x80\xc3"
    shift = len(head)
    return applied("Latin-1 around", head + c + tail, old, new, [(a + shift, z + shift, n)])


def latin_at(c, o, n, a, z, old, new):
    """Bytes that are no UTF-8 touch the old text on both sides."""
    c2 = c[:a] + b"\xe9\xc2" + o + b"\xbf\xe9" + c[z:]
    return applied("Latin-1 beside", c2, old, new, [(a + 2, z + 2, n)])


def latin_in(c, o, n, a, z, old, new):
    """The file has a character in Latin-1, the text has it in UTF-8."""
    if b"e" not in o:
        return None
    at = a + o.index(b"e")
    return refused("Latin-1 in the text", c[:at] + b"\xe9" + c[at + 1 :], old.replace("e", "\u00e9", 1), new, "no match")


def bom(c, o, n, a, z, old, new):
    """The file begins with a byte order mark of UTF-8."""
    return applied("BOM", b"\xef\xbb\xbf" + c, old, new, [(a + 3, z + 3, n)])


def blanks_in_file(c, o, n, a, z, old, new):
    """The lines of the file have blanks at their ends."""
    if b"\n" not in o:
        return None
    # What stands before the first newline is no part of the text.
    loose = re.sub(rb"(?<=.)\n", b" \t\n", o)
    c2 = c[:a] + loose + c[z:]
    if count(c2, o) or not is_loosely_alone(c2, old):
        return None
    return applied("blanks at line ends", c2, old, new, [(a, a + len(loose), n)])


def blanks_in_text(c, o, n, a, z, old, new):
    """The lines of the text have blanks at their ends."""
    given = re.sub(r"(?<=.)\n", "  \n", old)
    if given == old or not is_loosely_alone(c, given):
        return None
    return applied("blanks at the text's line ends", c, given, new, [(a, z, n)])


def deeper(c, o, n, a, z, old, new):
    """The text is indented more than the file."""
    given = re.sub(r"(?m)^(?=[^\n])", "  ", old)
    if not re.search(r"(?m)^ ", old) or count(c, given.encode()):
        return None
    return refused("wrong indentation", c, given, new, "no match")


def inner(c, o, n, a, z, old, new):
    """Two blanks stand in a line where the file has one."""
    given = re.sub(r"(?<=[^\s]) (?=[^\s])", "  ", old, count=1)
    if given == old:
        return None
    return refused("wrong inner blanks", c, given, new, "no match")


def case(c, o, n, a, z, old, new):
    """Letters have the other size."""
    if old.swapcase() == old or count(c, old.swapcase().encode()):
        return None
    return refused("wrong letters", c, old.swapcase(), new, "no match")


def alike_in_file(c, o, n, a, z, old, new):
    """The file has look-alikes."""
    loose = old.translate({ord(plain): alike for plain, alike in ALIKE.items() if plain != " "}).encode()
    c2 = c[:a] + loose + c[z:]
    if loose == o or count(c2, o) or not is_loosely_alone(c2, old):
        return None
    return applied("look-alikes in the file", c2, old, new, [(a, a + len(loose), n)])


def alike_in_text(c, o, n, a, z, old, new):
    """The text has look-alikes."""
    given = re.sub(r"(?<=\S) (?=\S)", "\u00a0", old).replace("'", "\u2018").replace("-", "\u2212")
    plain = given.translate({0x2018: "'", 0x2212: "-"})
    if given == old or count(loosened(c.decode()), loosened(plain)) != 1:
        return None
    return applied("look-alikes in the text", c, given, new, [(a, z, n)])


def alike_twice(c, o, n, a, z, old, new):
    """Two places are alike, and none is the text itself."""
    loose = old.replace("'", "\u2019").replace('"', "\u201d").replace("-", "\u2014").encode()
    if loose == o:
        return None
    return refused("look-alikes in two places", c[:a] + loose + c[z:] + b"\n" + loose, old, new, "no match")


def alike_beside(c, o, n, a, z, old, new):
    """One place is alike and another is the text itself."""
    loose = old.replace("'", "\u2019").replace('"', "\u201d").replace("-", "\u2014").encode()
    if loose == o:
        return None
    return applied("the text beside a look-alike", loose + b"\n" + c, old, new, [(a + len(loose) + 1, z + len(loose) + 1, n)])


def alike_all(c, o, n, a, z, old, new):
    """A text that is only alike is not replaced everywhere."""
    loose = old.replace("'", "\u2019").replace('"', "\u201d").replace("-", "\u2014").encode()
    if loose == o:
        return None
    return refused("look-alikes everywhere", c[:a] + loose + c[z:], old, new, "no match", all=True)


def twice(c, o, n, a, z, old, new):
    """The text stands in two places."""
    c2 = c + b"\n" + o
    second = len(c) + 1
    if count(c2, o) != 2:
        return None
    numbers = [c2[:at].count(b"\n") + 1 for at in (a, second)]
    return refused("two places", c2, old, new, f"found 2 matches, in lines {numbers[0]}, {numbers[1]};")


def twice_all(c, o, n, a, z, old, new):
    """Both of two places are replaced."""
    c2 = c + b"\n" + o
    if count(c2, o) != 2:
        return None
    second = len(c) + 1
    return applied("two places, all", c2, old, new, [(a, z, n), (second, second + len(o), n)], all=True)


def crlf_all(c, o, n, a, z, old, new):
    """Both of two places are replaced, of which one has CR LF: each keeps its own."""
    if b"\n" not in o or b"\n" not in n:
        return None
    c2 = crlf(c) + b"\r\n" + crlf(o)
    at = len(crlf(c[:a]))
    second = len(crlf(c)) + 2
    size = len(crlf(o))
    if count(c2, crlf(o)) != 2:
        return None
    return applied("two places in CRLF, all", c2, old, new, [(at, at + size, crlf(n)), (second, second + size, crlf(n))], all=True)


def no_end(c, o, n, a, z, old, new):
    """The old text is the end of a file without a last newline."""
    body = o.rstrip(b"\n")
    c2 = c[:a] + body
    put = n.rstrip(b"\n")
    if not body or not put or put == body or count(c2, body) != 1:
        return None
    return applied("no last newline", c2, body.decode(), put.decode(), [(a, a + len(body), put)])


def missing_end(c, o, n, a, z, old, new):
    """The text ends with a newline that the file's end has not."""
    body = o.rstrip(b"\n")
    c2 = c[:a] + body
    if not body or count(c2, body) != 1:
        return None
    return refused("no such last newline", c2, body.decode() + "\n", new, "no match")


def empty_new(c, o, n, a, z, old, new):
    """The old text is taken away."""
    return applied("taken away", c, old, "", [(a, z, b"")])


def same(c, o, n, a, z, old, new):
    """Both texts are the same."""
    return refused("the same", c, old, old, "are the same")


def empty_old(c, o, n, a, z, old, new):
    """The old text is empty and the file is not."""
    return refused("empty text", c, "", new, "old_string is empty")


def nul(c, o, n, a, z, old, new):
    """The file has a NUL byte."""
    return refused("NUL", c + b"\0", old, new, "NUL")


def utf16(c, o, n, a, z, old, new):
    """The file is UTF-16."""
    return refused("UTF-16", b"\xff\xfe" + c.decode().encode("utf-16-le"), old, new, "UTF-16")


KINDS = [
    *(file_crlf, one_line_crlf, newline_first_crlf, text_crlf, only_match_crlf, lone_cr, crlf_all),
    *(tabs, same_tabs, blanks_in_file, blanks_in_text, deeper, inner, case),
    *(latin_around, latin_at, latin_in, bom, nul, utf16),
    *(alike_in_file, alike_in_text, alike_twice, alike_beside, alike_all),
    *(twice, twice_all, no_end, missing_end, empty_new, same, empty_old),
]


def main():
    rng = random.Random(SEED)
    found = list(changes())
    rng.shuffle(found)
    drawn = []
    paths = {}
    for change in found:
        edit = excerpt(*change, AROUND)
        # Not the same few files again and again.
        if edit and paths.get(edit["path"], 0) < 2:
            paths[edit["path"]] = paths.get(edit["path"], 0) + 1
            drawn.append((change, edit))
            if len(drawn) == DRAWN:
                break
    assert len(drawn) == DRAWN, len(drawn)
    cases = []
    for _, edit in drawn:
        old, new, at = edit["old"], edit["new"], edit["at"]
        places = [(at, at + len(old.encode()), new.encode())]
        source = {"commit": edit["commit"], "path": edit["path"]}
        cases.append(applied("drawn", edit["content"], old, new, places, edit["expected"], **source))
    made = 0
    for number in range(10 * DRAWN):
        edit = excerpt(*drawn[number % DRAWN][0], AROUND_MADE)
        kind = KINDS[made % len(KINDS)]
        if not edit:
            continue
        old, new, at = edit["old"], edit["new"], edit["at"]
        o = old.encode()
        # A made case starts from a text that stands alone, however loosely one looks.
        if not is_loosely_alone(edit["content"], old) or any(ord(c) in PLAIN for c in old + new):
            continue
        case = kind(edit["content"], o, new.encode(), at, at + len(o), old, new)
        if case:
            cases.append(case | {"commit": edit["commit"], "path": edit["path"]})
            made += 1
            if made == DRAWN:
                break
    assert made == DRAWN, made
    for case in cases:
        print(json.dumps(case, ensure_ascii=True, separators=(",", ":")))
    kinds = {case["kind"] for case in cases}
    print(f"{len(cases)} cases of {len(kinds)} kinds", file=sys.stderr)


main()
