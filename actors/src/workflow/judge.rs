//! The judgement on one check: what its command did, held against what the file wants.

use regex::Regex;

use super::facts::{CommandEnd, CommandRun, TestNames};
use super::kept;
use super::manifest::{Check, Exit};
use super::state::CheckVerdict;

/// The result of one run of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: CheckVerdict,
    /// The reason of the verdict, in a sentence.
    pub why: String,
    /// The names of passing tests that it showed, with `keep`.
    pub kept: TestNames,
    /// Those of the accepted head that it did not show.
    pub lost: TestNames,
}

/// The problem of a check that came out so on the base, before any work: one of every candidate has to be
/// good there, and one of a feature red unless it need not.
#[must_use]
pub fn wrong_on_base(
    check: &Check,
    is_global: bool,
    verdict: CheckVerdict,
    why: &str,
) -> Option<String> {
    if verdict == CheckVerdict::NotStarted {
        return Some(why.to_owned());
    }
    if is_global && !verdict.is_good() {
        let what = "let it have any exit with `keep`, or run at the end";
        return Some(format!("fails on the base ({why}); {what}"));
    }
    let is_green = !is_global && check.red && verdict.is_good();
    let what = "green on the base, so it cannot show that the feature was done; sharpen it or set `red = false`";
    is_green.then(|| what.to_owned())
}

/// Judges one run of a check. `before` are the names that the accepted head showed.
#[must_use]
pub fn judge(check: &Check, run: &CommandRun, before: &TestNames) -> Judgement {
    let (mut verdict, mut why) = verdict(check, run);
    let mut now = TestNames::new();
    if let Some(keep) = &check.keep {
        match kept::names(keep, &run.output) {
            Ok(names) => now = names,
            Err(error) => (verdict, why) = (CheckVerdict::NotStarted, error),
        }
    }
    let lost = kept::lost(before, &now);
    Judgement {
        verdict,
        why,
        kept: now,
        lost,
    }
}

fn verdict(check: &Check, run: &CommandRun) -> (CheckVerdict, String) {
    let code = match &run.end {
        CommandEnd::Exited(code) => *code,
        CommandEnd::Signalled(signal) => {
            return (CheckVerdict::Failed, format!("ended by signal {signal}"));
        }
        CommandEnd::TimedOut => {
            let limit = check
                .command
                .as_ref()
                .map_or(0, |command| command.time_limit_s);
            return (
                CheckVerdict::TimedOut,
                format!("took longer than {limit} s"),
            );
        }
        CommandEnd::NotStarted(why) => {
            return (
                CheckVerdict::NotStarted,
                format!("could not be started: {why}"),
            );
        }
    };
    if run.tree_changed {
        let why = "changed tracked files, so it shows nothing of the tree";
        return (CheckVerdict::Vacuous, why.to_owned());
    }
    match check.exit {
        Exit::Code(wanted) if wanted != code && check.hook().is_some() => {
            let why = run.output.lines().find(|line| !line.trim().is_empty());
            let why = why.unwrap_or("it was not accepted, and no reason was given");
            return (CheckVerdict::Failed, why.to_owned());
        }
        Exit::Code(wanted) if wanted != code => {
            let why = format!("ended with code {code} instead of {wanted}");
            return (CheckVerdict::Failed, why);
        }
        Exit::Code(_) | Exit::Any => {}
    }
    match has_line(check.must_not_match.as_deref(), &run.output) {
        Err(error) => return (CheckVerdict::NotStarted, error),
        Ok(Some(line)) => {
            let why = format!("printed what `must_not_match` forbids: {line}");
            return (CheckVerdict::Failed, why);
        }
        Ok(None) => {}
    }
    match has_line(check.must_match.as_deref(), &run.output) {
        Err(error) => (CheckVerdict::NotStarted, error),
        Ok(None) if check.must_match.is_some() => {
            let why = format!("ended with code {code}, but no line matches `must_match`");
            (CheckVerdict::Vacuous, why)
        }
        Ok(_) => (CheckVerdict::Passed, format!("ended with code {code}")),
    }
}

/// The first line that matches the expression, if there is one.
fn has_line(expression: Option<&str>, output: &str) -> Result<Option<String>, String> {
    let Some(expression) = expression else {
        return Ok(None);
    };
    let regex = Regex::new(expression)
        .map_err(|error| format!("an expression of the check cannot be used: {error}"))?;
    let line = output.lines().find(|line| regex.is_match(line));
    Ok(line.map(str::to_owned))
}

#[cfg(test)]
mod tests;
