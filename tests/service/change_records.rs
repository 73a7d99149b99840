//! The records of a conversation about approvals and changes, and a model that makes them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness_standin::{Message, MessagesRequest, Reply};
use serde_json::Value;

use crate::changing::edit_of;
use crate::checker::Checked;

/// A model that adds a line with the name of its call to `f`, in as many turns and calls a turn as the
/// last prompt says: `go TURNS CALLS`.
pub(crate) fn adding() -> impl Fn(&MessagesRequest) -> Reply {
    let made = AtomicUsize::new(0);
    move |request| {
        let (mut turns, mut calls) = (0, 0);
        for message in request.messages() {
            let blocks = message["content"].as_array().cloned().unwrap_or_default();
            for text in blocks.iter().filter_map(|block| block["text"].as_str()) {
                if let Some(plan) = text.strip_prefix("go ") {
                    let (of_turns, of_calls) = plan.split_once(' ').unwrap();
                    (turns, calls) = (of_turns.parse().unwrap(), of_calls.parse().unwrap());
                } else if text == "finish" {
                    turns = 0;
                }
            }
            if blocks.iter().any(|block| block["type"] == "tool_use") && turns > 0 {
                turns -= 1;
            }
        }
        if turns == 0 {
            return Reply::text("done");
        }
        let add = |message: Message, _| {
            let id = format!("call_{}", made.fetch_add(1, Ordering::Relaxed));
            let input = edit_of("f", "end\n", &format!("{id}\nend\n"));
            message.tool_use(id, "edit", input)
        };
        (0..calls).fold(Message::new(), add).into()
    }
}

/// The records about approvals and changes.
#[derive(Default)]
pub(crate) struct Records {
    /// By approval: its call, and its ends.
    pub(crate) approvals: BTreeMap<u64, (String, Vec<String>)>,
    /// By call: how often its change began, and was made.
    pub(crate) calls: BTreeMap<String, (u64, u64)>,
    /// By call: its result, and whether it failed.
    pub(crate) results: BTreeMap<String, (String, bool)>,
}

impl Records {
    pub(crate) fn of(checked: &Checked) -> Self {
        let mut records = Self::default();
        for (_, record) in &checked.records {
            let data = &record["data"];
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            match record["type"].as_str().unwrap() {
                "approval_asked" => {
                    let asked = (text(&data["call"]), Vec::new());
                    let earlier = records
                        .approvals
                        .insert(data["id"].as_u64().unwrap(), asked);
                    assert_eq!(earlier, None, "asked twice");
                }
                kind @ ("approval_answered" | "approval_withdrawn") => {
                    let end = data["answer"].as_str().unwrap_or(kind).to_owned();
                    let id = data["id"].as_u64().unwrap();
                    records.approvals.get_mut(&id).unwrap().1.push(end);
                }
                "effect_began" => records.calls.entry(text(&data["call"])).or_default().0 += 1,
                "files_changed" => records.calls.entry(text(&data["call"])).or_default().1 += 1,
                "tool_result" => {
                    let result = data["result"].to_string();
                    let failed = data["is_error"] == true;
                    records.results.insert(text(&data["id"]), (result, failed));
                }
                _ => {}
            }
        }
        records
    }

    /// Checks that each approval has one end, the one that operators received, and that each change happened as often
    /// as the records report, once at most. Returns how many happened, and how many are uncertain.
    pub(crate) fn check(
        &self,
        told: &BTreeMap<u64, String>,
        file: &Path,
        kills: u64,
    ) -> (u64, u64) {
        for (id, (_, ends)) in &self.approvals {
            assert_eq!(ends.len(), 1, "approval {id}: {ends:?}");
            if let Some(told) = told.get(id) {
                assert_eq!(*told, ends[0], "approval {id}");
            }
        }
        assert!(told.keys().all(|id| self.approvals.contains_key(id)));
        let text = std::fs::read_to_string(file).unwrap();
        let (mut happened, mut unknown) = (0, 0);
        for (call, (result, failed)) in &self.results {
            let (began, changed) = self.calls.get(call).copied().unwrap_or_default();
            let lines = text.lines().filter(|line| line == call).count() as u64;
            assert!(
                lines <= 1 && changed <= 1,
                "{call}: {lines} {changed}\n{text}"
            );
            happened += lines;
            if result.contains("effect unknown") {
                // What had not begun did not happen, whatever is said of it.
                assert!(kills > 0 && (began > 0 || lines == 0), "{call}: {result}");
                unknown += u64::from(began > 0);
                continue;
            }
            assert_eq!(
                lines, changed,
                "{call} began {began} times: {result}\n{text}"
            );
            assert_eq!(*failed, changed == 0, "{call}: {result}");
            assert!(began >= changed, "{call}");
            let mut asked = self.approvals.values().filter(|(of, _)| of == call);
            let last = asked.next_back().map(|(_, ends)| ends[0].as_str());
            assert!(
                changed == 0 || matches!(last, None | Some("allow")),
                "{call}: {last:?}"
            );
        }
        (happened, unknown)
    }
}
