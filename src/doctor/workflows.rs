//! Results of checks that came after the one that counts, in the journals of workflows.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use harness_actors::workflow::ledger::{Ignored, WorkflowLedger};
use harness_actors::workflow::record::WorkflowRecord;
use serde_json::Value;

/// Those of one journal. A line that is no record of a workflow says nothing here: the look at the journal tells.
pub(super) fn ignored(path: &Path) -> io::Result<Vec<Ignored>> {
    let mut ledger = WorkflowLedger::default();
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        let record = serde_json::from_slice::<Value>(&line?).ok();
        let record = record.and_then(|mut line| line.get_mut("data").map(Value::take));
        let record = record.and_then(|data| serde_json::from_value::<WorkflowRecord>(data).ok());
        if let Some(record) = record {
            ledger.apply(&record);
        }
    }
    Ok(ledger.ignored().to_vec())
}

/// One of them, in words.
pub(super) fn line(id: &str, ignored: &Ignored) -> String {
    let Ignored {
        at,
        check,
        tree,
        number,
    } = ignored;
    let place = match at.n {
        0 => format!("verification {}", at.attempt),
        n => format!("attempt {n}.{}", at.attempt),
    };
    let tree = tree.get(..8).unwrap_or(tree);
    format!(
        "{id}: {place}: a second result of the check {check} on {tree} (start {number}) is ignored; the first counts"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec: [FLOW-229]
    #[test]
    fn a_second_result_of_a_check_is_told_with_its_place() {
        let head = json!({"commit": "c0ffee0000", "tree": "7ee0000000"});
        let ended = |number: u32| {
            json!({"type": "check_ended", "data": {
                "n": 1, "attempt": 2, "check": "suite", "tree": "7ee0000000", "try": number,
                "verdict": "passed", "why": "", "counts": true, "end": {"exited": 0}, "ms": 1,
                "output": "", "tail": ""}})
        };
        let records = [
            json!({"type": "iteration_started", "data":
                {"n": 1, "feature": "a", "base": head, "why": ""}}),
            json!({"type": "step_started", "data":
                {"n": 1, "attempt": 2, "step": "converse", "try": 1}}),
            ended(1),
            ended(2),
            json!({"type": "of_a_newer_version", "data": {}}),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w1.jsonl");
        let lines = records.map(|record| json!({"seq": 1, "at": 1, "data": record}).to_string());
        std::fs::write(
            &path,
            format!("{{\"header\": 1}}\n{}\nno json", lines.join("\n")),
        )
        .unwrap();
        let found = ignored(&path).unwrap();
        let told: Vec<String> = found.iter().map(|one| line("w1", one)).collect();
        assert_eq!(
            told,
            [
                "w1: attempt 1.2: a second result of the check suite on 7ee00000 (start 2) is ignored; the first counts"
            ]
        );
    }
}
