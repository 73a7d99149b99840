//! A world around the machine: a repository whose trees are sets of words, a model that follows a script,
//! checks that look for words. It can die at any record and come back.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at the records that it is about"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::*;
use crate::workflow::facts::{Candidate, CommandEnd, CommandRun, Head, StepPlace};
use crate::workflow::manifest::*;
use crate::workflow::record::{CheckEnded, IterationEnded, VerdictNote};
use crate::workflow::state::{FeatureState, WorkflowState};

/// The work of the model in one attempt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Move {
    Right,
    Wrong(u32),
    Nothing,
    Blocked,
    Tamper,
    /// Changes this protected file.
    TamperWith(&'static str),
    /// Does its own feature and breaks another.
    Break(&'static str),
    Fails,
    /// Does its own feature when the provider was down so many times.
    Down(u32),
    /// Says nothing until it is cancelled.
    Hangs,
}

pub(super) fn check(id: &str, red: bool) -> Check {
    Check {
        id: id.to_owned(),
        command: Some(ServiceCommand {
            program: Program::Cmd(vec!["check".to_owned(), id.to_owned()]),
            cwd: None,
            env: BTreeMap::new(),
            time_limit_s: 5,
            network: false,
        }),
        exit: Exit::Code(0),
        must_match: None,
        must_not_match: None,
        keep: None,
        when: CheckTime::Always,
        red,
        flaky: 0,
        hidden: false,
        files: BTreeMap::new(),
    }
}

pub(super) fn feature(id: &str) -> Feature {
    Feature {
        id: id.to_owned(),
        description: format!("make {id} work"),
        steps: vec![format!("call {id}")],
        required: true,
        priority: 0,
        after: vec![],
        holds: false,
        checks: vec![check(&format!("{id}.1"), true)],
    }
}

/// A manifest with those features, each with one check, and a suite that keeps names.
pub(super) fn manifest(features: &[&str]) -> Manifest {
    Manifest {
        objective: "make all work".to_owned(),
        mode: RunMode::Unlimited,
        workspace: WorkspaceSettings {
            git: GitMode::Worktree,
            branch: "harness/x".to_owned(),
            prepare: vec![],
            copy: vec![],
        },
        health: vec![check("builds", false)],
        checks: vec![Check {
            exit: Exit::Any,
            keep: Some("^ok (.*)$".to_owned()),
            ..check("suite", false)
        }],
        features: features.iter().map(|id| feature(id)).collect(),
        protect: Protect {
            paths: vec!["tests/**".to_owned()],
            scripts: true,
            on_change: OnChange::Reject,
        },
        policy: WorkflowPolicy {
            max_turns_per_run: 3,
            max_features_per_run: 1,
            retry_budget: 2,
            fail_fast: FailFast {
                health: true,
                chat: false,
                validation: false,
            },
            max_iterations: Some(50),
            regression: Regression::All,
        },
        budget: Budget {
            tokens: Some(10_000),
            cost_usd: None,
            active_s: None,
            attempt_s: 60,
        },
        permissions: Permissions {
            mode: "sandbox".to_owned(),
            asks: QuestionPolicy::Pause,
            allow: vec![],
            model: None,
        },
        verify: VerifyWhere::Fresh,
        gates: Gates {
            plan: false,
            accept: false,
        },
        schedule: None,
        notify: None,
    }
}

pub(super) type Words = BTreeSet<String>;

pub(super) fn head(words: &Words) -> Head {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let tree = words.join(" ");
    Head {
        commit: format!("commit of {tree:?}"),
        tree,
    }
}

pub(super) fn words(tree: &str) -> Words {
    tree.split_whitespace().map(str::to_owned).collect()
}

pub(super) struct World {
    pub(super) machine: WorkflowMachine,
    pub(super) manifest: Arc<Manifest>,
    pub(super) journal: Vec<WorkflowRecord>,
    pub(super) answers: Vec<(u64, OrderOutcome)>,
    pub(super) notices: Vec<NoticeText>,
    /// The prompts that conversations took, by their keys.
    pub(super) prompts: BTreeMap<String, String>,
    /// The checks that ran, with the tree.
    pub(super) ran: Vec<(String, String)>,
    /// Where the branch is.
    pub(super) branch: Head,
    pub(super) worktree: Words,
    /// Everything that was to be done, besides records and answers.
    pub(super) effects: Vec<WorkflowEffect>,
    /// Checks that fail so often before they do what they do.
    pub(super) flakes: BTreeMap<String, u32>,
    /// Words that make the check of that name fail whatever the tree.
    pub(super) rotten: BTreeSet<String>,
    /// Inputs that are handled before an effect of this kind is done.
    pub(super) is_held: bool,
    /// How often the provider is down yet, by the key of the prompt, and how often it was.
    pub(super) downs: BTreeMap<String, (u32, u32)>,
    moves: BTreeMap<String, VecDeque<Move>>,
    ends: BTreeMap<String, RunEnd>,
    inbox: VecDeque<WorkflowInput>,
    /// Dies when the journal has so many records.
    dies_at: BTreeSet<usize>,
    pub(super) lives: u32,
    /// The time of the world.
    pub(super) now: u64,
    next_asker: u64,
}

impl World {
    pub(super) fn new(manifest: Manifest, moves: &[(&str, &[Move])]) -> Self {
        let base = head(&Words::new());
        Self {
            machine: WorkflowMachine::new(WorkflowLedger::default(), None),
            manifest: Arc::new(manifest),
            journal: vec![],
            answers: vec![],
            notices: vec![],
            prompts: BTreeMap::new(),
            ran: vec![],
            branch: base,
            worktree: Words::new(),
            effects: vec![],
            flakes: BTreeMap::new(),
            rotten: BTreeSet::new(),
            is_held: false,
            downs: BTreeMap::new(),
            moves: moves
                .iter()
                .map(|(id, moves)| ((*id).to_owned(), moves.iter().cloned().collect()))
                .collect(),
            ends: BTreeMap::new(),
            inbox: VecDeque::new(),
            dies_at: BTreeSet::new(),
            lives: 1,
            now: 0,
            next_asker: 0,
        }
    }

    pub(super) fn dying_at(mut self, records: impl IntoIterator<Item = usize>) -> Self {
        self.dies_at = records.into_iter().collect();
        self
    }

    /// Makes the workflow and runs the initializer.
    pub(super) fn made(manifest: Manifest, moves: &[(&str, &[Move])]) -> Self {
        let mut world = Self::new(manifest, moves);
        world.begin();
        world
    }

    pub(super) fn begin(&mut self) {
        // An order that the service died of is given again.
        while self.machine.ledger().workflow().is_none()
            || self.machine.ledger().manifest().is_none()
        {
            self.order(self.create());
        }
        while !self.machine.ledger().is_initialized() && self.state() == WorkflowState::Draft {
            self.run();
        }
    }

    pub(super) fn create(&self) -> OperatorOrder {
        OperatorOrder::Create {
            workflow: "w".to_owned(),
            applied: self.new_manifest("hash"),
        }
    }

    pub(super) fn new_manifest(&self, hash: &str) -> NewManifest {
        NewManifest {
            manifest: Arc::clone(&self.manifest),
            hash: hash.to_owned(),
            base: head(&Words::new()),
            approved: false,
            sandbox: None,
            file: None,
        }
    }

    pub(super) fn run(&mut self) -> Option<OrderOutcome> {
        self.order(OperatorOrder::Run {
            key: None,
            max_features: None,
            max_iterations: None,
        })
    }

    pub(super) fn order(&mut self, order: OperatorOrder) -> Option<OrderOutcome> {
        self.next_asker += 1;
        let asker = self.next_asker;
        self.tell(WorkflowInput::Order {
            asker,
            by: Some("ada".to_owned()),
            order,
        });
        self.answer(asker)
    }

    pub(super) fn answer(&self, asker: u64) -> Option<OrderOutcome> {
        let found = self.answers.iter().find(|(known, _)| *known == asker);
        found.map(|(_, answer)| answer.clone())
    }

    /// Handles an input and, unless the world is held, all that follows.
    pub(super) fn tell(&mut self, input: WorkflowInput) {
        // What an operator wants comes before what is under way ends.
        self.inbox.push_front(input);
        if !self.is_held {
            self.go_on();
        }
    }

    /// Handles what waits, until nothing does.
    pub(super) fn go_on(&mut self) {
        let mut rounds = 0;
        while self.step() {
            rounds += 1;
            assert!(rounds < 10_000, "it does not end");
        }
    }

    /// Handles one input. False if none waits.
    pub(super) fn step(&mut self) -> bool {
        let Some(input) = self.inbox.pop_front() else {
            return false;
        };
        let effects = self.machine.handle(input);
        self.perform(effects);
        true
    }

    /// The step that is open.
    pub(super) fn step_of(&self) -> Option<IterationStep> {
        self.machine.ledger().step().map(|open| open.step.clone())
    }

    /// Handles one input; a run that was cancelled ends so. False if none waits.
    pub(super) fn step_with(&mut self, ended: &RunEnd) -> bool {
        if let Some(WorkflowInput::RunEnded { ended: own, .. }) = self.inbox.front_mut() {
            own.clone_from(ended);
        }
        self.step()
    }

    fn perform(&mut self, effects: Vec<WorkflowEffect>) {
        for effect in effects {
            if let WorkflowEffect::Record(record) = effect {
                self.journal.push(record);
                if self.dies_at.remove(&self.journal.len()) {
                    self.die();
                    return;
                }
            } else {
                self.effects.push(effect.clone());
                self.act(effect);
            }
        }
    }

    /// Inputs that were told and not handled are lost; the journal, the repository and the conversations are not.
    pub(super) fn die(&mut self) {
        self.lives += 1;
        self.inbox.clear();
        let mut ledger = WorkflowLedger::default();
        for record in &self.journal {
            ledger.apply(record);
        }
        let open = ledger
            .step()
            .filter(|open| open.step == IterationStep::Converse);
        let key = open.map(|open| format!("w/{}/{}", open.at.n, open.at.attempt));
        // A wait is on record only after the end of the run that failed.
        let waits = ledger
            .iteration()
            .is_some_and(|open| open.attempt.waits_until.is_some());
        let took = key.filter(|key| self.prompts.contains_key(key));
        let conversation = match took {
            None => FoundRun::NotSent,
            Some(key) => match self.ends.get(&key) {
                Some(end) if waits || self.journal.len().is_multiple_of(2) => {
                    FoundRun::Ended(end.clone())
                }
                Some(_) | None => FoundRun::Open,
            },
        };
        let found = RecoveryFindings {
            conversation,
            stays: None,
        };
        let manifest = ledger.manifest().map(|_| Arc::clone(&self.manifest));
        let (machine, effects) = WorkflowMachine::resume(ledger, manifest, found);
        self.machine = machine;
        self.perform(effects);
    }

    fn act(&mut self, effect: WorkflowEffect) {
        let input = match effect {
            WorkflowEffect::Record(_) => return,
            WorkflowEffect::Answer { asker, answer } => {
                self.answers.push((asker, answer));
                return;
            }
            WorkflowEffect::Notify(notice) => {
                self.notices.push(notice);
                return;
            }
            WorkflowEffect::RunPrepare { at, head } => {
                assert_eq!(head, self.branch, "the branch is as on record");
                WorkflowInput::PrepareEnded {
                    at,
                    ended: Ok("abc the first commit".to_owned()),
                    ms: 1,
                }
            }
            WorkflowEffect::RunHealth { at, checks } => {
                let tree = head(&self.worktree).tree;
                let runs = checks
                    .iter()
                    .map(|check| self.run_check(check, &tree))
                    .collect();
                WorkflowInput::HealthEnded { at, runs }
            }
            WorkflowEffect::StartConversation(prompt) | WorkflowEffect::SendPrompt(prompt) => {
                return self.converse(prompt);
            }
            WorkflowEffect::ContinueRun { at, .. } => return self.end_run(at),
            WorkflowEffect::CancelRun { at, .. } => {
                let key = format!("w/{}/{}", at.n, at.attempt);
                let known = self.ends.get(&key).cloned();
                WorkflowInput::RunEnded {
                    at,
                    ended: known.unwrap_or_else(|| run_end(RunStatus::Cancelled, "")),
                }
            }
            WorkflowEffect::KillStep { .. } => return,
            WorkflowEffect::TakeSnapshot { at, base } => {
                let mut left = self.worktree.clone();
                let is_tampered = left.remove("tampered");
                let tampered: Vec<String> = left
                    .extract_if(.., |word| word.starts_with("tests/"))
                    .collect();
                WorkflowInput::SnapshotEnded {
                    at,
                    ended: Ok(Candidate {
                        head: head(&left),
                        files: u32::from(head(&left) != base),
                        lines: 1,
                        protected: if is_tampered {
                            vec!["tests/a.py".to_owned()]
                        } else {
                            tampered
                        },
                        too_large: None,
                    }),
                }
            }
            WorkflowEffect::RunCheck(call) | WorkflowEffect::RunCheckOnBase(call) => {
                let run = self.run_check(&call.check, &call.head.tree);
                self.ran
                    .push((call.check.id.clone(), call.head.tree.clone()));
                WorkflowInput::CheckEnded {
                    at: call.at,
                    check: call.check.id.clone(),
                    tree: call.head.tree,
                    number: call.number,
                    run,
                }
            }
            WorkflowEffect::Accept {
                at,
                candidate,
                base,
            } => {
                let ended = if self.branch == base || self.branch == candidate.head {
                    self.branch = candidate.head;
                    Ok(())
                } else {
                    Err(StepRefusal {
                        reason: PauseReason::WorkspaceChanged,
                        detail: "the branch has moved".to_owned(),
                    })
                };
                WorkflowInput::AcceptEnded { at, ended }
            }
            WorkflowEffect::Restore { at, base } => {
                self.worktree = words(&base.tree);
                WorkflowInput::RestoreEnded { at, ended: Ok(()) }
            }
        };
        self.inbox.push_back(input);
    }

    fn converse(&mut self, prompt: IterationPrompt) {
        let IterationPrompt { at, text, key, .. } = prompt;
        if let Some(known) = self.prompts.get(&key) {
            assert_eq!(*known, text, "the key stands for one text");
        } else {
            self.prompts.insert(key.clone(), text);
            self.follow(&key);
        }
        self.inbox.push_back(WorkflowInput::ConversationLinked {
            at,
            conversation: format!("wf-w-{}", at.n),
            run: crate::ids::RunId(u64::from(at.attempt)),
        });
        self.end_run(at);
    }

    /// Lets the time come that the machine waits for; how long that took.
    pub(super) fn sleep(&mut self) -> u64 {
        let due = self.machine.alarm().unwrap();
        let slept = due.saturating_sub(self.now);
        self.now = self.now.max(due);
        self.machine.it_is(self.now);
        self.tell(WorkflowInput::Time { has_room: true });
        slept
    }

    fn end_run(&mut self, at: StepPlace) {
        let key = format!("w/{}/{}", at.n, at.attempt);
        if let Some((left, were)) = self.downs.get_mut(&key) {
            let times = |spent: Spent, times: u32| Spent {
                tokens: spent.tokens * u64::from(times),
                cost_micro_usd: spent.cost_micro_usd * u64::from(times),
                active_ms: spent.active_ms * u64::from(times),
            };
            *were += 1;
            let mut ended = run_end(RunStatus::Failed, "overloaded");
            ended.spent = times(ended.spent, *were);
            if let Some(less) = left.checked_sub(1) {
                *left = less;
                self.ends.insert(key, ended.clone());
                let detail = "overloaded (529)".to_owned();
                return self
                    .inbox
                    .push_back(WorkflowInput::ProviderDown { at, ended, detail });
            }
            ended.status = RunStatus::Completed;
            self.downs.remove(&key);
            self.ends.insert(key.clone(), ended);
            let feature = self.machine.ledger().iteration().unwrap().feature.clone();
            self.worktree.insert(feature);
            self.inbox.push_back(WorkflowInput::ConversationLinked {
                at,
                conversation: format!("wf-w-{}", at.n),
                run: crate::ids::RunId(99),
            });
        }
        if let Some(ended) = self.ends.get(&key).cloned() {
            self.inbox.push_back(WorkflowInput::RunEnded { at, ended });
        }
    }

    /// The model works.
    fn follow(&mut self, key: &str) {
        let iteration = self.machine.ledger().iteration().unwrap();
        let feature = iteration.feature.clone();
        let next = self.moves.get_mut(&feature).and_then(VecDeque::pop_front);
        let (text, status) = match next.unwrap_or(Move::Right) {
            Move::Right => {
                self.worktree.insert(feature.clone());
                (format!("{feature} is done"), RunStatus::Completed)
            }
            Move::Wrong(number) => {
                self.worktree.insert(format!("wrong-{number}"));
                ("done, I think".to_owned(), RunStatus::Completed)
            }
            Move::Nothing => ("all tests pass".to_owned(), RunStatus::Completed),
            Move::Blocked => ("BLOCKED: no compiler".to_owned(), RunStatus::Completed),
            Move::Tamper => {
                self.worktree.insert("tampered".to_owned());
                self.worktree.insert(feature.clone());
                ("the test was wrong".to_owned(), RunStatus::Completed)
            }
            Move::TamperWith(file) => {
                self.worktree.insert(file.to_owned());
                self.worktree.insert(feature.clone());
                ("the test was wrong".to_owned(), RunStatus::Completed)
            }
            Move::Break(other) => {
                self.worktree.insert(feature.clone());
                self.worktree.insert(format!("broken-{other}"));
                ("done".to_owned(), RunStatus::Completed)
            }
            Move::Fails => ("overloaded".to_owned(), RunStatus::Failed),
            Move::Down(times) => {
                self.downs.insert(key.to_owned(), (times, 0));
                return;
            }
            Move::Hangs => {
                self.worktree.insert("half".to_owned());
                return;
            }
        };
        self.ends.insert(key.to_owned(), run_end(status, &text));
    }

    fn run_check(&mut self, check: &Check, tree: &str) -> CommandRun {
        let words = words(tree);
        let passes = |id: &str| words.contains(id) && !words.contains(&format!("broken-{id}"));
        let (code, output) = match check.id.as_str() {
            "suite" => {
                let names = self.manifest.features.iter().map(|feature| &feature.id);
                let lines = names.filter(|id| passes(id)).map(|id| format!("ok {id}\n"));
                (1, lines.collect())
            }
            "builds" => (i32::from(words.contains("unbuilt")), String::new()),
            id => {
                let feature = id.split('.').next().unwrap();
                let ok = passes(feature);
                (i32::from(!ok), format!("{id} on {tree:?}"))
            }
        };
        let flakes = self.flakes.entry(check.id.clone()).or_default();
        let is_flake = *flakes > 0 && code == 0;
        *flakes -= u32::from(is_flake);
        let is_bad = is_flake || self.rotten.contains(&check.id);
        CommandRun {
            end: CommandEnd::Exited(if is_bad { 9 } else { code }),
            output,
            output_hash: "0".repeat(64),
            ms: 1,
            tree_changed: false,
        }
    }

    // What is looked at.

    pub(super) fn state(&self) -> WorkflowState {
        self.machine.ledger().state()
    }

    pub(super) fn reason(&self) -> Option<PauseReason> {
        self.machine.ledger().paused().map(|(reason, _)| reason)
    }

    pub(super) fn feature(&self, id: &str) -> FeatureState {
        self.machine.ledger().feature(id).unwrap().state
    }

    pub(super) fn verdicts(&self) -> Vec<&VerdictNote> {
        let all = self.journal.iter();
        let found = all.filter_map(|record| match record {
            WorkflowRecord::Verdict(note) => Some(note),
            _ => None,
        });
        found.collect()
    }

    /// The words of each verdict's reasons; none for an acceptance.
    pub(super) fn reasons(&self) -> Vec<Vec<&'static str>> {
        let words = |note: &VerdictNote| {
            note.reasons
                .iter()
                .map(|reason| reason.reason.word())
                .collect()
        };
        self.verdicts().into_iter().map(words).collect()
    }

    pub(super) fn ended(&self) -> Vec<&IterationEnded> {
        let all = self.journal.iter();
        let found = all.filter_map(|record| match record {
            WorkflowRecord::IterationEnded(ended) => Some(&**ended),
            _ => None,
        });
        found.collect()
    }

    pub(super) fn checks(&self) -> Vec<&CheckEnded> {
        let all = self.journal.iter();
        let found = all.filter_map(|record| match record {
            WorkflowRecord::CheckEnded(ended) => Some(&**ended),
            _ => None,
        });
        found.collect()
    }

    pub(super) fn prompt(&self, key: &str) -> &str {
        &self.prompts[key]
    }

    /// The facts that must always hold.
    pub(super) fn assert_sound(&self) {
        let ledger = self.machine.ledger();
        let mut open = None;
        let mut counted = BTreeSet::new();
        let mut judged = BTreeSet::new();
        for record in &self.journal {
            match record {
                WorkflowRecord::IterationStarted { n, .. } => {
                    assert_eq!(open.replace(*n), None, "two iterations are open");
                }
                WorkflowRecord::IterationEnded(ended) => assert_eq!(open.take(), Some(ended.n)),
                WorkflowRecord::CheckEnded(ended) if ended.counts => {
                    let key = (
                        ended.n,
                        ended.attempt,
                        ended.check.clone(),
                        ended.tree.clone(),
                    );
                    assert!(counted.insert(key), "a check counts twice");
                }
                WorkflowRecord::Verdict(note) => {
                    assert!(judged.insert((note.n, note.attempt)), "judged twice");
                }
                WorkflowRecord::Completed { .. } => {
                    let features = self.manifest.features.iter();
                    let mut required = features.filter(|feature| feature.required);
                    assert!(required.all(|feature| ledger.passes(&feature.id)));
                }
                _ => {}
            }
        }
        assert_eq!(open, ledger.iteration().map(|open| open.n));
        assert!(ledger.ignored().is_empty());
        let mut folded = WorkflowLedger::default();
        for record in &self.journal {
            let line = serde_json::to_string(record).unwrap();
            folded.apply(&serde_json::from_str(&line).unwrap());
        }
        assert_eq!(
            format!("{folded:?}"),
            format!("{ledger:?}"),
            "the fold of the file"
        );
    }
}

pub(super) fn run_end(status: RunStatus, text: &str) -> RunEnd {
    RunEnd {
        status,
        spent: Spent {
            tokens: 100,
            cost_micro_usd: 10,
            active_ms: 1000,
        },
        last_text: text.to_owned(),
    }
}
