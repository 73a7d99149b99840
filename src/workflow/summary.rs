//! The effects of a workflow's file in a few lines, for the person who is to approve it.

use harness_actors::workflow::file::duration;
use harness_actors::workflow::guard::PathGuard;
use harness_actors::workflow::manifest::{
    Check, GitMode, Manifest, Program, RunMode, ServiceCommand, VerifyWhere,
};
use serde_json::{Value, json};

use crate::visible;

/// Maximum number of characters of a command or an objective that are shown.
const MAX_SHOWN: usize = 100;

/// The lines.
pub(crate) fn lines(name: &str, hash: &str, manifest: &Manifest) -> Vec<String> {
    let rows = [
        ("objective", manifest.objective.clone()),
        ("features", features(manifest)),
        ("checks", checks(manifest)),
        ("workspace", workspace(manifest)),
        ("verify", verify(manifest)),
        ("network", network(manifest)),
        ("protected", or_nothing(&manifest.protect.paths)),
        ("budget", budget(manifest)),
        ("permissions", permissions(manifest)),
    ];
    let row = |(what, said): (&str, String)| format!("  {what:<11}  {}", visible::line(&said));
    let mut lines = vec![format!("{name} is in order")];
    lines.extend(rows.map(row));
    let schedule = manifest.schedule.as_ref();
    lines.extend(schedule.map(|own| row(("schedule", own.to_string()))));
    lines.extend(scripts(manifest).map(|said| row(("scripts", said))));
    lines.push(row(("hash", hash.to_owned())));
    lines
}

/// The lines, and every command that it would run.
pub(crate) fn with_commands(name: &str, hash: &str, manifest: &Manifest) -> Vec<String> {
    let mut lines = lines(name, hash, manifest);
    lines.push("  commands that it runs:".to_owned());
    let commands = super::commands::lines(manifest).into_iter();
    lines.extend(commands.map(|line| format!("    {line}")));
    lines
}

/// A number of things.
pub(crate) fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

fn or_nothing(names: &[String]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    names.join(", ")
}

fn features(manifest: &Manifest) -> String {
    let all = &manifest.features;
    let required = all.iter().filter(|feature| feature.required).count();
    let at_once = match manifest.mode {
        RunMode::Strict => "one a run".to_owned(),
        RunMode::Bounded => format!("at most {} a run", manifest.policy.max_features_per_run),
        RunMode::Unlimited => "all in one run".to_owned(),
    };
    format!("{}, {required} required, {at_once}", all.len())
}

fn workspace(manifest: &Manifest) -> String {
    match manifest.workspace.git {
        GitMode::Worktree => format!(
            "git = \"worktree\", on the branch {}",
            manifest.workspace.branch
        ),
        GitMode::InPlace => {
            "git = \"in_place\": in YOUR OWN working tree, on its branch".to_owned()
        }
    }
}

fn verify(manifest: &Manifest) -> String {
    match manifest.verify {
        VerifyWhere::Fresh => "where = \"fresh\"".to_owned(),
        VerifyWhere::InPlace => {
            "where = \"in_place\": checks run WHERE THE MODEL WORKED, and fresh at the end alone"
                .to_owned()
        }
    }
}

fn of_features(manifest: &Manifest) -> impl Iterator<Item = &Check> {
    manifest.features.iter().flat_map(|feature| &feature.checks)
}

fn checks(manifest: &Manifest) -> String {
    let everywhere = || {
        let global = manifest.health.iter().chain(&manifest.checks);
        global.chain(of_features(manifest))
    };
    let mut said = vec![
        format!("{} of the base", manifest.health.len()),
        format!("{} of every candidate", manifest.checks.len()),
        format!("{} of features", of_features(manifest).count()),
    ];
    let manual = everywhere().filter(|check| check.command.is_none()).count();
    let hidden = everywhere().filter(|check| check.hidden).count();
    for (number, what) in [
        (manual, "made by a person"),
        (hidden, "hidden from the model"),
    ] {
        if number > 0 {
            said.push(format!("{number} {what}"));
        }
    }
    let alone = manifest
        .features
        .iter()
        .filter(|feature| feature.checks.is_empty());
    match alone.count() {
        0 => {}
        number => said.push(format!(
            "{} accepted by a person alone",
            count(number, "feature")
        )),
    }
    said.join(", ")
}

/// Every command that reaches the network.
fn network(manifest: &Manifest) -> String {
    let prepare = manifest.workspace.prepare.iter();
    let prepare = prepare.map(|command| ("prepare", command));
    let global = manifest.health.iter().chain(&manifest.checks);
    let all = global.chain(of_features(manifest));
    let checks = all.filter_map(|check| Some((&*check.id, check.command.as_ref()?)));
    let notify = manifest.notify.iter().map(|command| ("notify", command));
    let reaching = prepare
        .chain(checks)
        .chain(notify)
        .filter(|(_, command)| command.network);
    let told: Vec<String> = reaching
        .map(|(name, command)| format!("{name} `{}`", visible::short(&line(command), MAX_SHOWN)))
        .collect();
    or_nothing(&told)
}

/// A command on one line.
pub(super) fn line(command: &ServiceCommand) -> String {
    match &command.program {
        Program::Cmd(words) => words.join(" "),
        Program::Shell(line) => line.clone(),
        Program::Hook(_) => "the program that made it decides".to_owned(),
    }
}

/// The scripts that are protected since checks run them. `None` if there are none.
fn scripts(manifest: &Manifest) -> Option<String> {
    if !manifest.protect.scripts {
        return Some("what checks run is not protected by itself".to_owned());
    }
    let guard = PathGuard::for_manifest(manifest);
    let scripts: Vec<&str> = guard.scripts().iter().map(String::as_str).collect();
    let said = || format!("{}, protected where the base has them", scripts.join(", "));
    (!scripts.is_empty()).then(said)
}

fn budget(manifest: &Manifest) -> String {
    let budget = &manifest.budget;
    let bound = |bound: Option<String>, what: &str| {
        bound.map_or_else(|| format!("any {what}"), |bound| format!("{bound} {what}"))
    };
    [
        bound(budget.tokens.map(|tokens| tokens.to_string()), "tokens"),
        budget.cost_usd.map_or_else(
            || "any cost".to_owned(),
            |cost| format!("{cost} US dollars"),
        ),
        bound(budget.active_s.map(duration::text), "time of work"),
        format!("{} an attempt", duration::text(budget.attempt_s)),
        bound(
            manifest.policy.max_iterations.map(|n| n.to_string()),
            "iterations",
        ),
    ]
    .join(", ")
}

fn permissions(manifest: &Manifest) -> String {
    let permissions = &manifest.permissions;
    let asks = match json!(permissions.asks) {
        Value::String(word) => word,
        other => other.to_string(),
    };
    let allow = or_nothing(&permissions.allow);
    format!("mode {}, asks: {asks}, allowed: {allow}", permissions.mode)
}
