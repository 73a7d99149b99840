#!/usr/bin/env bash
# Builds the manual with mdBook, after links and the table of contents were looked at. mdBook is installed below
# target/ if it is missing: that takes about 80 s on two cores.
#
#   tests/manual.sh           checks and builds; the manual is manual/index.html in the target folder
#
# Spec: [TIDY-16]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=0.5.4
tests/pages.py --links
target=$(realpath "${CARGO_TARGET_DIR:-target}")
own=$target/mdbook-$version
mdbook=$(command -v mdbook || echo "$own/bin/mdbook")
if [[ ! -x "$mdbook" ]]; then
    CARGO_TARGET_DIR=$own/build cargo install mdbook --version "$version" --locked --no-default-features \
        --root "$own" --quiet
    rm -rf "$own/build"
fi
book=$target/manual
rm -rf "$book"
"$mdbook" build --dest-dir "$book" 2>"$target/manual.log" || { cat "$target/manual.log" >&2; exit 1; }
if grep -qE 'WARN|ERROR' "$target/manual.log"; then cat "$target/manual.log" >&2; exit 1; fi
# Each page of the table of contents is there, and each link between them leads to a page and a heading.
python3 - "$book" <<'END_OF_PYTHON'
import re
import sys
from pathlib import Path

book = Path(sys.argv[1])
pages = {path: path.read_text() for path in book.glob("*.html")}
wrong = []
for path, text in pages.items():
    if path.name in ("print.html", "toc.html", "404.html"):
        continue
    body = text.split("<main>")[1].split("</main>")[0]
    for link in re.findall(r'href="([^"]+)"', body):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        there = book / target if target else path
        if there not in pages or (anchor and f'id="{anchor}"' not in pages[there]):
            wrong.append(f"{path.name}: {link}")
listed = re.findall(r"\]\((.*)\.md\)", Path("docs/SUMMARY.md").read_text())
wrong += [f"{name} was not built" for name in listed if not (book / f"{name}.html").exists() and name != "README"]
if wrong:
    sys.exit("the manual: " + "; ".join(wrong))
print(f"the manual: {len(listed)} pages in {book}")
END_OF_PYTHON
