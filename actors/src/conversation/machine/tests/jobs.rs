//! Jobs: on record when they start and end, and each end sent to the model once.

use harness_protocol::{JobEnd, RunRules};

use super::talk::Talk;
use super::testing::*;
use super::*;
use crate::conversation::messages::Resumption;
use crate::tool::{EndedJob, StartedJob};

const EXITED: JobEnd = JobEnd::Exited { code: 2 };

fn started(job: u64) -> ToolOutcome {
    started_as(job, "make")
}

fn started_as(job: u64, command: &str) -> ToolOutcome {
    ToolOutcome {
        job: Some(StartedJob {
            job,
            command: command.to_owned(),
        }),
        ..ToolOutcome::from(Ok("[job 1 started]".to_owned()))
    }
}

/// A talk whose second request is under way, with a job that runs.
fn with_job() -> Talk {
    with_job_in(Talk::new())
}

fn with_job_in(mut talk: Talk) -> Talk {
    talk.prompt("hi");
    talk.ask_for(&["a"]);
    let told = talk.tool(0, started(1));
    let expected = ["job 1 by a", "result of a", "turn ended", "turn 2", "ask"];
    assert_eq!(told, expected);
    talk
}

fn ended_job(job: u64, end: JobEnd) -> EndedJob {
    EndedJob {
        job,
        end,
        changes: None,
    }
}

fn ended(talk: &mut Talk, job: u64, end: JobEnd) -> Vec<String> {
    talk.handle(Input::JobsEnded(vec![ended_job(job, end)]))
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

/// In how many texts of the next request the job's end is.
fn sent(talk: &Talk, job: u64) -> usize {
    let texts = talk.all_texts().concat();
    texts.matches(&format!("job {job} (")).count()
}

/// Spec: [JRNL-470]
#[test]
fn each_of_50_ends_in_one_run_is_sent_with_the_next_request_and_once() {
    let mut talk = Talk::with(|defaults| defaults.settings.max_turns = 100);
    talk.prompt("hi");
    for job in 1..=50 {
        let call = format!("c{job}");
        talk.ask_for(&[call.as_str()]);
        talk.tool(0, started(job));
        assert_eq!(ended(&mut talk, job, EXITED), [format!("ended job {job}")]);
        if job > 1 {
            let before = job - 1;
            let told = format!("[Jobs that ended since: job {before} (make): exit 2]");
            assert_eq!(talk.last_message()[1..], [told]);
        }
    }
    talk.ask_for(&["last"]);
    talk.ok(0, "x");
    let told = "[Jobs that ended since: job 50 (make): exit 2]";
    assert_eq!(talk.last_message(), ["x", told]);
    talk.say("done");
    let mut again = Talk::revived(planner(10), talk.records.clone());
    again.prompt("more");
    assert_eq!(again.last_message(), ["more"]);
    for job in 1..=50 {
        assert_eq!((sent(&talk, job), sent(&again, job)), (1, 1), "{job}");
    }
}

/// Spec: [JRNL-470]
#[test]
fn ends_that_do_not_fit_one_request_are_in_the_next_ones_also_behind_a_crash() {
    let mut talk = Talk::of(planner(100));
    talk.prompt("hi");
    let calls: Vec<String> = (1..=200).map(|job| format!("c{job}")).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    talk.ask_for(&calls);
    for job in 1..=200 {
        talk.tool(0, started_as(job, &"long ".repeat(20)));
    }
    let all = (1..=200).map(|job| ended_job(job, EXITED)).collect();
    talk.handle(Input::JobsEnded(all));
    talk.ask_for(&["a"]);
    talk.ok(0, "x");
    let first = talk.last_message().remove(1);
    assert!(first.len() < 5000, "{}", first.len());
    assert_eq!((sent(&talk, 1), sent(&talk, 200)), (1, 0));
    // The service dies with that request, and again with the first one of the next run.
    for text in ["next", "more"] {
        talk = Talk::revived(planner(100), talk.records);
        // The messages are large enough for the window to matter.
        if talk.prompt(text).last().unwrap() == "describe" {
            talk.described(None);
        }
        let last = talk.last_message().pop().unwrap();
        assert!(last.starts_with("[Jobs that ended since: "), "{last}");
        assert_ne!(last, first);
    }
    for call in ["d", "e", "f"] {
        talk.ask_for(&[call]);
        talk.ok(0, "x");
    }
    assert_eq!(talk.last_message(), ["x"]);
    for job in 1..=200 {
        assert_eq!(sent(&talk, job), 1, "{job}");
    }
}

/// Spec: [JRNL-470]
#[test]
fn an_end_in_a_request_that_the_api_refused_is_sent_again_and_one_behind_a_pause_later() {
    let told = "[Jobs that ended since: job 1 (make): exit 2]";
    let refused_with_end = || {
        let mut talk = with_job();
        ended(&mut talk, 1, EXITED);
        talk.ask_for(&["b"]);
        talk.ok(0, "x");
        assert_eq!(talk.last_message(), ["x", told]);
        talk.fail(refused());
        talk
    };
    let mut next = refused_with_end();
    next.prompt("next");
    let note = "not available: the API refused the request with this result";
    assert_eq!(next.last_message(), [note, "next", told]);
    let mut retried = refused_with_end();
    retried.resume(Resumption::Retry).unwrap();
    assert_eq!(retried.last_message(), ["x", told]);

    let mut paused = with_job();
    ended(&mut paused, 1, EXITED);
    paused.block(block(&web_search("w")));
    paused.end(StopReason::PauseTurn, 0);
    assert_eq!(sent(&paused, 1), 0);
    paused.block(block(&web_results("w")));
    paused.ask_for(&["b"]);
    paused.ok(0, "x");
    assert_eq!(paused.last_message(), ["x", told]);
}

/// Spec: [JRNL-470]
#[test]
fn the_first_request_of_a_run_has_all_ends_in_a_journal_that_names_none() {
    let mut talk = with_job();
    ended(&mut talk, 1, EXITED);
    talk.say("done");
    talk.prompt("next");
    for record in &mut talk.records {
        if let Record::TurnStarted { jobs, .. } = record {
            jobs.clear();
        }
    }
    let again = Talk::revived(planner(10), talk.records);
    assert_eq!(sent(&again, 1), 1);
}

/// The same in a conversation that wakes, with so many requests a run.
fn waking(max_turns: u32) -> Talk {
    with_job_in(Talk::with(|defaults| {
        defaults.settings.wake = true;
        defaults.settings.max_turns = max_turns;
    }))
}

/// Spec: [CONV-470]
#[test]
fn an_idle_conversation_that_wakes_begins_a_run_with_the_end_of_a_job() {
    let told = "[Jobs that ended since: job 1 (make): exit 2]";
    let mut talk = waking(10);
    talk.say("done");
    let woken = ended(&mut talk, 1, EXITED);
    assert_eq!(woken, ["ended job 1", "run 2", "turn 1", "ask"]);
    assert_eq!(talk.last_message(), [told]);
    let is_by_job = |record: &Record| matches!(record, Record::RunStarted { by: Some(by), .. } if by == "job 1");
    assert!(talk.records.iter().any(is_by_job));
    talk.say("fine");
    assert_eq!(talk.machine.run(), None);
    // Without the setting it waits for the next prompt.
    let mut asleep = with_job();
    asleep.say("done");
    assert_eq!(ended(&mut asleep, 1, EXITED), ["ended job 1"]);
    // A prompt with rules of its own starts jobs that begin no run without them.
    let mut bound = Talk::with(|defaults| defaults.settings.wake = true);
    let rules = RunRules {
        deny: vec!["edit(x)".to_owned()],
        ..RunRules::default()
    };
    let hi = SubmitPrompt {
        rules,
        ..prompt("hi")
    };
    bound.try_prompt(hi).unwrap();
    bound.ask_for(&["a"]);
    bound.tool(0, started(1));
    bound.say("done");
    assert_eq!(ended(&mut bound, 1, EXITED), ["ended job 1"]);
    // While the service stops nothing begins.
    let mut stopping = waking(10);
    stopping.say("done");
    stopping.handle(Input::StopRequested);
    assert_eq!(ended(&mut stopping, 1, EXITED), ["ended job 1"]);
}

/// Spec: [CONV-470]
#[test]
fn an_end_in_a_run_begins_no_second_one_and_is_in_a_request_before_the_first_ends() {
    let told = "[Jobs that ended since: job 1 (make): exit 2]";
    let mut talk = waking(10);
    assert_eq!(ended(&mut talk, 1, EXITED), ["ended job 1"]);
    let next = talk.say("nearly done");
    assert_eq!(next, ["replied", "turn ended", "turn 3", "ask"]);
    assert_eq!(talk.last_message(), [told]);
    talk.say("done");
    assert_eq!(talk.machine.run(), None);
    // A run that was cancelled stays so.
    let mut cancelled = waking(10);
    ended(&mut cancelled, 1, EXITED);
    cancelled.cancel();
    cancelled.fail(ModelError::Cancelled);
    assert_eq!(cancelled.machine.run(), None);
}

/// Spec: [CONV-470]
#[test]
fn runs_that_wake_have_no_more_requests_than_one_run_since_the_last_prompt() {
    let mut talk = waking(3);
    talk.say("done");
    ended(&mut talk, 1, EXITED);
    talk.ask_for(&["b"]);
    let end = talk.tool(0, started(2));
    let remark = "idle stopped: reached max_turns (3)";
    assert!(end.iter().any(|it| it == remark), "{end:?}");
    assert_eq!(ended(&mut talk, 2, EXITED), ["ended job 2"]);
    talk.prompt("next");
    let told = "[Jobs that ended since: job 2 (make): exit 2]";
    assert_eq!(talk.last_message()[1..], ["next", told]);
}

/// Spec: [JRNL-121]
#[test]
fn b11_jobs_of_a_service_that_died_end_with_the_next_thing_that_is_written() {
    let talk = with_job();
    let back = |lost: Vec<EndedJob>| {
        let mut ledger = Ledger::default();
        talk.records.iter().for_each(|record| ledger.apply(record));
        let open: Vec<u64> = ledger.open_jobs().collect();
        assert_eq!(open, [1]);
        ledger.note_lost_jobs(lost);
        revived(10, ledger, 1000)
    };
    let gone = vec![ended_job(1, JobEnd::WithService)];
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
                end: JobEnd::WithService,
                changes: None,
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
