#!/usr/bin/env bash
# S11: the work that commands are for, in small repositories of every kind, one of them a published package with its
# own tests: a scripted model runs the tests, which fail, mends what is wrong, runs them again, and commits, in the
# mode `ask` and without the network. Rules answer what is asked; a question that waits for somebody is a failure. A
# table in the end says what became of each kind. A kind whose programs or package are missing is `not available`,
# which is a failure of the checks.
#
#   tests/real_work.sh              all kinds
#   tests/real_work.sh KIND…        some of them: cargo pytest xmltodict node make go
#
# Spec: [BASH-01] [BASH-03] [BASH-05] [APPR-01] [BOX-204]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

binary=$(realpath "${HARNESS_BIN:-target/release/harness}")
support=$(realpath tests/support)
folder=$(mktemp -d)
service= model=
trap 'rm -rf "$folder"' EXIT
end_both() {
    local pid
    for pid in $service $model; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    service= model=
}

# What a kind needs; makes its repository in the working folder; and the model's steps: the tests, the edit
# that mends them (file, old, new), and rules that allow the commands.
needs() {
    case $1 in
        cargo) echo cargo git ;;
        pytest) echo python3 git ;;
        xmltodict) echo python3 pip3 git ;;
        node) echo node npm git ;;
        make) echo make cc git ;;
        go) echo go git ;;
    esac
}

cargo_repository() {
    mkdir src
    printf '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
    echo target >.gitignore
    cat >src/lib.rs <<'END'
pub fn sum(a: u32, b: u32) -> u32 {
    a - b
}

#[test]
fn sums() {
    assert_eq!(sum(3, 2), 5);
}
END
    tests='cargo test --offline' rule='cargo test *' edit=('src/lib.rs' 'a - b' 'a + b') failing='sums'
}

pytest_repository() {
    echo 'def sum_of(a, b): return a - b' >sums.py
    printf '.venv\n__pycache__\n.pytest_cache\n' >.gitignore
    # With pytest if there is a way to it.
    if python3 -m venv .venv && timeout 90 .venv/bin/pip install --quiet pytest; then
        printf 'from sums import sum_of\n\n\ndef test_sum():\n    assert sum_of(3, 2) == 5\n' >test_sums.py
        tests='.venv/bin/python -m pytest -q' rule='.venv/bin/python -m pytest -q' failing='test_sum'
    else
        note=' (unittest, as pytest could not be fetched)'
        printf 'import unittest\n\nfrom sums import sum_of\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(sum_of(3, 2), 5)\n' >test_sums.py
        tests='python3 -m unittest' rule='python3 -m unittest' failing='test_sum'
    fi
    edit=('sums.py' 'a - b' 'a + b')
}

# The source package as it is published, with one line of it changed.
xmltodict_repository() {
    local code=0
    mkdir "$folder/packages"
    python3 "$support/releases.py" "$folder/packages" >"$folder/package" || code=$?
    ((code != 77)) || exit 77
    ((code == 0)) || fail 'the package could not be fetched'
    cp -a "$(<"$folder/package")/." .
    echo __pycache__ >.gitignore
    edit=('xmltodict.py' 'self.strip_whitespace and not data:' 'self.strip_whitespace and data:')
    sed -i "s/${edit[2]}/${edit[1]}/" xmltodict.py
    tests='python3 -m unittest discover -s tests -t .' rule='python3 -m unittest discover -s tests -t .'
    failing='FAILED (failures='
}

node_repository() {
    echo 'exports.sum = (a, b) => a - b;' >sums.js
    printf '{"name": "sums", "version": "1.0.0", "scripts": {"test": "node --test"}}\n' >package.json
    cat >sums.test.js <<'END'
const test = require("node:test");
const assert = require("node:assert");
const { sum } = require("./sums.js");

test("sums", () => assert.strictEqual(sum(3, 2), 5));
END
    tests='npm test' rule='npm test' edit=('sums.js' 'a - b' 'a + b') failing='sums'
}

make_repository() {
    printf 'test: check\n\t./check\n\ncheck: check.c sums.c\n\tcc -o $@ $^\n' >Makefile
    echo check >.gitignore
    echo 'int sum(int a, int b) { return a - b; }' >sums.c
    cat >check.c <<'END'
#include <stdio.h>

int sum(int, int);

int main(void) {
    if (sum(3, 2) == 5) return 0;
    puts("sum(3, 2) is not 5");
    return 1;
}
END
    tests='make test' rule='make test' edit=('sums.c' 'a - b' 'a + b') failing='is not 5'
}

go_repository() {
    printf 'module example.com/sums\n\ngo 1.18\n' >go.mod
    printf 'package sums\n\nfunc Sum(a, b int) int {\n\treturn a - b\n}\n' >sums.go
    cat >sums_test.go <<'END'
package sums

import "testing"

func TestSum(t *testing.T) {
	if Sum(3, 2) != 5 {
		t.Fatal("Sum(3, 2) is not 5")
	}
}
END
    tests='go test ./...' rule='go test *' edit=('sums.go' 'a - b' 'a + b') failing='is not 5'
}

fail() {
    printf '%s: %s\n' "$kind" "$1" >&2
    tail -n 40 "$folder/$kind.log" "$folder/$kind.shown" >&2 || true
    exit 1
}

# Waits until a file has something in it.
wait_for() {
    for _ in $(seq 600); do [[ -s "$1" ]] && return; sleep 0.1; done
    fail "$2"
}

# How many approvals the journal says were asked of somebody.
asked() { cat "$folder/$kind.state/conversations"/*.jsonl | grep -c '"type":"approval_asked"' || true; }

# The results that the journal holds, one a line: whether it failed, and its text.
results() {
    python3 - "$folder/$kind.state/conversations" <<'END'
import json, pathlib, sys
for journal in sorted(pathlib.Path(sys.argv[1]).glob("*.jsonl")):
    for line in journal.read_text().splitlines():
        record = json.loads(line)
        if record.get("type") == "tool_result":
            data = record["data"]
            print(bool(data.get("is_error") or data.get("isError")), json.dumps(data.get("result", data.get("content"))))
END
}

# Does the work of one kind, in a shell of its own.
work() {
    trap end_both EXIT
    kind=$1 note=
    mkdir "$folder/$kind"
    cd "$folder/$kind"
    "${kind}_repository"
    git init -q .
    git config user.name 'A Model'
    git config user.email model@example.com
    git add -A
    git commit -qm 'a test that fails'
    python3 - "$tests" "${edit[@]}" >"$folder/$kind.steps" <<'END'
import json, sys
tests, path, old, new = sys.argv[1:]
edit = {"path": path, "old_string": old, "new_string": new}
commit = {"command": "git add -A && git commit -q -m 'add instead' && git status --porcelain"}
print(json.dumps([["bash", {"command": tests}], ["edit", edit], ["bash", {"command": tests}], ["bash", commit]]))
END
    python3 "$support/steps.py" "$folder/$kind.steps" >"$folder/$kind.url" &
    model=$!
    wait_for "$folder/$kind.url" 'the model does not listen'
    ANTHROPIC_API_KEY=sk-ant-of-the-work "$binary" serve --home "$folder/$kind.state" --port 0 \
        --base-url "$(<"$folder/$kind.url")" --model claude-haiku-4-5 >"$folder/$kind.log" 2>&1 &
    service=$!
    wait_for "$folder/$kind.state/service.json" 'the service does not listen'

    local rules=(--allow 'edit(**)' --allow "bash($rule)")
    rules+=(--allow 'bash(git add *)' --allow 'bash(git commit *)' --allow 'bash(git status *)')
    timeout 300 "$binary" prompt --home "$folder/$kind.state" "${rules[@]}" --asks deny \
        'Mend the test and commit' >"$folder/$kind.shown" 2>&1 || fail 'the prompt failed'

    [[ $(asked) == 0 ]] || fail "$(asked) approvals were asked and not answered by rule"
    mapfile -t told < <(results)
    ((${#told[@]} == 4)) || fail "there are ${#told[@]} results"
    [[ "${told[0]}" == True* && "${told[0]}" == *"$failing"* ]] || fail "the tests did not fail at first: ${told[0]}"
    [[ "${told[1]}" == False* ]] || fail "the edit failed: ${told[1]}"
    [[ "${told[2]}" == False*'[exit 0'* ]] || fail "the tests failed: ${told[2]}"
    [[ "${told[3]}" == False*'[exit 0'* ]] || fail "the commit failed: ${told[3]}"
    [[ $(git log --format=%s) == $'add instead\na test that fails' ]] || fail 'there is no commit'
    [[ -z $(git status --porcelain) ]] || fail 'not all of it was committed'
}

kinds=("$@")
((${#kinds[@]})) || kinds=(cargo pytest xmltodict node make go)
table=() failed=0
for kind in "${kinds[@]}"; do
    begun=$SECONDS missing=
    for program in $(needs "$kind"); do
        command -v "$program" >/dev/null || missing=$program
    done
    if [[ -n "$missing" ]]; then
        result="not available because $missing is missing"
        [[ -z "${CI:-}" ]] || failed=1
    else
        code=0
        (work "$kind" && echo "ok, all asks answered by rule$note" >"$folder/$kind.result") || code=$?
        case $code in
            0) result=$(<"$folder/$kind.result") ;;
            77)
                result='not available because its package cannot be fetched'
                [[ -z "${CI:-}" ]] || failed=1
                ;;
            *) result=failed failed=1 ;;
        esac
    fi
    table+=("$(printf '%-8s %-62s %4d s' "$kind" "$result" $((SECONDS - begun)))")
done
printf '%s\n' "${table[@]}"
exit "$failed"
