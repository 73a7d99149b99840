# What one does all day; `.ci/run` is the full list of checks. `just` alone lists these.

_list:
    @{{ just_executable() }} --list

# Format, lints, and the tests that need no built program: before each commit
fast:
    cargo fmt --all --check
    tests/wording.py
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo test --workspace --lib --bins --locked

# Everything that CI checks, or some of its steps
full *steps:
    .ci/run {{ steps }}

# The service with the demo in place of a model
run *arguments:
    cargo run --release --locked -- serve --demo {{ arguments }}

# Measures the built program beside a bare baseline: `just bench service seam`, `just bench frames`
bench program *parts:
    cargo build --release --locked -p harness -p harness-benches
    target/release/bench-{{ program }} {{ parts }}

# The terminal client, attached to the running service
tui *arguments:
    cargo run --release --locked -- attach {{ arguments }}
