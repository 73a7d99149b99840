//! The changes that tools made, as the records tell them, and those that were taken back.

use std::collections::HashMap;

use harness_protocol::{FileChange, JobChanges, UndoOutcome, UndoTo, UndoneFile, words};

use super::read_back::Reading;
use super::unknown_changes::{server_changes, unknown_changes};
use crate::ids::RunId;
use crate::journal::{Journal, Record};
use crate::storage::StorageError;

/// Changes that were not taken back, the oldest first.
#[derive(Debug, Default)]
pub(in crate::conversation) struct Changes {
    all: Vec<MadeChange>,
    /// The notes about changes that are not named.
    notes: Vec<ChangeNote>,
    /// The command, or the call of an MCP server, that may write and has no result yet.
    began: Option<BegunEffect>,
    /// The jobs that may write and run, with the records of their notes and their commands.
    jobs: HashMap<u64, (u64, String)>,
    run: u64,
}

/// The changes that an undo takes back.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::conversation) struct Meant {
    /// The record that it is all behind.
    pub(in crate::conversation) behind: u64,
    /// The changes, the oldest first.
    pub(in crate::conversation) changes: Vec<FileChange>,
    /// Further changes, which cannot be taken back.
    pub(in crate::conversation) notes: Vec<String>,
}

#[derive(Debug)]
struct MadeChange {
    /// Its record.
    seq: u64,
    run: u64,
    change: FileChange,
}

/// An effect whose changes are not known before its result.
#[derive(Debug)]
struct BegunEffect {
    call: String,
    /// The note on its changes, should it get no result.
    unknown: ChangeNote,
    /// The text of the note, should it get a result and no record of its changes. `None` if it changed nothing then.
    unseen: Option<String>,
}

#[derive(Debug)]
struct ChangeNote {
    /// The record that the note is of.
    seq: u64,
    run: u64,
    text: String,
}

impl Changes {
    /// Those of a journal up to record `end`.
    ///
    /// # Errors
    /// When the storage cannot be read.
    pub(in crate::conversation) async fn read(
        journal: &dyn Journal,
        end: u64,
    ) -> Result<Self, StorageError> {
        let mut changes = Self::default();
        let mut reading = Reading::new(journal, 0, end);
        while let Some(entries) = reading.next().await? {
            for entry in entries {
                changes.add(entry.position.seq, entry.record);
            }
        }
        Ok(changes)
    }

    fn add(&mut self, seq: u64, record: Record) {
        let run = self.run;
        if let Record::RunStarted {
            run: RunId(run), ..
        } = record
        {
            self.run = run;
            self.began = None;
        } else if let Record::EffectBegan { call, subject } = record {
            self.began = unknown_changes(&subject).map(|text| BegunEffect {
                call,
                unknown: ChangeNote { seq, run, text },
                unseen: server_changes(&subject),
            });
        } else if let Record::JobStarted { job, call, command } = record {
            if self.has_begun(&call) {
                let command = words::short_command(&command);
                let text = format!("files that job {job} changed: {command}");
                self.notes.push(ChangeNote { seq, run, text });
                self.jobs.insert(job, (seq, command));
                self.began = None;
            }
        } else if let Record::JobEnded {
            job,
            changes: Some(changes),
            ..
        } = record
        {
            self.end_job(seq, job, &changes);
        } else if let Record::ToolResult { id: call, .. } | Record::ToolReturned { call, .. } =
            record
        {
            self.end_unseen(&call);
        } else if let Record::FilesChanged {
            call,
            changes,
            note,
        } = record
        {
            self.began.take_if(|began| began.call == call);
            self.notes
                .extend(note.map(|text| ChangeNote { seq, run, text }));
            let made = changes.into_iter().map(|change| MadeChange {
                seq,
                run,
                change: FileChange {
                    diff: String::new(),
                    ..change
                },
            });
            self.all.extend(made);
        } else if let Record::Undone { behind, files, .. } = record {
            let is_back = |made: &MadeChange| {
                let is_it = |file: &UndoneFile| {
                    file.outcome != UndoOutcome::Conflict && file.path == made.change.path
                };
                made.seq > behind && files.iter().any(is_it)
            };
            self.all.retain(|made| !is_back(made));
            // They were told.
            self.notes.retain(|noted| noted.seq <= behind);
        }
    }

    /// Notes that a call has a result, and that changes of it which are not on record cannot be taken back. A run has
    /// one note on each server.
    fn end_unseen(&mut self, call: &str) {
        let Some(ended) = self.began.take_if(|began| began.call == call) else {
            return;
        };
        let Some(text) = ended.unseen else {
            return;
        };
        let ChangeNote { seq, run, .. } = ended.unknown;
        let is_same = |noted: &ChangeNote| noted.run == run && noted.text == text;
        self.notes.retain(|noted| !is_same(noted));
        self.notes.push(ChangeNote { seq, run, text });
    }

    /// Replaces the note on a job by what is known of the files that changed while it ran.
    fn end_job(&mut self, seq: u64, job: u64, changes: &JobChanges) {
        let Some((started, command)) = self.jobs.remove(&job) else {
            return;
        };
        self.notes.retain(|noted| noted.seq != started);
        if let Some(changes) = words::job_changes(changes) {
            let text = format!("job {job} ({command}): {changes}");
            let run = self.run;
            self.notes.push(ChangeNote { seq, run, text });
        }
    }

    fn has_begun(&self, call: &str) -> bool {
        self.began.as_ref().is_some_and(|began| began.call == call)
    }

    /// The changes to take back, and those that cannot be; none if there are none.
    pub(in crate::conversation) fn behind(mut self, to: Option<UndoTo>) -> Option<Meant> {
        // The service ended before its result.
        self.notes
            .extend(self.began.take().map(|began| began.unknown));
        let made = self.all.iter().map(|made| (made.seq, made.run));
        let noted = self.notes.iter().map(|noted| (noted.seq, noted.run));
        let all = made.chain(noted);
        let last_run = all.clone().map(|(_, run)| run).max()?;
        let is_meant = |(seq, run): &(u64, u64)| match to {
            Some(UndoTo::Seq(to)) => *seq > to,
            Some(UndoTo::Run(to)) => *run >= to,
            None => *run >= last_run,
        };
        let first = all.filter(is_meant).map(|(seq, _)| seq).min()?;
        let meant = self.all.into_iter().filter(|made| made.seq >= first);
        let notes = self.notes.into_iter().filter(|noted| noted.seq >= first);
        Some(Meant {
            behind: first - 1,
            changes: meant.map(|made| made.change).collect(),
            notes: notes.map(|noted| noted.text).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The changes of records that only have what counts.
    fn changes(records: &[Value]) -> Changes {
        let mut changes = Changes::default();
        for (seq, record) in (1..).zip(records) {
            let record = serde_json::from_value(record.clone()).unwrap();
            changes.add(seq, record);
        }
        changes
    }

    /// The names and notes that an undo is about; none if there is nothing.
    fn told(records: &[Value], to: Option<UndoTo>) -> Option<Vec<String>> {
        let meant = changes(records).behind(to)?;
        let names = meant.changes.into_iter().map(|change| change.path);
        Some(names.chain(meant.notes).collect())
    }

    fn run(run: u64) -> Value {
        json!({"type": "run_started", "data": {"run": run}})
    }

    fn begins(call: &str, access: &str) -> Value {
        let plan = json!({"command": "make all", "folder": "/work", "access": access, "timeout_s": 1,
            "backend": "none", "contained": false});
        json!({"type": "effect_began", "data": {"call": call, "command": plan}})
    }

    fn changed(call: &str, path: &str, note: Option<&str>) -> Value {
        let change = json!({"path": path, "action": "made", "added": 0, "removed": 0, "diff": "",
            "place": "workspace"});
        json!({"type": "files_changed", "data": {"call": call, "changes": [change], "note": note}})
    }

    fn result(call: &str) -> Value {
        json!({"type": "tool_result", "data": {"id": call, "result": "", "is_error": false}})
    }

    const UNKNOWN: &str =
        "the service ended while the command ran, and what it changed is not known: make all";

    fn owned(told: &[&str]) -> Option<Vec<String>> {
        Some(told.iter().map(|text| (*text).to_owned()).collect())
    }

    /// Spec: [UNDO-789]
    #[test]
    fn a_command_that_ended_with_the_service_is_told_and_no_earlier_run_goes_back() {
        let first = [
            run(1),
            begins("a", "write"),
            changed("a", "/f", None),
            result("a"),
        ];
        let with = |more: &[Value]| [&first[..], more].concat();
        assert_eq!(told(&first, None), owned(&["/f"]));
        let killed = with(&[run(2), begins("b", "write")]);
        assert_eq!(told(&killed, None), owned(&[UNKNOWN]));
        let first_run = Some(UndoTo::Run(1));
        assert_eq!(told(&killed, first_run), owned(&["/f", UNKNOWN]));
        // It could change nothing, or its changes are known.
        let read = with(&[run(2), begins("b", "read")]);
        assert_eq!(told(&read, None), owned(&["/f"]));
        let done = with(&[run(2), begins("b", "write"), result("b")]);
        assert_eq!(told(&done, None), owned(&["/f"]));
        // What was told once is not told again.
        let note = with(&[run(2), changed("b", "/g", Some("more"))]);
        assert_eq!(told(&note, None), owned(&["/g", "more"]));
        let removed = json!({"path": "/g", "outcome": "removed"});
        let undone = json!({"type": "undone", "data": {"behind": 5, "files": [removed]}});
        assert_eq!(told(&[note, vec![undone]].concat(), None), owned(&["/f"]));
    }

    /// Spec: [APPR-818]
    #[test]
    fn undo_names_a_server_that_may_have_changed_files() {
        let calls = |call: &str, server: &str, access: &str, contained: bool| {
            let planned = json!({"server": server, "tool": "commit", "input": "", "access": access,
                "backend": "namespaces", "contained": contained});
            json!({"type": "effect_began", "data": {"call": call, "mcp_call": planned}})
        };
        let edited = [run(1), changed("x", "/f", None), result("x"), run(2)];
        let with = |more: &[Value]| [&edited[..], more].concat();
        let note = "what the server git did";
        let once = with(&[calls("a", "git", "write", true), result("a")]);
        assert_eq!(told(&once, None), owned(&[note]));
        let both_runs = Some(UndoTo::Run(1));
        assert_eq!(told(&once, both_runs), owned(&["/f", note]));
        // One note on each server, also for an undo of the last call only.
        let more = [
            calls("b", "hub", "full", false),
            result("b"),
            calls("c", "git", "write", true),
            result("c"),
        ];
        let often = [&once[..], &more].concat();
        let of_hub = "what the server hub did";
        assert_eq!(told(&often, None), owned(&[of_hub, note]));
        assert_eq!(told(&often, Some(UndoTo::Seq(8))), owned(&[note]));
        // What was told once is not told again.
        let undone = json!({"type": "undone", "data": {"behind": 4, "files": []}});
        let again = [&often[..], &[undone]].concat();
        assert_eq!(told(&again, None), owned(&["/f"]));
        // It can only read, and is held to that.
        let read = with(&[calls("a", "git", "read", true), result("a")]);
        assert_eq!(told(&read, None), owned(&["/f"]));
        let loose = with(&[calls("a", "git", "read", false), result("a")]);
        assert_eq!(told(&loose, None), owned(&[note]));
        // Its changes are on record.
        let known = with(&[
            calls("a", "git", "write", true),
            changed("a", "/g", None),
            result("a"),
        ]);
        assert_eq!(told(&known, None), owned(&["/g"]));
        let killed = with(&[calls("a", "git", "write", true)]);
        let unknown =
            "the service ended while the call ran, and what it changed is not known: git.commit";
        assert_eq!(told(&killed, None), owned(&[unknown]));
    }

    /// Spec: [UNDO-789] [UNDO-790]
    #[test]
    fn a_job_that_may_write_is_told() {
        let job =
            json!({"type": "job_started", "data": {"job": 1, "call": "a", "command": "make all"}});
        let with = |access| [run(1), begins("a", access), job.clone(), result("a")];
        let note = "files that job 1 changed: make all";
        assert_eq!(told(&with("full"), None), owned(&[note]));
        assert_eq!(told(&with("read"), None), None);
        let file = json!({"path": "/f", "action": "made"});
        let ended = |changes: Value| {
            let end = json!({"type": "job_ended", "data": {"job": 1, "how": "exited", "code": 0,
                "changes": changes}});
            [&with("full")[..], &[end]].concat()
        };
        let note = "job 1 (make all): 1 file changed while it ran: made /f";
        let one = ended(json!({"files": [file]}));
        assert_eq!(told(&one, None), owned(&[note]));
        assert_eq!(told(&ended(json!({"files": []})), None), None);
        // What changed is not known.
        let unknown = "files that job 1 changed: make all";
        assert_eq!(told(&ended(Value::Null), None), owned(&[unknown]));
        // An undo before the end of the job named the job; an undo after it names the files.
        let undone = json!({"type": "undone", "data": {"behind": 0, "files": []}});
        let [first @ .., end] = &one[..] else {
            panic!()
        };
        let mut told_before = [first, std::slice::from_ref(&undone)].concat();
        told_before.push(end.clone());
        assert_eq!(told(&told_before, None), owned(&[note]));
        assert_eq!(told(&[one, vec![undone]].concat(), None), None);
    }
}
