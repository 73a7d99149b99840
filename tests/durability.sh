#!/usr/bin/env bash
# What the journals promise, of the whole program: strace sees in which order it writes, flushes
# and answers, kills it at every system call on the way of a prompt, lets calls fail, and in the
# end its disk is really full.
#
#   tests/durability.sh                  all parts
#   tests/durability.sh sweep            one part: order, sweep, injected, disk_full
#   HARNESS_BIN=… tests/durability.sh    the same, with a binary that is built already
#
# Needs strace, and the right to trace and to mount: root, or `ptrace_scope` 0 and user namespaces.
#
# Spec: [JRNL-80] [JRNL-81] [JRNL-82] [JRNL-83] [JRNL-84] [JRNL-85] [JRNL-86] [JRNL-87] [JRNL-88]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
limit=1800

# Installs a Debian package if a program is missing; only where nobody's machine is changed.
need() {
    command -v "$1" >/dev/null && return
    [[ -n "${CI:-}" ]] || { echo "$1 is missing; install the package $2" >&2; exit 1; }
    apt-get update -qq && apt-get install -y -qq "$2"
}

need python3 python3
need strace strace
need unshare util-linux

if [[ -z "${HARNESS_BIN:-}" ]]; then
    (cd "$root" && cargo build --locked --quiet)
    HARNESS_BIN="${CARGO_TARGET_DIR:-$root/target}/debug/harness"
fi
export HARNESS_BIN PYTHONDONTWRITEBYTECODE=1
exec timeout --kill-after=10 "$limit" python3 "$root/tests/durability/check.py" "$@"
