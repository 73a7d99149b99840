//! The mistakes of files: all of them, each with its place.

use serde_json::Value;

use super::*;
use crate::workflow::schema::{schema, tests::accepts};

/// A file in order; each case changes a line of it.
const GOOD: &str = r#"[workflow]
objective = "o"
mode = "bounded"
[workspace]
branch = "w"
prepare = [{ cmd = ["p"] }]
copy = ["c"]
[[health]]
id = "h"
cmd = ["h"]
[[check]]
id = "g"
cmd = ["g"]
[[feature]]
id = "a"
description = "d"
steps = ["s"]
after = []
[[feature.check]]
cmd = ["t"]
[[feature]]
id = "b"
description = "e"
after = ["a"]
[[feature.check]]
shell = "u"
[protect]
paths = ["p/**"]
[policy]
max_turns_per_run = 3
[budget]
tokens = 1
[permissions]
mode = "ask"
"#;

/// The judge that can tell: reading the file always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The schema too.
    Schema,
    /// Only reading the file.
    Reading,
}
use By::{Reading, Schema};

/// A line, what stands in its place, and what is told.
type Bad = (
    &'static str,
    &'static str,
    By,
    &'static [(&'static str, &'static str)],
);

#[rustfmt::skip]
const OF_TEXTS_AND_KEYS: &[Bad] = &[
    ("objective = \"o\"", "objective = \" \\t\"", Schema, &[("workflow.objective", "is blank")]),
    ("objective = \"o\"", "", Schema, &[("workflow.objective", "\"objective\" is missing")]),
    ("objective = \"o\"", "objective = 3", Schema, &[("workflow.objective", "has to be a text, and is a number")]),
    ("objective = \"o\"", "objective = 2026-01-01", Schema, &[("workflow.objective", "is a date")]),
    ("objective = \"o\"", "objective = \"o\"\nobjektive = 1", Schema, &[("workflow.objektive", "unknown key \"objektive\"; did you mean \"objective\"?")]),
    ("mode = \"bounded\"", "mode = \"stict\"", Schema, &[("workflow.mode", "\"stict\" is none of strict, bounded, unlimited; did you mean \"strict\"?")]),
    ("mode = \"bounded\"", "mode = [\"strict\"]", Schema, &[("workflow.mode", "has to be a text, and is a list")]),
    ("mode = \"bounded\"", "\"a b\" = 1", Schema, &[("workflow.\"a b\"", "the keys here are objective, mode")]),
    ("[workspace]", "[worksapce]", Schema, &[("worksapce", "did you mean \"workspace\"?")]),
    ("[policy]", "[polcy]", Schema, &[("polcy", "did you mean \"policy\"?")]),
    ("[policy]", "[plan]\nx = 1\n[policy]", Schema, &[("plan", "unknown key \"plan\"; ")]),
    ("[protect]", "[[protect]]", Schema, &[("protect", "has to be a table, and is a list")]),
    ("[[check]]", "[check]", Schema, &[("check", "has to be a list of tables, and is a table")]),
    ("mode = \"ask\"", "allow = \"bash(ls)\"", Schema, &[("permissions.allow", "has to be a list of texts, and is a text")]),
    ("mode = \"ask\"", "allow = [1]", Schema, &[("permissions.allow[0]", "has to be a text, and is a number")]),
    ("mode = \"ask\"", "model = \"\"", Schema, &[("permissions.model", "is blank")]),
    ("mode = \"ask\"", "asks = \"allow\"", Schema, &[("permissions.asks", "\"allow\" is none of pause, deny")]),
    ("mode = \"ask\"", "[verify]\nwhere = \"here\"", Schema, &[("verify.where", "\"here\" is none of fresh, in_place")]),
    ("mode = \"ask\"", "[gates]\nplan = \"yes\"", Schema, &[("gates.plan", "has to be true or false, and is a text")]),
    ("mode = \"ask\"", "[gates]\naccept = true", Schema, &[("gates.accept", "has to be a text, and is true or false")]),
];

#[rustfmt::skip]
const OF_FEATURES: &[Bad] = &[
    ("id = \"a\"", "id = \"\"", Schema, &[("feature[0].id", "is blank"), ("feature[1].after[0]", "there is no feature \"a\"")]),
    ("id = \"b\"", "", Schema, &[("feature[1].id", "\"id\" is missing")]),
    ("id = \"b\"", "id = \"a\"", Reading, &[("feature[1].id", "\"a\" is the name of feature[0].id already")]),
    ("id = \"b\"", "id = \"b c\"", Schema, &[("feature[1].id", "\"b c\" is no name; use letters")]),
    ("id = \"b\"", "id = \"ü\"", Schema, &[("feature[1].id", "\"ü\" is no name")]),
    ("id = \"b\"", "id = \"b/c\"", Schema, &[("feature[1].id", "is no name")]),
    ("id = \"b\"", "id = \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"", Schema, &[("feature[1].id", "the name has 65 characters; the most is 64")]),
    ("id = \"b\"", "id = 7", Schema, &[("feature[1].id", "has to be a text, and is a number")]),
    ("id = \"b\"", "id = \"workspace.health\"", Reading, &[("feature[1].id", "the service's own feature")]),
    ("description = \"d\"", "description = \"\"", Schema, &[("feature[0].description", "is blank")]),
    ("description = \"d\"", "", Schema, &[("feature[0].description", "\"description\" is missing")]),
    ("steps = [\"s\"]", "steps = [\"s\", \"\"]", Schema, &[("feature[0].steps[1]", "is blank")]),
    ("steps = [\"s\"]", "passes = true", Schema, &[("feature[0].passes", "only the service says what passes")]),
    ("steps = [\"s\"]", "passes = false", Schema, &[("feature[0].passes", "only the service says what passes")]),
    ("steps = [\"s\"]", "priority = 1.5", Schema, &[("feature[0].priority", "1.5 is no whole number")]),
    ("steps = [\"s\"]", "required = 1", Schema, &[("feature[0].required", "has to be true or false, and is a number")]),
    ("[[feature.check]]\nshell = \"u\"\n", "", Reading, &[("feature[1]", "no steps and no check")]),
    ("[[feature.check]]\nshell = \"u\"\n", "check = []\nsteps = []\n", Reading, &[("feature[1]", "no steps and no check")]),
    ("after = [\"a\"]", "after = [\"A1\"]", Reading, &[("feature[1].after[0]", "there is no feature \"A1\"; name one of this file")]),
    ("after = [\"a\"]", "after = [\"b\"]", Reading, &[("feature[1].after", "b -> b is a circle")]),
    ("after = []", "after = [\"b\"]", Reading, &[("feature[0].after", "a -> b -> a is a circle")]),
];

#[rustfmt::skip]
const OF_CHECKS: &[Bad] = &[
    ("id = \"g\"", "", Schema, &[("check[0].id", "\"id\" is missing")]),
    ("id = \"g\"", "id = \"h\"", Reading, &[("check[0].id", "\"h\" is the name of health[0].id already")]),
    ("id = \"g\"", "id = \"a.1\"", Reading, &[("feature[0].check[0]", "\"a.1\" is the name of check[0].id already")]),
    ("cmd = [\"g\"]", "", Schema, &[("check[0]", "there is nothing to run; give one of cmd, shell, manual")]),
    ("cmd = [\"h\"]", "manual = true", Schema, &[("health[0]", "give one of cmd, shell"), ("health[0].manual", "a health check is a command")]),
    ("prepare = [{ cmd = [\"p\"] }]", "prepare = [{ cwd = \"x\" }]", Schema, &[("workspace.prepare[0]", "there is nothing to run; give one of cmd, shell")]),
    ("prepare = [{ cmd = [\"p\"] }]", "prepare = [\"p\"]", Schema, &[("workspace.prepare[0]", "has to be a table, and is a text")]),
    ("shell = \"u\"", "shell = \"u\"\ncmd = [\"v\"]", Schema, &[("feature[1].check[0]", "cmd and shell cannot be together")]),
    ("shell = \"u\"", "shell = \"u\"\nmanual = true", Schema, &[("feature[1].check[0]", "shell and manual cannot be together")]),
    ("shell = \"u\"", "manual = false", Schema, &[("feature[1].check[0].manual", "false says nothing")]),
    ("shell = \"u\"", "manual = true\nkeep = '(a)'\ntime_limit = \"1m\"", Reading, &[("feature[1].check[0].keep", "so keep says nothing"), ("feature[1].check[0].time_limit", "so time_limit says nothing")]),
    ("shell = \"u\"", "shell = \" \"", Schema, &[("feature[1].check[0].shell", "is blank")]),
    ("cmd = [\"t\"]", "cmd = []", Schema, &[("feature[0].check[0].cmd", "the list is empty")]),
    ("cmd = [\"t\"]", "cmd = [\"\"]", Schema, &[("feature[0].check[0].cmd[0]", "is blank")]),
    ("cmd = [\"t\"]", "cmd = [\"t\", 1]", Schema, &[("feature[0].check[0].cmd[1]", "has to be a text, and is a number")]),
    ("cmd = [\"t\"]", "cmd = \"t\"", Schema, &[("feature[0].check[0].cmd", "has to be a list of texts, and is a text")]),
    ("cmd = [\"t\"]", "cmd = [\"t\\u0000\"]", Reading, &[("feature[0].check[0].cmd[0]", "U+0000")]),
    ("shell = \"u\"", "shell = \"u\"\nmust_match = '('", Reading, &[("feature[1].check[0].must_match", "\"(\" is no regular expression: unclosed group")]),
    ("shell = \"u\"", "shell = \"u\"\nmust_not_match = 'a{9999999}'", Reading, &[("feature[1].check[0].must_not_match", "is no regular expression: ")]),
    ("shell = \"u\"", "shell = \"u\"\nmust_match = '(?=a)'", Reading, &[("feature[1].check[0].must_match", "look-around")]),
    ("shell = \"u\"", "shell = \"u\"\nkeep = '^ok'", Reading, &[("feature[1].check[0].keep", "has 0 groups; put the names of tests into exactly one")]),
    ("shell = \"u\"", "shell = \"u\"\nkeep = '(a)(b)'", Reading, &[("feature[1].check[0].keep", "has 2 groups")]),
    ("shell = \"u\"", "shell = \"u\"\ntime_limit = \"0s\"", Reading, &[("feature[1].check[0].time_limit", "\"0s\" is no time to do anything in")]),
    ("shell = \"u\"", "shell = \"u\"\ntime_limit = \"24h1s\"", Reading, &[("feature[1].check[0].time_limit", "\"24h1s\" is too long; the most is 24h")]),
    ("shell = \"u\"", "shell = \"u\"\ntime_limit = \"5 minutes\"", Schema, &[("feature[1].check[0].time_limit", "\"5 minutes\" is no time; write it like")]),
    ("shell = \"u\"", "shell = \"u\"\ntime_limit = \"30m1h\"", Schema, &[("feature[1].check[0].time_limit", "is no time")]),
    ("shell = \"u\"", "shell = \"u\"\ntime_limit = 300", Schema, &[("feature[1].check[0].time_limit", "has to be a text, and is a number; write it like \"5m\"")]),
    ("shell = \"u\"", "shell = \"u\"\ntime_limit = \"unlimited\"", Schema, &[("feature[1].check[0].time_limit", "is no time")]),
    ("cmd = [\"g\"]", "cmd = [\"g\"]\nred = true", Schema, &[("check[0].red", "need not fail first")]),
    ("cmd = [\"g\"]", "cmd = [\"g\"]\nwhen = \"never\"", Schema, &[("check[0].when", "\"never\" is none of always, final")]),
    ("shell = \"u\"", "shell = \"u\"\nwhen = \"final\"", Schema, &[("feature[1].check[0].when", "only a [[check]] can wait for the end")]),
    ("cmd = [\"h\"]", "cmd = [\"h\"]\nkeep = '(a)'", Schema, &[("health[0].keep", "no accepted tree")]),
    ("shell = \"u\"", "shell = \"u\"\nexit = \"all\"", Schema, &[("feature[1].check[0].exit", "\"all\" is no whole number or \"any\"")]),
    ("shell = \"u\"", "shell = \"u\"\nexit = 256", Schema, &[("feature[1].check[0].exit", "256 is too large; the most is 255")]),
    ("shell = \"u\"", "shell = \"u\"\nexit = -1", Schema, &[("feature[1].check[0].exit", "-1 is too small; the least is 0")]),
    ("shell = \"u\"", "shell = \"u\"\nexit = \"any\"", Reading, &[("feature[1].check[0].exit", "lets everything pass")]),
    ("shell = \"u\"", "shell = \"u\"\nflaky = -2", Schema, &[("feature[1].check[0].flaky", "-2 is too small")]),
    ("shell = \"u\"", "shell = \"u\"\nnetwork = \"on\"", Schema, &[("feature[1].check[0].network", "has to be true or false")]),
    ("shell = \"u\"", "shell = \"u\"\ncwd = \"/tmp\"", Reading, &[("feature[1].check[0].cwd", "\"/tmp\" is absolute; write a path below the root")]),
    ("shell = \"u\"", "shell = \"u\"\ncwd = \"a/../..\"", Reading, &[("feature[1].check[0].cwd", "goes out with ..")]),
    ("shell = \"u\"", "shell = \"u\"\nenv = { \"A-B\" = \"x\" }", Reading, &[("feature[1].check[0].env.A-B", "\"A-B\" is no name of a variable")]),
    ("shell = \"u\"", "shell = \"u\"\nenv = { A = 1 }", Schema, &[("feature[1].check[0].env.A", "has to be a text, and is a number")]),
    ("shell = \"u\"", "shell = \"u\"\nenv = [\"A=1\"]", Schema, &[("feature[1].check[0].env", "has to be a table of texts, and is a list")]),
    ("shell = \"u\"", "shell = \"u\"\nfiles = { \"a\" = \"x\" }", Reading, &[("feature[1].check[0].files", "only a hidden check has files")]),
    ("shell = \"u\"", "shell = \"u\"\nhidden = true\nfiles = { \"../a\" = \"x\" }", Reading, &[("feature[1].check[0].files.\"../a\"", "goes out with ..")]),
    ("shell = \"u\"", "shell = \"u\"\nhidden = true\nfiles = { \".git/config\" = \"x\" }", Reading, &[("feature[1].check[0].files.\".git/config\"", "is git's own")]),
    ("shell = \"u\"", "shell = \"u\"\nmust_mach = \"x\"", Schema, &[("feature[1].check[0].must_mach", "did you mean \"must_match\"?")]),
];

#[rustfmt::skip]
const OF_THE_REST: &[Bad] = &[
    ("branch = \"w\"", "branch = \"a..b\"", Reading, &[("workspace.branch", "git takes no branch \"a..b\": it has ..")]),
    ("branch = \"w\"", "branch = \"{id}\"", Reading, &[("workspace.branch", "only {name} stands for something")]),
    ("branch = \"w\"", "branch = \"a b\"", Reading, &[("workspace.branch", "it has a blank")]),
    ("branch = \"w\"", "git = \"none\"", Schema, &[("workspace.git", "\"none\" is none of worktree, in_place; a workflow commits")]),
    ("copy = [\"c\"]", "copy = [\"/etc/passwd\"]", Reading, &[("workspace.copy[0]", "\"/etc/passwd\" is absolute")]),
    ("copy = [\"c\"]", "copy = [\"c\", \"../.env\"]", Reading, &[("workspace.copy[1]", "goes out with ..")]),
    ("copy = [\"c\"]", "copy = [\".git/config\"]", Reading, &[("workspace.copy[0]", "is git's own")]),
    ("paths = [\"p/**\"]", "paths = [\"/p/**\"]", Reading, &[("protect.paths[0]", "is absolute")]),
    ("paths = [\"p/**\"]", "paths = [\"p/**\", \"../**\"]", Reading, &[("protect.paths[1]", "goes out with ..")]),
    ("paths = [\"p/**\"]", "paths = [\"p/\"]", Reading, &[("protect.paths[0]", "write \"p/**\"")]),
    ("paths = [\"p/**\"]", "on_change = \"ignore\"", Schema, &[("protect.on_change", "is none of reject, pause")]),
    ("max_turns_per_run = 3", "max_turns_per_run = 0", Schema, &[("policy.max_turns_per_run", "0 is too small; the least is 1")]),
    ("max_turns_per_run = 3", "max_features_per_run = 0", Schema, &[("policy.max_features_per_run", "0 is too small")]),
    ("max_turns_per_run = 3", "max_iterations = 0", Schema, &[("policy.max_iterations", "0 is too small")]),
    ("max_turns_per_run = 3", "max_iterations = \"endless\"", Schema, &[("policy.max_iterations", "\"endless\" is no whole number or \"unlimited\"")]),
    ("max_turns_per_run = 3", "retry_budget = \"unlimited\"", Schema, &[("policy.retry_budget", "\"unlimited\" is no whole number")]),
    ("max_turns_per_run = 3", "fail_fast = true", Schema, &[("policy.fail_fast", "has to be a table, and is true or false")]),
    ("max_turns_per_run = 3", "fail_fast = { helth = true }", Schema, &[("policy.fail_fast.helth", "did you mean \"health\"?")]),
    ("max_turns_per_run = 3", "regression = \"some\"", Schema, &[("policy.regression", "is none of all, global, none")]),
    ("tokens = 1", "tokens = 0", Schema, &[("budget.tokens", "0 is too small")]),
    ("tokens = 1", "tokens = 99999999999999999999999999999999999999999999", Schema, &[("budget.tokens", "is too large")]),
    ("tokens = 1", "cost_usd = 0", Schema, &[("budget.cost_usd", "above 0")]),
    ("tokens = 1", "cost_usd = inf", Schema, &[("budget.cost_usd", "above 0")]),
    ("tokens = 1", "cost_usd = \"unlimited\"", Schema, &[("budget.cost_usd", "has to be a number, and is a text")]),
    ("tokens = 1", "active = \"0h\"", Reading, &[("budget.active", "no time to do anything in")]),
    ("tokens = 1", "attempt = \"25h\"", Reading, &[("budget.attempt", "\"25h\" is too long")]),
    ("tokens = 1", "attempt = \"unlimited\"", Schema, &[("budget.attempt", "is no time")]),
    ("mode = \"ask\"", "mode = \"full\"", Schema, &[("permissions.mode", "a workflow never has full access")]),
    ("mode = \"ask\"", "allow = [\"edit\"]", Reading, &[("permissions.allow[0]", "\"edit\" is no rule: it has no pattern")]),
    ("mode = \"ask\"", "allow = [\"bash(ls)\", \"bash(*)\"]", Reading, &[("permissions.allow[1]", "\"bash(*)\" is no rule that allows")]),
    ("mode = \"ask\"", "allow = [\"bash!full(ls)\"]", Reading, &[("permissions.allow[0]", "gives full access")]),
    ("mode = \"bounded\"", "mode = \"strict\"\n[policy]\nmax_features_per_run = 2", Reading, &[("policy.max_features_per_run", "2 features in a run are not strict")]),
    // Nothing is told that only follows from another mistake.
    ("mode = \"bounded\"", "mode = \"bonded\"\n[policy]\nmax_features_per_run = 2", Schema, &[("workflow.mode", "did you mean \"bounded\"?")]),
    ("mode = \"bounded\"", "mode = \"strict\"\n[policy]\nmax_features_per_run = 0", Schema, &[("policy.max_features_per_run", "0 is too small")]),
    ("shell = \"u\"", "shell = \"u\"\nhidden = 1\nfiles = { \"a\" = \"x\" }", Schema, &[("feature[1].check[0].hidden", "has to be true or false")]),
];

fn all() -> impl Iterator<Item = &'static Bad> {
    [OF_TEXTS_AND_KEYS, OF_FEATURES, OF_CHECKS, OF_THE_REST]
        .into_iter()
        .flatten()
}

/// The file of a case.
fn file((line, other, ..): &Bad) -> String {
    assert!(GOOD.contains(line), "{line}");
    let good = if other.contains("[policy]\nmax_features") {
        GOOD.replace("[policy]\nmax_turns_per_run = 3\n", "")
    } else {
        GOOD.to_owned()
    };
    good.replacen(line, other, 1)
}

fn problems(text: &str) -> Vec<FileProblem> {
    read(text.as_bytes(), FileFormat::Toml, FeatureList::Needed)
        .err()
        .unwrap_or_default()
}

/// Spec: [FLOW-06]
#[test]
fn each_mistake_is_told_with_its_place_and_nothing_else_is() {
    assert_eq!(problems(GOOD), []);
    assert!(all().count() >= 60);
    for bad @ (_, other, _, wanted) in all() {
        let mut found = problems(&file(bad));
        found.sort_by(|a, b| a.place.cmp(&b.place));
        let places: Vec<&str> = found.iter().map(|problem| &*problem.place).collect();
        let wanted_places: Vec<&str> = wanted.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, wanted_places, "{other}: {found:#?}");
        for (problem, (_, message)) in found.iter().zip(*wanted) {
            assert!(problem.message.contains(message), "{other}: {problem}");
            assert!(
                problem.line.is_some() && !problem.message.contains('\n'),
                "{problem:?}"
            );
        }
    }
}

/// Spec: [FLOW-06]
#[test]
fn json_is_told_the_same_mistakes() {
    for bad @ (_, other, ..) in all() {
        let text = file(bad);
        let Ok(value) = toml::from_str::<Value>(&text) else {
            continue; // A number that JSON has no room for.
        };
        if ["2026-01-01", "cost_usd = inf"]
            .iter()
            .any(|only| other.contains(only))
        {
            continue; // JSON has no dates and no infinity.
        }
        let found = read(
            value.to_string().as_bytes(),
            FileFormat::Json,
            FeatureList::Needed,
        );
        let without_lines = |mut problems: Vec<FileProblem>| {
            for problem in &mut problems {
                problem.line = None;
            }
            problems.sort_by(|a, b| a.place.cmp(&b.place));
            problems
        };
        let found = without_lines(found.unwrap_err());
        assert_eq!(found, without_lines(problems(&text)), "{other}");
    }
}

/// Spec: [FLOW-09]
#[test]
fn the_schema_refuses_what_it_can_tell_and_nothing_that_is_right() {
    let schema = schema();
    let good: Value = toml::from_str(GOOD).unwrap();
    assert!(accepts(&schema, &good));
    for bad @ (_, other, by, _) in all() {
        let Ok(mut value) = toml::from_str::<Value>(&file(bad)) else {
            continue;
        };
        if other.contains("cost_usd = inf") {
            value["budget"]["cost_usd"] = Value::Null; // JSON has no infinity.
        }
        assert_eq!(accepts(&schema, &value), *by == Reading, "{other}");
    }
}

/// Spec: [FLOW-06]
#[test]
fn twenty_mistakes_are_told_at_once_each_with_its_line() {
    let text = r#"
[workflow]
objective = ""
mod = "strict"
[workspace]
branch = ".a"
copy = ["../x"]
prepare = [{ cmd = [] }]
[[check]]
id = "g g"
exit = "any"
cmd = ["x"]
red = true
[[feature]]
id = "a"
passes = true
after = ["b"]
[[feature]]
id = "b"
description = " "
after = ["a", "c"]
[[feature.check]]
keep = '('
shell = "x"
time_limit = "2d"
[protect]
paths = ["/x"]
[policy]
max_turns_per_run = 0
max_features_per_run = 2
[budget]
cost_usd = -1
active = 5
[permissions]
mode = "full"
allow = ["rm"]
"#;
    let found = problems(text);
    let lines: Vec<usize> = found.iter().filter_map(|problem| problem.line).collect();
    assert_eq!(
        lines,
        [
            3, 4, 6, 7, 8, 10, 11, 13, 14, 14, 16, 17, 20, 21, 23, 25, 27, 29, 30, 32, 33, 35, 36
        ],
        "{found:#?}"
    );
}

/// Spec: [FLOW-06]
#[test]
fn circles_are_named_once_each() {
    let feature = |id: &str, after: &str| {
        format!(
            "[[feature]]\nid = \"{id}\"\ndescription = \"d\"\nsteps = [\"s\"]\nafter = [{after}]\n"
        )
    };
    let text = [
        "[workflow]\nobjective = \"o\"\n".to_owned(),
        feature("behind", "\"c\""),
        feature("b", "\"c\""),
        feature("a", "\"b\", \"free\""),
        feature("c", "\"a\""),
        feature("free", ""),
        feature("x", "\"y\""),
        feature("y", "\"x\""),
    ]
    .concat();
    let told: Vec<String> = problems(&text).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "feature[1].after: b -> c -> a -> b is a circle; take one of them out",
            "feature[5].after: x -> y -> x is a circle; take one of them out",
        ]
    );
}

/// Spec: [FLOW-06]
#[test]
fn a_workflow_without_a_required_feature_is_refused() {
    let text = GOOD.replace("description", "required = false\ndescription");
    let found = problems(&text);
    assert_eq!((&*found[0].place, found.len()), ("feature[0].required", 1));
    assert!(
        found[0].message.starts_with("no feature is required"),
        "{found:?}"
    );
}

/// Spec: [FLOW-06]
#[test]
fn a_text_that_cannot_be_read_is_told_as_that() {
    let told = |bytes: &[u8], format| {
        let problems = read(bytes, format, FeatureList::Needed).unwrap_err();
        let told = problems
            .iter()
            .map(|problem| (problem.line, problem.to_string()));
        told.collect::<Vec<_>>()
    };
    let found = told(b"a = 1\nb =\nc = 3\na = 2\n", FileFormat::Toml);
    assert_eq!(
        found.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
        [Some(2), Some(4)]
    );
    assert_eq!(found[1].1, "the file: duplicate key");
    let found = told(b"{\n\"a\": 1,\n\"a\": 2}", FileFormat::Json);
    assert_eq!((found.len(), found[0].0), (1, Some(3)));
    assert!(found[0].1.contains("duplicate key \"a\""), "{found:?}");
    assert_eq!(told(b"{", FileFormat::Json).len(), 1);
    assert_eq!(
        told(b"[]", FileFormat::Json)[0].1,
        "the file: has to be a table, and is a list"
    );
    let found = told(b"a = 1\n# \xff", FileFormat::Toml);
    assert_eq!(found[0].0, Some(2));
    let found = told(&vec![b' '; MAX_FILE + 1], FileFormat::Toml);
    assert_eq!(found[0].0, None);
    // Neither depth nor a long chain of names does harm.
    for deep in [
        "[".repeat(100_000),
        "a.".repeat(100_000),
        "{a=".repeat(100_000),
    ] {
        assert!(!told(format!("x = {deep}").as_bytes(), FileFormat::Toml).is_empty());
        assert!(!told(deep.as_bytes(), FileFormat::Toml).is_empty());
        assert!(!told(deep.as_bytes(), FileFormat::Json).is_empty());
    }
}
