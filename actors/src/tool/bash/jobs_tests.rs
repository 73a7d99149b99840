use std::fs;

use harness_protocol::ChangeAction;
use tokio::time::{advance, pause};

use super::*;
use crate::secret::Redaction;
use crate::tool::bash::held::MAX_ENDED;
use crate::tool::bash::place_state::PlaceState;

/// A job that the test ends.
struct Held {
    job: u64,
    running: CommandWatch,
    capture: Arc<Mutex<Capture>>,
}

fn conversation(name: &str) -> ConversationId {
    ConversationId::new(name)
}

fn starting(jobs: &Jobs, name: &str, last: u64) -> Result<(StartingCommand, Held), ToolError> {
    let capture = Capture::keeping_all(Redaction::new(vec!["sk-0123456789".into()]), None);
    let capture = Arc::new(Mutex::new(capture));
    let new = NewJob {
        conversation: conversation(name),
        call: format!("call of {name}"),
        command: "make  all".to_owned(),
        last,
        lifeline: Lifeline::default(),
        capture: Arc::clone(&capture),
    };
    let (starting, running) = jobs.begin(new)?;
    let job = starting.key.job;
    Ok((
        starting,
        Held {
            job,
            running,
            capture,
        },
    ))
}

fn begin(jobs: &Jobs, name: &str) -> Held {
    let (starting, held) = starting(jobs, name, 0).unwrap();
    assert_eq!(starting.settle().unwrap().job, held.job);
    held
}

fn exit(code: i32) -> io::Result<ProcessEnd> {
    Ok(ProcessEnd {
        code: Some(code),
        ..ProcessEnd::default()
    })
}

fn pairs(ended: Vec<EndedJob>) -> Vec<(u64, JobEnd)> {
    let end = |ended: EndedJob| (ended.job, ended.end);
    ended.into_iter().map(end).collect()
}

fn numbers(jobs: &Jobs, name: &str) -> Vec<u64> {
    let running = jobs.running(&conversation(name));
    running.iter().map(|job| job.job).collect()
}

impl Held {
    /// Ends the command, of which is not known what it changed.
    fn end(&self, ended: &io::Result<ProcessEnd>) {
        assert!(self.running.end(ended, None).is_none());
    }

    fn writes(&self, text: &str) {
        self.capture.lock().unwrap().add(text.as_bytes());
    }
}

/// Spec: [BASH-14]
#[tokio::test]
async fn b11_there_are_so_many_jobs_and_no_more() {
    let jobs = Jobs::default();
    let mut held: Vec<Held> = (0..8).map(|_| begin(&jobs, "ana")).collect();
    assert_eq!(numbers(&jobs, "ana"), (1..=8).collect::<Vec<_>>());
    let error = starting(&jobs, "ana", 0).err().unwrap().to_string();
    assert!(
        error.contains("at most 8 jobs") && error.contains("3 (make all), 4"),
        "{error}"
    );
    for name in ["ben", "cid", "dora"] {
        held.extend((0..8).map(|_| begin(&jobs, name)));
    }
    let error = starting(&jobs, "eva", 0).err().unwrap().to_string();
    assert_eq!(
        error,
        "the service has at most 32 jobs at once; none of them is this conversation's"
    );
    // One that has ended makes room, and its number is not used again.
    held[7].end(&exit(0));
    let ninth = begin(&jobs, "ana");
    assert_eq!(ninth.job, 9);
    assert!(starting(&jobs, "ana", 0).is_err());
}

/// Spec: [BASH-13]
#[tokio::test]
async fn b11_what_ends_at_once_is_no_job() {
    let jobs = Jobs::default();
    let (mut waits, held) = starting(&jobs, "ana", 0).unwrap();
    assert_eq!(numbers(&jobs, "ana"), [0; 0]);
    held.end(&exit(1));
    waits.ended().await;
    assert!(waits.settle().is_none());
    assert!(jobs.known(&conversation("ana")).is_empty());
    // Nor is one whose call is given up; its command is ended.
    let (waits, held) = starting(&jobs, "ana", 0).unwrap();
    drop(waits);
    assert!(jobs.lock().entries.is_empty());
    held.end(&exit(0));
    assert!(jobs.lock().entries.is_empty() && jobs.lock().news.is_empty());
    // The numbers go on behind those of the records.
    let (waits, _held) = starting(&jobs, "ana", 6).unwrap();
    assert_eq!(waits.settle().unwrap().job, 7);
}

/// Spec: [BASH-15]
#[tokio::test]
async fn b11_a_look_tells_how_a_job_is_and_what_is_new() {
    pause();
    let jobs = Jobs::default();
    let held = begin(&jobs, "ana");
    let ana = conversation("ana");
    let look = || jobs.look(&ana, held.job, 8).unwrap();
    assert_eq!((look().total, look().tail), (0, String::new()));
    held.writes("one\ntwo\nthree\n");
    advance(Duration::from_secs(3)).await;
    let first = look();
    assert_eq!((first.total, first.new, first.end), (14, 14, None));
    assert_eq!((first.tail.as_str(), first.took.as_secs()), ("three\n", 3));
    assert_eq!(look().new, 0);
    // What may become a secret is not told before it is known to be none.
    held.writes("sk-01234");
    let text = jobs.look(&ana, held.job, 64).unwrap().tail;
    assert_eq!(text, "one\ntwo\nthree\n");
    held.writes("56789\n");
    let text = jobs.look(&ana, held.job, 64).unwrap().tail;
    assert_eq!(text, "one\ntwo\nthree\n***\n");
    advance(Duration::from_secs(3)).await;
    held.end(&exit(2));
    advance(Duration::from_secs(30)).await;
    let last = look();
    assert_eq!(last.end, Some(JobEnd::Exited { code: 2 }));
    assert_eq!((last.took.as_secs(), last.new), (6, 0));
    assert_eq!(jobs.look(&ana, 2, 8), None);
    assert_eq!(jobs.look(&conversation("ben"), 1, 8), None);
}

/// Spec: [BASH-16]
#[tokio::test]
async fn b11_an_end_says_what_caused_it() {
    pause();
    let jobs = Jobs::default();
    let ana = conversation("ana");
    let killed = ProcessEnd {
        signal: Some(9),
        ..ProcessEnd::default()
    };
    let over = ProcessEnd {
        over: Some("memory".to_owned()),
        signal: Some(9),
        ..ProcessEnd::default()
    };
    let failed = |reason: &str| JobEnd::Failed {
        reason: reason.to_owned(),
    };
    for (number, (ended, expected)) in [
        (exit(0), JobEnd::Exited { code: 0 }),
        (Ok(killed), JobEnd::Killed { signal: 9 }),
        (
            Ok(over),
            JobEnd::OverLimit {
                what: "memory".to_owned(),
            },
        ),
        (Ok(ProcessEnd::default()), failed("from outside")),
        (Err(io::Error::other("no bash")), failed("no bash")),
    ]
    .into_iter()
    .enumerate()
    {
        let held = begin(&jobs, "ana");
        assert_eq!(jobs.ended(&ana, &[held.job]), []);
        held.end(&ended);
        let job = number as u64 + 1;
        assert_eq!(pairs(jobs.ended(&ana, &[job])), [(job, expected.clone())]);
        // A stop that comes later changes nothing.
        assert_eq!(jobs.stop(&ana, job, Some("ben")).await, Some(expected));
    }
    assert_eq!(jobs.next_ended().await, ana);
    // Stopped: who asked first is told.
    let held = begin(&jobs, "ana");
    let stops = async {
        let (first, second) = tokio::join!(
            jobs.stop(&ana, held.job, Some("ben")),
            jobs.stop(&ana, held.job, Some("cid"))
        );
        assert_eq!(first, second);
        first
    };
    let ends = async { held.end(&exit(143)) };
    let (stopped, ()) = tokio::join!(stops, ends);
    let by = Some("ben".to_owned());
    assert_eq!(stopped, Some(JobEnd::Stopped { by }));
    assert_eq!(jobs.stop(&ana, 99, None).await, None);
    // What held it panicked.
    let held = begin(&jobs, "ana");
    let job = held.job;
    drop(held);
    let end = jobs.ended(&ana, &[job]).remove(0).end;
    assert!(matches!(end, JobEnd::Failed { reason } if reason.contains("panicked")));
    // One of a service that is gone.
    assert_eq!(jobs.ended(&ana, &[77]), []);
    let open = begin(&jobs, "ana");
    let gone = pairs(jobs.gone(&ana, &[1, 77, open.job]));
    let expected = [(1, JobEnd::Exited { code: 0 }), (77, JobEnd::WithService)];
    assert_eq!(gone, expected);
    // With the service; then none begins.
    let held = begin(&jobs, "ben");
    let ends = async { held.end(&exit(0)) };
    tokio::join!(jobs.end_all(), ends);
    let ben = conversation("ben");
    assert_eq!(pairs(jobs.ended(&ben, &[1])), [(1, JobEnd::WithService)]);
    assert!(starting(&jobs, "ben", 0).is_err());
}

/// Spec: [BASH-17]
#[tokio::test]
async fn b11_the_jobs_of_a_conversation_that_is_gone_are_forgotten() {
    pause();
    let jobs = Jobs::default();
    let (ana, ben) = (begin(&jobs, "ana"), begin(&jobs, "ben"));
    assert_eq!(jobs.count(), 2);
    let gone = conversation("ana");
    let ends = async { ana.end(&exit(0)) };
    tokio::join!(jobs.remove(&gone), ends);
    assert_eq!(jobs.count(), 1);
    assert!(jobs.known(&gone).is_empty() && jobs.lock().news.is_empty());
    assert_eq!(numbers(&jobs, "ben"), [1]);
    ben.end(&exit(0));
    assert_eq!(jobs.next_ended().await, conversation("ben"));
}

/// Spec: [JRNL-470]
#[tokio::test]
async fn a_job_is_held_until_its_end_is_asked_for_and_of_the_others_the_last_ones() {
    let jobs = Jobs::default();
    let ben = conversation("ben");
    for _ in 0..40 {
        begin(&jobs, "ben").end(&exit(0));
    }
    assert_eq!(jobs.known(&ben).len(), 40);
    let all: Vec<u64> = (1..=40).collect();
    assert_eq!(jobs.ended(&ben, &all).len(), 40);
    let known = jobs.known(&ben);
    assert_eq!(known.len(), MAX_ENDED);
    assert_eq!(known.last().unwrap().0.job, 40);
}

/// Spec: [BASH-790]
#[tokio::test]
async fn what_changed_while_a_job_ran_is_told_but_for_what_others_changed() {
    let home = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(home.path()).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for name in ["both", "job", "gone"] {
        fs::write(path(name), "before").unwrap();
    }
    let (jobs, ana) = (Jobs::default(), conversation("ana"));
    let held = begin(&jobs, "ana");
    let told = |changes: Option<JobChanges>| {
        let files = changes.unwrap().files.into_iter();
        let told = files.map(|file| (file.path, file.action));
        told.collect::<Vec<_>>()
    };
    // One that cannot write changes nothing.
    assert_eq!(jobs.changes(&ana, held.job), None);
    let before = held.running.begin_writing(Inventory::take(&folder));
    assert_eq!(told(jobs.changes(&ana, held.job)), []);
    fs::write(path("job"), "after, by the job").unwrap();
    fs::write(path("both"), "after, by an edit").unwrap();
    jobs.note_changes(&[&*path("both"), "/elsewhere"].into_iter());
    let first = (path("job"), ChangeAction::Changed);
    assert_eq!(
        told(jobs.changes(&ana, held.job)),
        [(path("job"), ChangeAction::Changed)]
    );
    fs::remove_file(path("gone")).unwrap();
    fs::write(path("new"), "").unwrap();
    let changed = before.files_changed_at_end(false).unwrap();
    assert!(held.running.end(&exit(0), Some(&changed)).is_none());
    let gone = (path("gone"), ChangeAction::Removed);
    let made = (path("new"), ChangeAction::Made);
    let all = [gone, first, made];
    assert_eq!(told(jobs.changes(&ana, held.job)), all);
    let ended = jobs.ended(&ana, &[held.job]).remove(0);
    assert_eq!(told(ended.changes), all);
}

/// Spec: [BASH-790] [BASH-791]
#[test]
fn contents_are_kept_as_long_as_a_command_is_no_job() {
    let home = tempfile::tempdir().unwrap();
    let jobs = Jobs::default();
    let (waits, held) = starting(&jobs, "ana", 0).unwrap();
    held.running.begin_writing(Inventory::take(home.path()));
    assert!(held.running.end(&exit(0), None).is_some());
    drop(waits);
    let (waits, held) = starting(&jobs, "ana", 0).unwrap();
    held.running.begin_writing(Inventory::take(home.path()));
    assert!(waits.settle().is_some());
    assert!(held.running.end(&exit(0), None).is_none());
}

/// Spec: [BASH-777]
#[test]
fn what_jobs_left_is_kept_for_their_conversation_and_folder() {
    let jobs = Jobs::default();
    let left = |path: &str| {
        let mut changes = GuardNotes::default();
        changes.put_back(Path::new(path), &PlaceState::Absent, path.to_owned());
        changes
    };
    let (ana, folder) = (conversation("ana"), Path::new("/work"));
    jobs.leave(&ana, folder, GuardNotes::default());
    assert_eq!(jobs.take_left(&ana, folder).len(), 0);
    jobs.leave(&conversation("ben"), folder, left("first"));
    for number in 0..MAX_LEFT {
        jobs.leave(&ana, folder, left(&number.to_string()));
    }
    assert_eq!(jobs.take_left(&conversation("ben"), folder).len(), 0);
    assert_eq!(jobs.take_left(&ana, Path::new("/other")).len(), 0);
    let mut taken = jobs.take_left(&ana, folder);
    let told: Vec<String> = taken.iter_mut().flat_map(GuardNotes::take_notes).collect();
    assert_eq!(told, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(jobs.take_left(&ana, folder).len(), 0);
}
