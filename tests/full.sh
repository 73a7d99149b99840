#!/usr/bin/env bash
# The random tests in full number, which takes an hour: 1,000 kills without warning, 10,000 cancels
# at random times, many more random conversations, and all benchmarks with what they assert.
#
#   tests/full.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

HARNESS_CRASH_CYCLES=1000 cargo test --locked --release --test service crash:: -- --nocapture
HARNESS_CANCELS=10000 cargo test --locked --release --test service cancel::at_random -- --nocapture
PROPTEST_CASES=20000 cargo test --locked --release -p harness-actors --lib random
HARNESS_DROPS=1000 cargo test --locked --release --test service terminal::drops -- --nocapture
cargo bench --locked --workspace
