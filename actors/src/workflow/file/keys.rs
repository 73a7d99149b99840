//! The keys of a file: the one table that reading it and its JSON Schema go by.

/// A table of the file.
#[derive(Debug)]
pub(in crate::workflow) struct TableSpec {
    /// Its purpose.
    pub(in crate::workflow) about: &'static str,
    /// Its keys, in groups that several tables share.
    pub(in crate::workflow) groups: &'static [&'static [KeySpec]],
    /// Keys of which it has exactly one; empty if it has none of these.
    pub(in crate::workflow) one_of: &'static [&'static str],
}

impl TableSpec {
    /// Its keys.
    pub(in crate::workflow) fn keys(
        &self,
    ) -> impl Iterator<Item = &'static KeySpec> + Clone + use<> {
        self.groups.iter().copied().flatten()
    }
}

/// A key of a table.
#[derive(Debug)]
pub(in crate::workflow) struct KeySpec {
    /// Its name.
    pub(in crate::workflow) name: &'static str,
    /// The values that it may have.
    pub(in crate::workflow) kind: KeyKind,
    /// Its value if the file has none.
    pub(in crate::workflow) without: Without,
    /// Its purpose.
    pub(in crate::workflow) about: &'static str,
}

/// The values that a key may have.
#[derive(Debug)]
pub(in crate::workflow) enum KeyKind {
    /// A text that is not blank.
    Text,
    /// A name of letters, digits, `-`, `_` and `.`.
    Id,
    /// True or false.
    Flag,
    /// True; nothing else makes sense.
    Yes,
    /// A whole number within bounds.
    Whole {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
        /// A word that is allowed in place of a number.
        or: Option<&'static str>,
    },
    /// A number above 0.
    Money,
    /// A length of time above 0.
    Time {
        /// Maximum length in seconds. `None` if there is no limit.
        max: Option<u64>,
        /// A word that is allowed in place of a time.
        or: Option<&'static str>,
    },
    /// One of a few words.
    OneOf {
        /// The words.
        words: &'static [&'static str],
        /// A hint for a file that gives another; may be empty.
        hint: &'static str,
    },
    /// Texts that are not blank.
    Texts {
        /// Minimum number of texts.
        min: usize,
    },
    /// Texts with names.
    TextMap,
    /// One table.
    One(&'static TableSpec),
    /// A list of tables.
    Many(&'static TableSpec),
    /// A key that no file may give, and why.
    Refused(&'static str),
}

/// The value of a key that is missing in the file.
#[derive(Debug, Clone, Copy)]
pub(in crate::workflow) enum Without {
    /// The key is required.
    Needed,
    /// Nothing.
    Nothing,
    /// This text.
    Text(&'static str),
    /// This.
    Flag(bool),
    /// This number.
    Whole(i64),
    /// These texts.
    Texts(&'static [&'static str]),
}

/// The word for what has no bound.
pub(in crate::workflow) const UNLIMITED: &str = "unlimited";
/// The value of `workflow.plan` that asks for a starter list.
pub(in crate::workflow) const STARTER: &str = "starter";
/// The word for every exit code.
pub(in crate::workflow) const ANY: &str = "any";
/// Maximum time of a command or an attempt, in seconds.
const DAY: u64 = 24 * 60 * 60;
/// The largest number of things.
const MANY: i64 = u32::MAX as i64;

const fn key(name: &'static str, kind: KeyKind, without: Without, about: &'static str) -> KeySpec {
    KeySpec {
        name,
        kind,
        without,
        about,
    }
}

const fn one_of(words: &'static [&'static str]) -> KeyKind {
    KeyKind::OneOf { words, hint: "" }
}

const fn count(min: i64) -> KeyKind {
    KeyKind::Whole {
        min,
        max: MANY,
        or: None,
    }
}

const fn only(groups: &'static [&'static [KeySpec]], about: &'static str) -> TableSpec {
    TableSpec {
        about,
        groups,
        one_of: &[],
    }
}

use KeyKind::{Flag, Id, Many, Money, One, Refused, Text, TextMap, Texts, Time, Whole, Yes};
use Without::{Needed, Nothing};

/// The whole file.
#[rustfmt::skip]
pub(in crate::workflow) static FILE: TableSpec = only(&[&[
    key("workflow", One(&WORKFLOW), Nothing, "The purpose of it all."),
    key("workspace", One(&WORKSPACE), Nothing, "Where the work is done."),
    key("health", Many(&HEALTH), Nothing, "Checks of the base tree before work on it."),
    key("check", Many(&GLOBAL), Nothing, "Checks of every candidate."),
    key("feature", Many(&FEATURE), Nothing, "The units of work, in their order."),
    key("protect", One(&PROTECT), Nothing, "Files that no iteration may change."),
    key("policy", One(&POLICY), Nothing, "How often, how much, and what ends a run."),
    key("budget", One(&BUDGET), Nothing, "The limits of its usage."),
    key("permissions", One(&PERMISSIONS), Nothing, "The rights of the model."),
    key("verify", One(&VERIFY), Nothing, "How checks run."),
    key("gates", One(&GATES), Nothing, "Where a person has to say yes."),
    key("schedule", One(&SCHEDULE), Nothing, "When it starts by itself, and when it may work."),
    key("notify", One(&NOTIFY), Nothing, "The command that tells people of a completion, a pause and a gate: the event is its input, as JSON."),
]], "A workflow: what is to be done, and the checks that say that it is.");

#[rustfmt::skip]
static WORKFLOW: TableSpec = only(&[&[
    key("objective", Text, Needed, "The purpose of it all."),
    key("mode", one_of(&["strict", "bounded", "unlimited"]), Without::Text("strict"),
        "How many features a run may take: one, at most policy.max_features_per_run, or all that are open."),
    key("plan", one_of(&["file", STARTER]), Without::Text("file"),
        "Where the features come from: the file lists them, or a starter list is made of what lies in the repository."),
]], "The purpose of it all.");

#[rustfmt::skip]
static WORKSPACE: TableSpec = only(&[&[
    key("git", KeyKind::OneOf { words: &["worktree", "in_place"], hint: "a workflow commits what it accepts and rolls back what it does not, so that it needs git; write \"worktree\", and `git init` where there is no repository" },
        Without::Text("worktree"), "How git is used: a linked worktree, or the repository's own clean one."),
    key("branch", Text, Without::Text("harness/{name}"),
        "The branch of the work; {name} stands for the workflow's name."),
    key("prepare", Many(&COMMAND), Nothing, "The commands that make a fresh worktree ready, in order."),
    key("copy", Texts { min: 0 }, Without::Texts(&[]),
        "Untracked files that a worktree needs, by their paths; never part of a candidate."),
]], "Where the work is done.");

#[rustfmt::skip]
const RUNS: &[KeySpec] = &[
    key("cmd", Texts { min: 1 }, Nothing, "A program with its arguments; no shell looks at them."),
    key("shell", Text, Nothing, "A line for bash -c."),
    key("cwd", Text, Nothing, "The folder it runs in, below the root."),
    key("env", TextMap, Nothing, "Variables of its environment."),
    key("time_limit", Time { max: Some(DAY), or: None }, Without::Text("5m"), "How long it may take."),
    key("network", Flag, Without::Flag(false), "Whether it reaches the network."),
];

#[rustfmt::skip]
const JUDGED: &[KeySpec] = &[
    key("exit", Whole { min: 0, max: 255, or: Some(ANY) }, Without::Whole(0), "The exit code it has to have."),
    key("must_match", Text, Nothing,
        "A regular expression that some line of its output has to match; else the check is vacuous."),
    key("must_not_match", Text, Nothing, "A regular expression that no line of its output may match."),
    key("flaky", count(0), Without::Whole(0), "How many passes have to follow on a failure to make up for it."),
];

#[rustfmt::skip]
const ACCEPTS: &[KeySpec] = &[
    key("manual", Yes, Nothing, "A person judges it."),
    key("keep", Text, Nothing,
        "A regular expression with one group, the names of passing tests: each name that it found on the last accepted tree it has to find again."),
    key("hidden", Flag, Without::Flag(false), "Whether it is hidden from the model."),
    key("files", TextMap, Nothing,
        "The files of a hidden check with their texts, by their paths: laid over the tree for it alone."),
];

#[rustfmt::skip]
const OF_HEALTH: &[KeySpec] = &[
    key("id", Id, Needed, "Its name, unique among the checks."),
    key("manual", Refused("a health check is a command; give cmd or shell"), Nothing, "It cannot be given."),
    key("keep", Refused("a health check has no accepted tree to compare with; leave it out"), Nothing, "It cannot be given."),
    key("red", Refused("a health check has to pass on the base; leave it out"), Nothing, "It cannot be given."),
    key("when", Refused("a health check runs before work; leave it out"), Nothing, "It cannot be given."),
];

#[rustfmt::skip]
const OF_ALL: &[KeySpec] = &[
    key("id", Id, Needed, "Its name, unique among the checks."),
    key("when", one_of(&["always", "final"]), Without::Text("always"),
        "Whether it runs for every candidate or only at the end."),
    key("red", Refused("a check of every candidate need not fail first; leave it out"), Nothing, "It cannot be given."),
];

#[rustfmt::skip]
const OF_FEATURE: &[KeySpec] = &[
    key("id", Id, Nothing, "Its name, unique among the checks; <feature>.<n> if left out."),
    key("red", Flag, Without::Flag(true), "Whether it has to fail on the base first."),
    key("when", KeyKind::OneOf { words: &["always"], hint: "a feature's check runs for its candidates; only a [[check]] can wait for the end" },
        Nothing, "When it runs."),
];

const PROGRAM: &[&str] = &["cmd", "shell"];
const PROGRAM_OR_PERSON: &[&str] = &["cmd", "shell", "manual"];

#[rustfmt::skip]
const TELLS: &[KeySpec] = &[
    key("cmd", Texts { min: 1 }, Nothing, "A program with its arguments; no shell looks at them."),
    key("shell", Text, Nothing, "A line for bash -c."),
    key("env", TextMap, Nothing, "Variables of its environment."),
    key("network", Flag, Without::Flag(false), "Whether it reaches the network."),
];

static NOTIFY: TableSpec = TableSpec {
    about: "The command that tells people of a completion, a pause and a gate.",
    groups: &[TELLS],
    one_of: PROGRAM,
};

#[rustfmt::skip]
static SCHEDULE: TableSpec = only(&[&[
    key("every", Time { max: None, or: None }, Nothing, "How long after one start the next one comes; in place of `at`."),
    key("at", Texts { min: 1 }, Nothing, "The times of day of its starts, in UTC, such as 03:30; in place of `every`."),
    key("window", Text, Nothing, "When it may work, in UTC, such as 22:00-06:00; outside it pauses until the next one."),
]], "When it starts by itself, and when it may work.");

static COMMAND: TableSpec = TableSpec {
    about: "A command.",
    groups: &[RUNS],
    one_of: PROGRAM,
};

static HEALTH: TableSpec = TableSpec {
    about: "A check of the base tree.",
    groups: &[OF_HEALTH, RUNS, JUDGED],
    one_of: PROGRAM,
};

static GLOBAL: TableSpec = TableSpec {
    about: "A check of every candidate.",
    groups: &[OF_ALL, RUNS, JUDGED, ACCEPTS],
    one_of: PROGRAM_OR_PERSON,
};

static OWN: TableSpec = TableSpec {
    about: "A check that accepts the feature.",
    groups: &[OF_FEATURE, RUNS, JUDGED, ACCEPTS],
    one_of: PROGRAM_OR_PERSON,
};

#[rustfmt::skip]
static FEATURE: TableSpec = only(&[&[
    key("id", Id, Needed, "Its name, unique among the features."),
    key("description", Text, Needed, "The wish."),
    key("steps", Texts { min: 0 }, Without::Texts(&[]), "How to see that it works, for the model."),
    key("required", Flag, Without::Flag(true), "Whether the workflow is only done with it."),
    key("priority", Whole { min: i64::MIN, max: i64::MAX, or: None }, Without::Whole(0),
        "Smaller is first; then the order of the file."),
    key("after", Texts { min: 0 }, Without::Texts(&[]), "The features that have to pass first."),
    key("holds", Flag, Without::Flag(false),
        "Whether it passes at once if its checks pass before the work; they need not fail first then."),
    key("check", Many(&OWN), Nothing, "The checks that accept it. Without any, a person does."),
    key("passes", Refused("only the service says what passes; leave it out"), Nothing, "It cannot be given."),
]], "A unit of work with the checks that accept it.");

#[rustfmt::skip]
static PROTECT: TableSpec = only(&[&[
    key("paths", Texts { min: 0 }, Without::Texts(&["tests/**", ".harness/**", ".github/**"]),
        "Globs below the root: * within a name, ** over folders."),
    key("scripts", Flag, Without::Flag(true),
        "Whether the scripts that checks run are protected, too, and no new file takes the place of a runner."),
    key("on_change", one_of(&["reject", "pause"]), Without::Text("reject"),
        "The consequence of a change: rejects the attempt, or also pauses at the second one."),
]], "Files that no iteration may change.");

#[rustfmt::skip]
static POLICY: TableSpec = only(&[&[
    key("max_turns_per_run", count(1), Without::Whole(3), "Prompts for one feature in one iteration."),
    key("max_features_per_run", count(1), Without::Whole(1), "Features in one run; 1 in strict mode."),
    key("retry_budget", count(0), Without::Whole(2), "Rejected attempts in one iteration that are followed by another."),
    key("fail_fast", One(&FAIL_FAST), Nothing, "The failures that end a run at once."),
    key("max_iterations", Whole { min: 1, max: MANY, or: Some(UNLIMITED) }, Without::Whole(50), "Iterations in all."),
    key("regression", one_of(&["all", "global", "none"]), Without::Text("all"),
        "The checks that run again with every candidate: those of all accepted features, only the global ones, or none."),
]], "How often, how much, and what ends a run.");

#[rustfmt::skip]
static FAIL_FAST: TableSpec = only(&[&[
    key("health", Flag, Without::Flag(true), "A failed health check."),
    key("chat", Flag, Without::Flag(false), "A failed conversation."),
    key("validation", Flag, Without::Flag(false), "A rejected candidate."),
]], "The failures that end a run at once.");

#[rustfmt::skip]
static BUDGET: TableSpec = only(&[&[
    key("tokens", Whole { min: 1, max: i64::MAX, or: Some(UNLIMITED) }, Without::Whole(10_000_000), "Tokens in all."),
    key("cost_usd", Money, Nothing, "US dollars in all; without a bound if left out."),
    key("active", Time { max: None, or: Some(UNLIMITED) }, Without::Text("8h"), "Time in which it works."),
    key("attempt", Time { max: Some(DAY), or: None }, Without::Text("30m"), "Time of one attempt's conversation."),
]], "The limits of its usage.");

#[rustfmt::skip]
static PERMISSIONS: TableSpec = only(&[&[
    key("mode", KeyKind::OneOf { words: &["plan", "ask", "edits", "sandbox", "locked"], hint: "a workflow never has full access" },
        Without::Text("sandbox"), "The mode of its conversations."),
    key("asks", one_of(&["pause", "deny"]), Without::Text("pause"), "The fate of a question to a person."),
    key("allow", Texts { min: 0 }, Without::Texts(&[]), "Rules that allow, such as bash(cargo test *)."),
    key("model", Text, Nothing, "The model; the service's if left out."),
]], "The rights of the model.");

#[rustfmt::skip]
static VERIFY: TableSpec = only(&[&[
    key("where", one_of(&["fresh", "in_place"]), Without::Text("fresh"),
        "Where checks run: in a new worktree of the candidate, or where the model worked."),
]], "How checks run.");

#[rustfmt::skip]
static GATES: TableSpec = only(&[&[
    key("plan", Flag, Without::Flag(true), "Whether a person approves the file before anything of it runs."),
    key("accept", one_of(&["none", "each"]), Without::Text("none"), "Which candidates a person accepts besides."),
]], "Where a person has to say yes.");
