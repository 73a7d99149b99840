//! The conditions that a journal meets whatever happened to the service that wrote it. One checker
//! for every test that breaks something.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

/// A journal that was found to be in order.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The records, each with its position.
    pub(crate) records: Vec<(String, Value)>,
    /// The prompts by their keys, with their runs.
    pub(crate) prompts: HashMap<String, (String, u64)>,
    /// The run that has no end.
    pub(crate) open_run: Option<u64>,
}

impl Checked {
    /// Number of complete replies.
    pub(crate) fn replies(&self) -> usize {
        let is_reply = |(_, record): &&(String, Value)| record["type"] == "reply_ended";
        self.records.iter().filter(is_reply).count()
    }

    /// The positions of the records behind one.
    pub(crate) fn positions_behind(&self, seq: u64) -> Vec<String> {
        let behind = self.records.iter().skip(usize::try_from(seq).unwrap());
        behind.map(|(position, _)| position.clone()).collect()
    }
}

/// Checks a journal that no service writes at the moment. A torn last line is none.
pub(crate) fn check(path: &Path) -> Checked {
    let bytes = std::fs::read(path).unwrap();
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let text = std::str::from_utf8(&bytes[..whole]).unwrap();
    let mut lines = text.lines();
    let header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let epoch = header["epoch"].as_str().unwrap();
    let mut records = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let (sealed, sum) = line.split_once(r#","crc":""#).unwrap_or_else(|| {
            panic!(
                "record {number} of {} has no checksum: {line}",
                path.display()
            )
        });
        let sum = sum.strip_suffix("\"}").unwrap();
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(epoch.as_bytes());
        hasher.update(sealed.as_bytes());
        assert_eq!(format!("{:08x}", hasher.finalize()), sum, "record {number}");
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["seq"], number, "{}", path.display());
        records.push((format!("{epoch}-{number}-{sum}"), record));
    }
    let mut checked = Checked {
        records,
        prompts: HashMap::new(),
        open_run: None,
    };
    check_runs(&mut checked);
    checked
}

/// Checks that every run and every turn ends once, every call has one result or was skipped, and every key belongs to
/// one prompt.
fn check_runs(checked: &mut Checked) {
    let mut runs: BTreeMap<u64, u32> = BTreeMap::new();
    let mut turn: Option<Value> = None;
    let mut calls: Vec<String> = Vec::new();
    let mut results: HashSet<String> = HashSet::new();
    for (position, record) in &checked.records {
        let data = &record["data"];
        let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
        match record["type"].as_str().unwrap() {
            "run_started" => {
                assert_eq!(checked.open_run, None, "two runs at once at {position}");
                let run = data["run"].as_u64().unwrap();
                assert!(runs.insert(run, 0).is_none(), "run {run} began twice");
                checked.open_run = Some(run);
            }
            "prompt" => {
                let run = data["run"].as_u64().unwrap();
                assert_eq!(checked.open_run, Some(run));
                if let Some(key) = data["key"].as_str() {
                    let prompt = (text("content"), run);
                    let earlier = checked.prompts.insert(key.to_owned(), prompt);
                    assert!(earlier.is_none(), "the prompt {key} ran twice");
                }
            }
            "turn_started" => {
                assert_eq!(turn, None, "two turns at once at {position}");
                turn = Some(data["turn"].clone());
            }
            "block" if data["block"]["type"] == "tool_use" => {
                let id = data["block"]["id"].as_str().unwrap().to_owned();
                assert!(!calls.contains(&id), "the call {id} came twice");
                calls.push(id);
            }
            "tool_result" => {
                let id = text("id");
                assert!(calls.contains(&id), "a result for no call: {id}");
                assert!(results.insert(id.clone()), "two results for {id}");
            }
            "calls_skipped" => results.extend(calls.iter().cloned()),
            "reply_failed" => {
                // Its calls were answered as not executed, or get results right behind.
            }
            "turn_ended" => {
                assert_eq!(turn.take(), Some(data["turn"].clone()), "at {position}");
            }
            "run_ended" => {
                let run = data["run"].as_u64().unwrap();
                assert_eq!(turn, None, "the run ended before its turn at {position}");
                assert_eq!(checked.open_run.take(), Some(run), "at {position}");
                *runs.get_mut(&run).unwrap() += 1;
            }
            _ => {}
        }
    }
    for (run, ends) in runs {
        let is_open = checked.open_run == Some(run);
        assert_eq!(ends, u32::from(!is_open), "run {run} ended {ends} times");
    }
}
