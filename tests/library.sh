#!/usr/bin/env bash
# Builds and runs a program outside of the workspace (tests/library_user/) against the library crates as `cargo package`
# makes them, with the versions of Cargo.lock. What the workspace has built is used again where its features match.
#
#   tests/library.sh
#
# Spec: [LIB-327] [LIB-328]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { printf 'library: %s\n' "$1" >&2; exit 1; }

# What is not committed is not packaged, but for a machine on which somebody works.
dirty=()
[[ -n "${CI:-}" ]] || dirty=(--allow-dirty)
cargo package --quiet --locked --no-verify "${dirty[@]}" -p harness-protocol -p harness-actors
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
for crate in harness-protocol harness-actors; do
    tar -xzf "$target/package/$crate-$version.crate" -C "$folder"
done
cp -r tests/library_user "$folder/user"
cp Cargo.lock "$folder/user/"
lines=$(wc -l <"$folder/user/src/main.rs")
(( lines <= 60 )) || fail "the program has $lines lines, and should need no more than 60"
cat >>"$folder/user/Cargo.toml" <<END

[patch.crates-io]
harness-actors = { path = "../harness-actors-$version" }
harness-protocol = { path = "../harness-protocol-$version" }
END
cd "$folder/user"
tree=$(cargo tree --quiet --prefix none --edges normal)
for crate in awc rustls ring; do
    if grep -q "^$crate " <<<"$tree"; then fail "$crate comes along without the feature client"; fi
done
CARGO_TARGET_DIR=$target cargo run --quiet >"$folder/said" 2>"$folder/words" || { cat "$folder/words" >&2; exit 1; }
# Without the features `client` and `files` nothing of the library is unused, either.
if grep -q '^warning' "$folder/words"; then cat "$folder/words" >&2; fail "there are warnings"; fi
grep -q '^1: HEY it is\.' "$folder/said" || { cat "$folder/said" >&2; fail "it said something else"; }
echo "library: ok"
