#!/usr/bin/env bash
# What has chance in it or a number of clients, in full number, each part in under an hour; a table in the end says
# what ran.
# `.ci/run` runs a part of each.
#
#   tests/full.sh            all parts
#   tests/full.sh PART…      some of them
#   tests/full.sh --list     their names
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Longer than any part takes that is not stuck.
limit=3600
parts=(
    crash replies queues compaction spending writes commands approvals contents cancels drops attaches together random corpus folders
    durability undo limits costs work strangers soak crowd benches
    workflows manual gateway mcp
)

[[ "${1:-}" == --list ]] && { printf '%s\n' "${parts[@]}"; exit; }
for part in "$@"; do
    [[ " ${parts[*]} " == *" $part "* ]] || { echo "no part is named $part; see --list" >&2; exit 2; }
done

# Runs tests; that none has such a name is a failure.
tests() {
    timeout "$limit" cargo test --locked --release "$@" |
        awk '{ print; fflush() } /^test result: ok\. [1-9]/ { found = 1 } END { exit !found }' || {
        local codes=("${PIPESTATUS[@]}")
        return $((codes[0] ? codes[0] : codes[1]))
    }
}
service() { tests --test service "$@" -- --nocapture; }
properties() { tests --package "$1" --lib "${@:2}"; }
# The scripts use curl without a token, also in a container.
script() { HARNESS_REQUIRE_TOKEN=false timeout "$limit" "$@"; }

bench() { timeout "$limit" "$(dirname "$HARNESS_BIN")/bench-$1" "${@:2}"; }

# Runs a part and sets how much of it there was.
run() {
    case $1 in
        crash) count="1000 kills"; HARNESS_CRASH_CYCLES=1000 service crash:: ;;
        replies) count="1000 kills"; HARNESS_REPLY_KILLS=1000 service cut_short:: ;;
        queues) count="600 kills"; HARNESS_QUEUE_KILLS=600 service queues::whenever_the_service_dies ;;
        compaction) count="200 kills"; HARNESS_COMPACT_KILLS=200 service compacting::a_kill_at_any_moment ;;
        spending) count="50 kills"; HARNESS_SPENDING_KILLS=50 service spending::a_budget_of_money_is_not ;;
        writes) count="200 kills"; HARNESS_WRITE_KILLS=200 service writes:: ;;
        commands) count="500 kills"; HARNESS_COMMAND_KILLS=500 service survivors:: ;;
        approvals) count="1000 schedules"; HARNESS_SCHEDULES=1000 service schedules:: ;;
        contents) count="1000 contents"; HARNESS_CONTENTS=1000 properties harness-actors f17 ;;
        cancels) count="10000 cancels"; HARNESS_CANCELS=10000 service cancel::at_random ;;
        drops) count="1000 cuts"; HARNESS_DROPS=1000 service terminal::drops ;;
        attaches) count="10000 clients"; HARNESS_ATTACHES=10000 service attach::clients_that_come_and_go ;;
        together) count="200 at once"
            service together:: && bench service together ;;
        folders) count="1000000 entries"; HARNESS_ENTRIES=1000000 properties harness-actors list_dir:: ;;
        random) count="20000 cases"; PROPTEST_CASES=20000 properties harness-actors random ;;
        corpus) count="10000 changes"
            HARNESS_CHANGES=10000 service corpus:: && PROPTEST_CASES=10000 properties harness-tui corpus:: ;;
        durability) count="each system call"; script tests/durability.sh ;;
        undo) count="500 lines"; script tests/undo_commands.py --lines 500 --hands 200 --kills 100 ;;
        limits) count="all limits"; script tests/limits.py --full ;;
        costs) count="all parts"; script tests/commands.py --full ;;
        work) count="all kinds"; script tests/real_work.sh ;;
        strangers) count="all of it"; script tests/strangers.py ;;
        soak) count="30 minutes"; script tests/soak.py --minutes 30 ;;
        workflows) count="all kills"
            HARNESS_WORKFLOW_KILLS=all service workflow_life::crash && script tests/workflow_tally.py --kills 40 ;;
        crowd) count="10000 events"; HARNESS_EVENTS=10000 bench service crowd stalled ;;
        manual) count="all pages"; script tests/manual.sh ;;
        gateway) count="2 ways"; script tests/counterparts/run.sh --gateway ;;
        mcp) count="1000 faults"; script tests/mcp_faults.py ;;
        benches) count="all of them"; bench service && bench frames ;;
    esac
}

cargo build --locked --release -p harness -p harness-benches
export HARNESS_BIN
HARNESS_BIN="$(realpath "${CARGO_TARGET_DIR:-target}")/release/harness"

table=() failed=0
for part in "${@:-${parts[@]}}"; do
    printf '\n== %s\n' "$part"
    begun=$SECONDS code=0
    # A part that fails keeps no other from running.
    run "$part" || code=$?
    case $code in
        0) result=passed ;;
        77) result="not tried"; [[ -z "${CI:-}" ]] || failed=1 ;;
        124) result="took too long" failed=1 ;;
        *) result=failed failed=1 ;;
    esac
    table+=("$(printf '%-12s %-18s %-14s %6d s' "$part" "$count" "$result" $((SECONDS - begun)))")
done
printf '\n%-12s %-18s %-14s %8s\n' part count result time
printf '%s\n' "${table[@]}"
exit "$failed"
