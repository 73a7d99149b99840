//! Jobs: on record when they start and end, and told to the model once.

use harness_protocol::JobEnd;

use super::talk::Talk;
use super::testing::*;
use super::*;
use crate::tool::StartedJob;

const EXITED: JobEnd = JobEnd::Exited { code: 2 };

fn started(job: u64) -> ToolOutcome {
    ToolOutcome {
        job: Some(StartedJob {
            job,
            command: "make".to_owned(),
        }),
        ..ToolOutcome::from(Ok("[job 1 started]".to_owned()))
    }
}

/// A talk that has ended, with a job that runs.
fn with_job() -> Talk {
    let mut talk = Talk::new();
    talk.prompt("hi");
    talk.ask_for(&["a"]);
    let told = talk.tool(0, started(1));
    let expected = ["job 1 by a", "result of a", "turn ended", "turn 2", "ask"];
    assert_eq!(told, expected);
    talk
}

fn ended(talk: &mut Talk, job: u64, end: JobEnd) -> Vec<String> {
    talk.handle(Input::JobsEnded(vec![(job, end)]))
}

/// Spec: [JRNL-120]
#[test]
fn b11_the_end_of_a_job_is_on_record_at_once_and_told_with_the_next_run() {
    let mut talk = with_job();
    // While a reply is under way, and of one that is not known nothing.
    assert_eq!(ended(&mut talk, 2, EXITED), [""; 0]);
    assert_eq!(ended(&mut talk, 1, EXITED), ["ended job 1"]);
    assert_eq!(ended(&mut talk, 1, JobEnd::WithService), [""; 0]);
    talk.say("done");
    assert!(!talk.all_texts().concat().contains("Jobs that ended"));
    talk.prompt("next");
    let told = "[Jobs that ended since: job 1 (make): exit 2]";
    assert_eq!(talk.last_message(), ["next", told]);
    talk.say("fine");
    talk.prompt("more");
    assert_eq!(talk.last_message(), ["more"]);
    talk.say("fine");
    // The same is so for one that comes back.
    let mut again = Talk::revived(planner(10), talk.records.clone());
    again.prompt("again");
    assert_eq!(again.last_message(), ["again"]);
    assert_eq!(again.all_texts().concat().matches(told).count(), 1);
}

/// Spec: [JRNL-121]
#[test]
fn b11_jobs_of_a_service_that_died_end_with_the_next_thing_that_is_written() {
    let talk = with_job();
    let back = |lost: Vec<(u64, JobEnd)>| {
        let mut ledger = Ledger::default();
        talk.records.iter().for_each(|record| ledger.apply(record));
        let open: Vec<u64> = ledger.open_jobs().collect();
        assert_eq!(open, [1]);
        ledger.note_lost_jobs(lost);
        revived(10, ledger, 1000)
    };
    let gone = vec![(1, JobEnd::WithService)];
    // Looking at it writes nothing.
    let mut machine = back(gone.clone());
    assert_eq!(machine.resume(), []);
    let (_, effects) = machine.obey(prompt("next")).unwrap();
    let place = |wanted: &dyn Fn(&Record) -> bool| {
        let is_it = |effect: &Effect| matches!(effect, Effect::Record(record) if wanted(record));
        effects.iter().position(is_it).unwrap()
    };
    let job = place(&|record| {
        matches!(
            record,
            Record::JobEnded {
                job: 1,
                end: JobEnd::WithService
            }
        )
    });
    assert!(place(&|record| matches!(record, Record::RunEnded { .. })) < job);
    assert!(job < place(&|record| matches!(record, Record::RunStarted { .. })));
    assert_eq!(machine.ledger().open_jobs().count(), 0);
    // It is told; one that runs on is not ended.
    let texts = messages(&machine).to_string();
    assert!(
        texts.contains("job 1 (make): ended with the service"),
        "{texts}"
    );
    let mut machine = back(Vec::new());
    machine.obey(prompt("next")).unwrap();
    assert_eq!(machine.ledger().open_jobs().count(), 1);
}
