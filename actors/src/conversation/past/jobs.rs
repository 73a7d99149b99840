//! The jobs of a conversation according to its records: all jobs, their ends, and the ends that
//! requests to the model have had.

use harness_protocol::{JobChanges, JobEnd, words};

use crate::tool::{JobNote, THE_MODEL};

/// Maximum number of jobs that are kept of those whose ends the model knows.
const MAX_KNOWN: usize = 8;
/// Maximum size of the ends in one request, in bytes; later requests have the others.
const MAX_BYTES: usize = 4 * 1024;

/// Adds a job that was started.
pub(super) fn start(notes: &mut Vec<JobNote>, job: u64, call: &str, command: &str) {
    // A journal may say anything.
    notes.retain(|note| note.job != job);
    notes.push(JobNote {
        job,
        call: call.to_owned(),
        command: command.to_owned(),
        end: None,
        changes: None,
        is_told: false,
    });
}

/// Notes how a job ended.
pub(super) fn end(notes: &mut [JobNote], job: u64, end: &JobEnd, changes: Option<&JobChanges>) {
    let open = notes.iter_mut().find(|note| note.job == job);
    let Some(note) = open.filter(|note| note.end.is_none()) else {
        return;
    };
    // What the model did itself it knows.
    note.is_told = matches!(end, JobEnd::Stopped { by } if by.as_deref() == Some(THE_MODEL));
    note.end = Some(end.clone());
    note.changes = changes.and_then(words::job_changes);
}

/// Forgets the first of the jobs whose ends the model knows, if there are many. Those whose ends
/// are in the `open` message are kept: the API may refuse it.
pub(super) fn forget_old(notes: &mut Vec<JobNote>, open: &[u64]) {
    let is_over = |note: &JobNote| note.is_told && note.end.is_some() && !open.contains(&note.job);
    let known = notes.iter().filter(|note| is_over(note)).count();
    let mut over = known.saturating_sub(MAX_KNOWN);
    notes.retain(|note| {
        let goes = over > 0 && is_over(note);
        over -= usize::from(goes);
        !goes
    });
}

/// The jobs whose ends no request has had.
pub(super) fn unsent(notes: &[JobNote]) -> impl Iterator<Item = u64> {
    let unsent = notes
        .iter()
        .filter(|note| note.end.is_some() && !note.is_told);
    unsent.map(|note| note.job)
}

/// The first of those, as many as one request has: at least one.
pub(super) fn due(notes: &[JobNote]) -> Vec<u64> {
    let mut room = MAX_BYTES;
    let mut due = Vec::new();
    for note in notes {
        let Some(line) = unsent_line(note) else {
            continue;
        };
        if line.len() > room && !due.is_empty() {
            break;
        }
        room = room.saturating_sub(line.len());
        due.push(note.job);
    }
    due
}

/// The text for the model about the ends of these jobs, in one line. Those that a request has had
/// are not in it.
pub(super) fn send(notes: &mut [JobNote], jobs: &[u64]) -> Option<String> {
    let lines: Vec<String> = notes
        .iter()
        .filter(|note| jobs.contains(&note.job))
        .filter_map(unsent_line)
        .collect();
    mark_sent(notes, jobs, true);
    (!lines.is_empty()).then(|| format!("[Jobs that ended since: {}]", lines.join("; ")))
}

/// Notes of these jobs whether a request has had their ends.
pub(super) fn mark_sent(notes: &mut [JobNote], jobs: &[u64], is_sent: bool) {
    let ended = notes
        .iter_mut()
        .filter(|note| note.end.is_some() && jobs.contains(&note.job));
    ended.for_each(|note| note.is_told = is_sent);
}

/// The words for the end of a job, if no request has had them.
fn unsent_line(note: &JobNote) -> Option<String> {
    let end = note.end.as_ref().filter(|_| !note.is_told)?;
    let command = words::short_command(&note.command);
    let end = words::job_end(end);
    let facts: Vec<String> = [end].into_iter().chain(note.changes.clone()).collect();
    Some(format!(
        "job {} ({command}): {}",
        note.job,
        facts.join(" · ")
    ))
}

/// The jobs that no record has ended.
pub(super) fn open(notes: &[JobNote]) -> impl Iterator<Item = u64> {
    let open = notes.iter().filter(|note| note.end.is_none());
    open.map(|note| note.job)
}

#[cfg(test)]
mod tests {
    use harness_protocol::{ChangeAction, JobChange};

    use super::*;

    const EXITED: JobEnd = JobEnd::Exited { code: 2 };

    fn by(name: &str) -> JobEnd {
        JobEnd::Stopped {
            by: Some(name.to_owned()),
        }
    }

    fn send_due(notes: &mut [JobNote]) -> Option<String> {
        let due = due(notes);
        send(notes, &due)
    }

    /// Spec: [JRNL-120]
    #[test]
    fn b11_the_model_is_told_once_how_jobs_ended() {
        let mut notes = Vec::new();
        for job in 1..=4 {
            start(&mut notes, job, "c", "make  -j\n8");
        }
        assert_eq!(send_due(&mut notes), None);
        end(&mut notes, 1, &EXITED, None);
        end(&mut notes, 2, &by("ana"), None);
        end(&mut notes, 3, &by(THE_MODEL), None);
        // The first end counts, and what was never started has none.
        end(&mut notes, 1, &JobEnd::WithService, None);
        end(&mut notes, 9, &JobEnd::WithService, None);
        assert_eq!(open(&notes).collect::<Vec<_>>(), [4]);
        assert_eq!(unsent(&notes).collect::<Vec<_>>(), [1, 2]);
        let line =
            "[Jobs that ended since: job 1 (make -j 8): exit 2; job 2 (make -j 8): stopped by ana]";
        // One that runs and one that is not known have no end to send.
        let text = send(&mut notes, &[1, 2, 3, 4, 9]);
        assert_eq!(text.as_deref(), Some(line));
        assert_eq!(send(&mut notes, &[1, 2]), None);
        assert_eq!(send_due(&mut notes), None);
        end(&mut notes, 4, &JobEnd::WithService, None);
        let line = "[Jobs that ended since: job 4 (make -j 8): ended with the service]";
        assert_eq!(send_due(&mut notes).as_deref(), Some(line));
    }

    /// Spec: [BASH-790]
    #[test]
    fn the_model_is_told_what_changed_while_a_job_ran() {
        let mut notes = Vec::new();
        start(&mut notes, 1, "c", "make");
        let file = JobChange {
            path: "/w/a".to_owned(),
            action: ChangeAction::Removed,
        };
        let changes = JobChanges {
            files: vec![file],
            more: 0,
            head: Some("from main (1) to main (2): `git reset 1`".to_owned()),
        };
        end(&mut notes, 1, &EXITED, Some(&changes));
        let line = "[Jobs that ended since: job 1 (make): exit 2 · 1 file changed while it ran: removed /w/a · \
            HEAD moved while it ran from main (1) to main (2): `git reset 1`]";
        assert_eq!(send_due(&mut notes).as_deref(), Some(line));
    }

    /// Spec: [JRNL-470]
    #[test]
    fn ends_that_no_request_has_had_are_kept_and_of_the_others_the_last_ones() {
        let mut notes = Vec::new();
        for job in 1..=50 {
            start(&mut notes, job, "c", "x");
            end(&mut notes, job, &EXITED, None);
            forget_old(&mut notes, &[]);
        }
        assert_eq!(notes.len(), 50);
        send_due(&mut notes).unwrap();
        // The API may refuse the message that they are in.
        let all: Vec<u64> = (1..=50).collect();
        forget_old(&mut notes, &all);
        assert_eq!(notes.len(), 50);
        mark_sent(&mut notes, &[7], false);
        forget_old(&mut notes, &[]);
        let kept: Vec<u64> = notes.iter().map(|note| note.job).collect();
        assert_eq!(kept, [7, 43, 44, 45, 46, 47, 48, 49, 50]);
        let line = "[Jobs that ended since: job 7 (x): exit 2]";
        assert_eq!(send_due(&mut notes).as_deref(), Some(line));
    }

    /// Spec: [JRNL-470]
    #[test]
    fn a_request_has_as_many_ends_as_fit_and_at_least_one() {
        let mut notes = Vec::new();
        let long = JobEnd::Failed {
            reason: "x".repeat(2 * MAX_BYTES),
        };
        start(&mut notes, 1, "c", "x");
        end(&mut notes, 1, &long, None);
        for job in 2..=300 {
            start(&mut notes, job, "c", &"long ".repeat(20));
            end(&mut notes, job, &EXITED, None);
        }
        assert_eq!(due(&notes), [1]);
        let mut sent = Vec::new();
        while let Some(text) = send_due(&mut notes) {
            assert!(sent.is_empty() || text.len() <= 2 * MAX_BYTES, "{text}");
            sent.extend(text.split("; ").map(str::to_owned));
        }
        assert_eq!(sent.len(), 300);
        assert!(sent.last().unwrap().starts_with("job 300 (long long "));
    }
}
