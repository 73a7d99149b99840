//! The jobs of a conversation according to its records: all jobs, their ends, and the ends that the
//! model was told.

use harness_protocol::{JobEnd, words};

use crate::tool::{JobNote, THE_MODEL};

/// How many jobs that have ended are kept.
const MAX_ENDED: usize = 8;

/// Adds a job that was started.
pub(super) fn start(notes: &mut Vec<JobNote>, job: u64, call: &str, command: &str) {
    // A journal may say anything.
    notes.retain(|note| note.job != job);
    notes.push(JobNote {
        job,
        call: call.to_owned(),
        command: command.to_owned(),
        end: None,
        is_told: false,
    });
}

/// Notes how a job ended, and forgets those that were started first if there are many that have ended.
pub(super) fn end(notes: &mut Vec<JobNote>, job: u64, end: &JobEnd) {
    let open = notes.iter_mut().find(|note| note.job == job);
    let Some(note) = open.filter(|note| note.end.is_none()) else {
        return;
    };
    // What the model did itself it knows.
    note.is_told = matches!(end, JobEnd::Stopped { by } if by.as_deref() == Some(THE_MODEL));
    note.end = Some(end.clone());
    let ended = notes.iter().filter(|note| note.end.is_some()).count();
    let mut over = ended.saturating_sub(MAX_ENDED);
    notes.retain(|note| {
        let goes = over > 0 && note.end.is_some();
        over -= usize::from(goes);
        !goes
    });
}

/// The text for the model about the jobs that have ended since the last one, in one line.
pub(super) fn tell(notes: &mut [JobNote]) -> Option<String> {
    let mut told = Vec::new();
    for note in notes.iter_mut().filter(|note| !note.is_told) {
        if let Some(end) = &note.end {
            let command = words::short_command(&note.command);
            told.push(format!(
                "job {} ({command}): {}",
                note.job,
                words::job_end(end)
            ));
            note.is_told = true;
        }
    }
    (!told.is_empty()).then(|| format!("[Jobs that ended since: {}]", told.join("; ")))
}

/// The jobs that no record has ended.
pub(super) fn open(notes: &[JobNote]) -> impl Iterator<Item = u64> {
    let open = notes.iter().filter(|note| note.end.is_none());
    open.map(|note| note.job)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [JRNL-120]
    #[test]
    fn b11_the_model_is_told_once_how_jobs_ended() {
        let mut notes = Vec::new();
        for job in 1..=4 {
            start(&mut notes, job, "c", "make  -j\n8");
        }
        let by = |name: &str| JobEnd::Stopped {
            by: Some(name.to_owned()),
        };
        assert_eq!(tell(&mut notes), None);
        end(&mut notes, 1, &JobEnd::Exited { code: 2 });
        end(&mut notes, 2, &by("ana"));
        end(&mut notes, 3, &by(THE_MODEL));
        // The first end counts, and what was never started has none.
        end(&mut notes, 1, &JobEnd::WithService);
        end(&mut notes, 9, &JobEnd::WithService);
        assert_eq!(open(&notes).collect::<Vec<_>>(), [4]);
        let line =
            "[Jobs that ended since: job 1 (make -j 8): exit 2; job 2 (make -j 8): stopped by ana]";
        assert_eq!(tell(&mut notes).as_deref(), Some(line));
        assert_eq!(tell(&mut notes), None);
        end(&mut notes, 4, &JobEnd::WithService);
        let line = "[Jobs that ended since: job 4 (make -j 8): ended with the service]";
        assert_eq!(tell(&mut notes).as_deref(), Some(line));
        // Of those that have ended the last ones are kept.
        for job in 5..=20 {
            start(&mut notes, job, "c", "x");
            end(&mut notes, job, &JobEnd::Exited { code: 0 });
        }
        assert_eq!(notes.len(), MAX_ENDED);
        assert_eq!(notes.last().unwrap().job, 20);
    }
}
