//! The manifest of a file whose values are of the right kind, and what is wrong with it beyond that.

use harness_protocol::RuleAction;

use super::checks::Checks;
use super::circles;
use super::duration;
use super::keys::{STARTER, UNLIMITED};
use super::names::{self, TakenNames};
use super::paths;
use super::problem::FileProblem;
use super::schedule;
use super::spot::ValueSpot;
use crate::approval::{MAX_RULE, Rule};
use crate::workflow::manifest::{
    Budget, FailFast, Feature, Gates, GitMode, Manifest, OnChange, Permissions, Protect,
    QuestionPolicy, Regression, RunMode, ServiceCommand, VerifyWhere, WorkflowPolicy,
    WorkspaceSettings,
};

/// Time limit of the command that sends people a notice, in seconds.
const NOTIFY_S: u64 = 30;

/// Need of a list of features in a file. An empty list is a problem either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureList {
    /// The file must list features.
    Needed,
    /// A file without the key is for an author who adds the list later.
    MayBeLeftOut,
}

/// The manifest; as good as it can be where something is wrong.
pub(super) fn manifest(
    file: &ValueSpot<'_>,
    list: FeatureList,
    problems: &mut Vec<FileProblem>,
) -> Manifest {
    let workflow = file.section("workflow");
    let mode = match workflow.text("mode").as_deref() {
        Some("bounded") => RunMode::Bounded,
        Some("unlimited") => RunMode::Unlimited,
        Some(_) | None => RunMode::Strict,
    };
    check_list(file, list, problems);
    check_strict(file, problems);
    let workspace = workspace(&file.section("workspace"), problems);
    let mut checks = Checks::new(problems);
    let health = checks.all(&file.items("health"), |_| String::new());
    let global = checks.all(&file.items("check"), |_| String::new());
    let spots = file.items("feature");
    let mut features: Vec<Feature> = Vec::new();
    for spot in &spots {
        let feature = feature(spot, &features, &mut checks);
        features.push(feature);
    }
    let notify = file.get("notify").map(|spot| ServiceCommand {
        time_limit_s: NOTIFY_S,
        ..checks.command(&spot)
    });
    check_features(&features, &spots, problems);
    let schedule = schedule::schedule(file, problems);
    Manifest {
        objective: workflow.text("objective").unwrap_or_default(),
        mode,
        workspace,
        health,
        checks: global,
        features,
        protect: protect(&file.section("protect"), problems),
        policy: policy(&file.section("policy")),
        budget: budget(&file.section("budget")),
        permissions: permissions(&file.section("permissions"), problems),
        verify: match file.section("verify").text("where").as_deref() {
            Some("in_place") => VerifyWhere::InPlace,
            Some(_) | None => VerifyWhere::Fresh,
        },
        gates: gates(&file.section("gates")),
        schedule,
        notify,
    }
}

fn check_list(file: &ValueSpot<'_>, list: FeatureList, problems: &mut Vec<FileProblem>) {
    let message = "there is no feature; list at least one as [[feature]]";
    let plan = file.section("workflow").text("plan");
    let is_starter = plan.as_deref() == Some(STARTER);
    match file.get("feature") {
        Some(given) if given.is_empty_list() => problems.push(given.problem(message)),
        Some(_) if is_starter => {
            let message = "the file lists features, so no starter list is made; leave it out";
            problems.push(file.section("workflow").section("plan").problem(message));
        }
        None if list == FeatureList::Needed => {
            let mut problem = file.problem(message);
            "feature".clone_into(&mut problem.place);
            problems.push(problem);
        }
        Some(_) | None => {}
    }
}

fn workspace(spot: &ValueSpot<'_>, problems: &mut Vec<FileProblem>) -> WorkspaceSettings {
    each(spot.get("branch"), paths::check_branch, problems);
    each(spot.items("copy"), paths::check_file, problems);
    WorkspaceSettings {
        git: match spot.text("git").as_deref() {
            Some("in_place") => GitMode::InPlace,
            Some(_) | None => GitMode::Worktree,
        },
        branch: spot.text("branch").unwrap_or_default(),
        prepare: Checks::new(problems).commands(&spot.items("prepare")),
        copy: spot.texts("copy"),
    }
}

fn feature(spot: &ValueSpot<'_>, before: &[Feature], checks: &mut Checks<'_>) -> Feature {
    let id = spot.text("id").unwrap_or_default();
    // A feature without a unique name is reported, and its checks are not reported as well.
    let has_name = !id.is_empty() && before.iter().all(|other| other.id != id);
    let named = |number| match has_name {
        true => format!("{id}.{number}"),
        false => String::new(),
    };
    let mut own = checks.all(&spot.items("check"), named);
    let holds = spot.flag("holds");
    for check in &mut own {
        check.red &= !holds;
    }
    Feature {
        holds,
        description: spot.text("description").unwrap_or_default(),
        steps: spot.texts("steps"),
        required: spot.flag("required"),
        priority: spot.integer("priority").map_or(0, narrow),
        after: spot.texts("after"),
        checks: own,
        id,
    }
}

fn check_features(features: &[Feature], spots: &[ValueSpot<'_>], problems: &mut Vec<FileProblem>) {
    let mut taken = TakenNames::default();
    for (feature, spot) in features.iter().zip(spots) {
        if let Some(id) = spot.get("id").filter(|id| id.as_text().is_some()) {
            taken.take(&feature.id, &id, problems);
            names::check_feature(&feature.id, &id, problems);
        }
        let says_how = spot
            .get("check")
            .is_some_and(|checks| !checks.is_empty_list())
            || spot
                .get("steps")
                .is_some_and(|steps| !steps.is_empty_list());
        if spot.is_table() && !says_how {
            let message = "the feature has no steps and no check; say how to see that it works";
            problems.push(spot.problem(message));
        }
    }
    circles::check(features, spots, problems);
    let is_required = |spot: &ValueSpot<'_>| !spot.is_false("required");
    if let Some(first) = spots.first()
        && !spots.iter().any(is_required)
    {
        let message = "no feature is required, so there is nothing to finish; leave out required = false \
                       at one at least";
        problems.push(first.section("required").problem(message));
    }
}

fn protect(spot: &ValueSpot<'_>, problems: &mut Vec<FileProblem>) -> Protect {
    each(spot.items("paths"), paths::check_glob, problems);
    Protect {
        paths: spot.texts("paths"),
        scripts: spot.flag("scripts"),
        on_change: match spot.text("on_change").as_deref() {
            Some("pause") => OnChange::Pause,
            Some(_) | None => OnChange::Reject,
        },
    }
}

/// Tells a strict file that takes several features at once.
fn check_strict(file: &ValueSpot<'_>, problems: &mut Vec<FileProblem>) {
    let is_strict = file.section("workflow").text("mode").as_deref() == Some("strict");
    let at_once = file.section("policy").get("max_features_per_run");
    let Some(at_once) = at_once.filter(|_| is_strict) else {
        return;
    };
    if let Some(number) = at_once.as_whole().filter(|number| *number != 1) {
        problems.push(at_once.problem(format!(
            "{number} features in a run are not strict; write 1, or mode = \"bounded\""
        )));
    }
}

fn policy(spot: &ValueSpot<'_>) -> WorkflowPolicy {
    let count = |key: &str| spot.integer(key).map_or(0, narrow);
    let fail_fast = spot.section("fail_fast");
    WorkflowPolicy {
        max_turns_per_run: count("max_turns_per_run"),
        max_features_per_run: count("max_features_per_run"),
        retry_budget: count("retry_budget"),
        fail_fast: FailFast {
            health: fail_fast.flag("health"),
            chat: fail_fast.flag("chat"),
            validation: fail_fast.flag("validation"),
        },
        max_iterations: spot.integer("max_iterations").map(narrow),
        regression: match spot.text("regression").as_deref() {
            Some("global") => Regression::Global,
            Some("none") => Regression::None,
            Some(_) | None => Regression::All,
        },
    }
}

fn budget(spot: &ValueSpot<'_>) -> Budget {
    let time = |key: &str| {
        let said = spot.text(key).filter(|said| said != UNLIMITED)?;
        duration::seconds(&said)
    };
    Budget {
        tokens: spot.integer("tokens").map(narrow),
        cost_usd: spot.number("cost_usd"),
        active_s: time("active"),
        attempt_s: time("attempt").unwrap_or_default(),
    }
}

fn permissions(spot: &ValueSpot<'_>, problems: &mut Vec<FileProblem>) -> Permissions {
    each(spot.items("allow"), check_rule, problems);
    Permissions {
        mode: spot.text("mode").unwrap_or_default(),
        asks: match spot.text("asks").as_deref() {
            Some("deny") => QuestionPolicy::Deny,
            Some(_) | None => QuestionPolicy::Pause,
        },
        allow: spot.texts("allow"),
        model: spot.text("model"),
    }
}

/// Checks that a text is a rule that a workflow may have.
fn check_rule(text: &str) -> Result<(), String> {
    if text.len() > MAX_RULE {
        let length = text.len();
        return Err(format!(
            "{length} bytes are too long for a rule; the most is {MAX_RULE}"
        ));
    }
    Rule::made(text, RuleAction::Allow).map_err(|error| error.to_string())?;
    if text.starts_with("bash!full(") {
        return Err(format!(
            "{text:?} gives full access, and a workflow never has that; leave it out"
        ));
    }
    Ok(())
}

fn gates(spot: &ValueSpot<'_>) -> Gates {
    Gates {
        plan: spot.flag("plan"),
        accept: spot.text("accept").as_deref() == Some("each"),
    }
}

/// Tells what is wrong with each text.
fn each<'n>(
    spots: impl IntoIterator<Item = ValueSpot<'n>>,
    check: impl Fn(&str) -> Result<(), String>,
    problems: &mut Vec<FileProblem>,
) {
    for spot in spots {
        if let Some(Err(message)) = spot.as_text().map(&check) {
            problems.push(spot.problem(message));
        }
    }
}

/// A number that the table of keys keeps within bounds.
fn narrow<N: TryFrom<i128> + Default>(number: i128) -> N {
    N::try_from(number).unwrap_or_default()
}
