//! A record of a workflow in words: the one place where its types become sentences.
//!
//! Invariant: what is missing or new in a record makes the sentence shorter, never an error.

use serde_json::Value;

use super::by;

/// Maximum number of characters that are shown of a text from outside the service.
const SHORT: usize = 300;
/// Number of characters of a hash that are shown.
const HASH: usize = 8;

/// A record of a workflow, its `type` and its `data`, in one plain sentence.
#[must_use]
pub fn workflow_record(record: &Value) -> String {
    let data = Data(record.get("data").unwrap_or(&Value::Null));
    let kind = record
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match kind {
        "created" => format!("{} was made{}", data.text("workflow"), data.by()),
        "manifest_applied" => manifest_applied(data),
        "gate_opened" => {
            let asks = format!("gate {}: waits for a person", data.text("gate"));
            remark(asks, &data.line("asks"))
        }
        "gate_closed" => {
            let said = if data.flag("approved") {
                "approved"
            } else {
                "rejected"
            };
            let closed = format!("gate {} {said}{}", data.text("gate"), data.by());
            remark(closed, &data.line("comment"))
        }
        "phase_started" => phase_started(data),
        "phase_ended" => {
            let error = data.text("error");
            let ended = match error {
                "" => "the run ended".to_owned(),
                error => format!("the run ended ({error})"),
            };
            remark(ended, &data.line("detail"))
        }
        "iteration_started" => {
            let (n, feature) = (data.number("n"), data.text("feature"));
            let started = format!("iteration {n}: works on {feature}");
            in_brackets(started, &data.line("why"))
        }
        "iteration_ended" => iteration_ended(data),
        "paused" | "pause_requested" => paused(kind, data),
        "resumed" => resumed(data),
        "cancel_requested" => format!("a cancel is wanted{}", data.by()),
        "cancelled" => remark("cancelled".to_owned(), &data.line("detail")),
        "completed" => format!(
            "completed: every check passes on {}",
            data.field("head").hash("commit")
        ),
        "intervened" => {
            let (feature, what) = (data.text("feature"), data.text("what"));
            format!("feature {feature} {what}{}", data.by())
        }
        "restarted" => remark("the service came back".to_owned(), &data.line("found")),
        "notified" => {
            let failed = data.line("failed");
            let told = if failed.is_empty() {
                "a notice was sent"
            } else {
                "a notice could not be sent"
            };
            remark(told.to_owned(), &failed)
        }
        "start_planned" => format!(
            "the schedule starts the next run in {}",
            span(data.number("in_s"))
        ),
        "start_skipped" => remark(
            "a start of the schedule was left out".to_owned(),
            &data.line("why"),
        ),
        "failed" => remark("failed".to_owned(), &data.line("detail")),
        "verification_started" => verification_started(data),
        "verification_ended" => verification_ended(data),
        kind => of_attempt(kind, data),
    }
}

/// The sentence for a record inside an iteration.
fn of_attempt(kind: &str, data: Data<'_>) -> String {
    let place = data.place();
    match kind {
        "step_started" => {
            let started = format!("{place}: {}", step(data.text("step")));
            match data.number("try") {
                0 | 1 => started,
                count => format!("{started}, try {count}"),
            }
        }
        "step_ended" => {
            let (step, outcome) = (step(data.text("step")), words(data.text("outcome")));
            remark(format!("{place}: {step} {outcome}"), &data.line("detail"))
        }
        "conversation_linked" => {
            let (run, conversation) = (data.number("run"), data.text("conversation"));
            format!("{place}: run {run} of the conversation {conversation}")
        }
        "attempt_timed_out" => format!("{place} took too long; its run is cancelled"),
        "provider_waits" => {
            let (wait, number) = (
                span(data.number("ms").div_ceil(1_000)),
                data.number("number"),
            );
            let waits = format!("{place}: the provider does not answer, wait {number} of {wait}");
            remark(waits, &data.line("detail"))
        }
        "candidate" => candidate(&place, data),
        "check_ended" => check_ended(&place, data),
        "verdict" if data.flag("accepted") => format!("{place} accepted"),
        "verdict" => remark(format!("{place} rejected"), &rejections(data, "reasons")),
        unknown => words(unknown),
    }
}

fn manifest_applied(data: Data<'_>) -> String {
    let (version, hash) = (data.number("version"), data.hash("hash"));
    let features = counted(data.list("features").len(), "feature");
    let approved = if data.flag("approved") {
        "approved"
    } else {
        "not approved yet"
    };
    let mut text = format!(
        "version {version} of the file ({hash}) counts{}: {features}, {approved}",
        data.by()
    );
    let changed = data.names("changed");
    if !changed.is_empty() {
        text += &format!("; open again: {changed}");
    }
    text
}

fn phase_started(data: Data<'_>) -> String {
    let order = data.field("order");
    let what = match data.text("phase") {
        "initializer" => "a run begins, the checks on the base first",
        _ => "a run begins",
    };
    let most = |key: &str, noun: &str| {
        let most = order.0.get(key)?.as_u64()?;
        Some(format!("at most {}", counted(most, noun)))
    };
    let limits = [
        most("max_features", "feature"),
        most("max_iterations", "iteration"),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    remark(format!("{what}{}", order.by()), &limits.join(", "))
}

fn candidate(place: &str, data: Data<'_>) -> String {
    let (files, lines) = (
        counted(data.number("files"), "file"),
        counted(data.number("lines"), "line"),
    );
    let commit = data.hash("commit");
    let mut text = format!("{place} left {files}, {lines} changed, as {commit}");
    let protected = data.names("protected");
    if !protected.is_empty() {
        text += &format!("; these protected files were put back: {protected}");
    }
    let too_large = data.line("too_large");
    if !too_large.is_empty() {
        text += &format!("; too large: {too_large}");
    }
    text
}

fn check_ended(place: &str, data: Data<'_>) -> String {
    let verdict = data.text("verdict");
    let how = match verdict {
        "timed_out" => "took too long",
        "vacuous" => "showed nothing",
        "flaky" => "failed first and passed then",
        "not_started" => "could not be started",
        verdict => verdict,
    };
    let check = data.text("check");
    let mut text = format!("{place}: check {check} {how} in {}", seconds(data));
    if data.0.get("counts") == Some(&Value::Bool(false)) {
        text += ", which does not count";
    }
    if !matches!(verdict, "passed") {
        text = remark(text, &data.line("why"));
    }
    match data.list("lost").len() {
        0 => text,
        _ => format!("{text}; tests lost: {}", data.names("lost")),
    }
}

fn iteration_ended(data: Data<'_>) -> String {
    let change = data.field("feature");
    let (n, status) = (data.number("n"), data.text("status"));
    let (feature, state) = (change.text("feature"), change.text("state"));
    let mut text = format!("iteration {n} {status}: {feature} is {state}");
    let commit = data.field("commit").hash("commit");
    if !commit.is_empty() {
        text += &format!(" as of {commit}");
    }
    text
}

fn verification_started(data: Data<'_>) -> String {
    let why = match data.text("purpose") {
        "baseline" => "what fails before the work",
        "final" => "whether all is done",
        _ => "because a person wants to know",
    };
    let commit = data.field("head").hash("commit");
    format!(
        "verification {} of {commit} begins: {why}",
        data.number("number")
    )
}

fn verification_ended(data: Data<'_>) -> String {
    let text = format!("verification {}", data.number("number"));
    if data.flag("stopped") {
        return format!("{text} was stopped");
    }
    if data.flag("green") {
        return format!("{text}: everything is as it has to be");
    }
    let red = remark(
        format!("{text}: not everything is as it has to be"),
        &rejections(data, "problems"),
    );
    match data.names("reopened").as_str() {
        "" => red,
        reopened => format!("{red}; open again: {reopened}"),
    }
}

fn paused(kind: &str, data: Data<'_>) -> String {
    let reason = data.text("reason");
    let text = match (kind, data.text("when")) {
        ("paused", _) => format!("paused ({reason}){}", data.by()),
        (_, "now") => format!("a pause is wanted{} at once ({reason})", data.by()),
        (_, when) => format!(
            "a pause is wanted{} at the end of the {when} ({reason})",
            data.by()
        ),
    };
    remark(text, &data.line("detail"))
}

fn resumed(data: Data<'_>) -> String {
    let grants = data.field("grants");
    let mut more = Vec::new();
    if grants.number("tokens") > 0 {
        more.push(format!("{} more tokens", grants.number("tokens")));
    }
    if grants.number("cost_micro_usd") > 0 {
        let micro = grants.number("cost_micro_usd");
        let cents = micro.saturating_add(5_000) / 10_000;
        more.push(format!("{}.{:02} more USD", cents / 100, cents % 100));
    }
    if grants.number("active_ms") > 0 {
        let seconds = grants.number("active_ms") / 1_000;
        more.push(format!("{seconds} more seconds of work"));
    }
    if grants.number("iterations") > 0 {
        more.push(format!("{} more iterations", grants.number("iterations")));
    }
    if data.flag("retry_stuck") {
        more.push("stuck features are tried again".to_owned());
    }
    remark(format!("goes on{}", data.by()), &more.join(", "))
}

/// The reasons of a rejection, each with its check, or else with its detail.
fn rejections(data: Data<'_>, key: &str) -> String {
    let told = |rejection: &Value| {
        let rejection = Data(rejection);
        let reason = words(rejection.text("reason"));
        match rejection.text("check") {
            "" => in_brackets(reason, &rejection.line("detail")),
            check => format!("{reason} by {check}"),
        }
    };
    let all: Vec<String> = data.list(key).iter().map(told).collect();
    all.join(", ")
}

/// A step as a person says it.
fn step(step: &str) -> String {
    match step.split_once(':') {
        Some(("check", id)) => format!("check {id}"),
        _ => match step {
            "prepare" => "making the workspace ready".to_owned(),
            "health" => "health checks".to_owned(),
            "converse" => "conversation".to_owned(),
            step => step.to_owned(),
        },
    }
}

fn seconds(data: Data<'_>) -> String {
    let ms = data.number("ms");
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// A length of time as a person says it.
fn span(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

fn words(word: &str) -> String {
    word.replace('_', " ")
}

fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

fn remark(text: String, more: &str) -> String {
    if more.is_empty() {
        return text;
    }
    format!("{text}: {more}")
}

fn in_brackets(text: String, more: &str) -> String {
    if more.is_empty() {
        return text;
    }
    format!("{text} ({more})")
}

/// The content of a record.
#[derive(Debug, Clone, Copy)]
struct Data<'r>(&'r Value);

impl<'r> Data<'r> {
    fn field(self, key: &str) -> Self {
        Self(self.0.get(key).unwrap_or(&Value::Null))
    }

    fn text(self, key: &str) -> &'r str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(self, key: &str) -> u64 {
        self.0.get(key).and_then(Value::as_u64).unwrap_or_default()
    }

    fn flag(self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    fn list(self, key: &str) -> &'r [Value] {
        let list = self.0.get(key).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    }

    /// A list of names, on one line.
    fn names(self, key: &str) -> String {
        let names: Vec<&str> = self.list(key).iter().filter_map(Value::as_str).collect();
        cut(&names.join(", "))
    }

    /// The first line of a text that has something in it.
    fn line(self, key: &str) -> String {
        let mut lines = self.text(key).lines().map(str::trim);
        cut(lines.find(|line| !line.is_empty()).unwrap_or_default())
    }

    fn hash(self, key: &str) -> String {
        self.text(key).chars().take(HASH).collect()
    }

    fn by(self) -> String {
        by(self.0.get("by").and_then(Value::as_str))
    }

    /// The place in the workflow where it happened.
    fn place(self) -> String {
        match (self.number("n"), self.number("attempt")) {
            (0, number) => format!("verification {number}"),
            (n, 0) => format!("iteration {n}"),
            (n, attempt) => format!("attempt {n}.{attempt}"),
        }
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SHORT {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(SHORT - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
#[path = "workflow_tests.rs"]
mod tests;
