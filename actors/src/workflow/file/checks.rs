//! The commands and checks of a file.

use std::collections::BTreeMap;

use super::duration;
use super::keys::ANY;
use super::names::TakenNames;
use super::paths;
use super::problem::FileProblem;
use super::spot::ValueSpot;
use crate::workflow::manifest::{Check, CheckTime, Exit, Program, ServiceCommand};
use crate::workflow::pattern;

/// The keys that say nothing of a check that a person makes.
const OF_COMMANDS: [&str; 10] = [
    "cwd",
    "env",
    "must_match",
    "must_not_match",
    "keep",
    "files",
    "time_limit",
    "network",
    "exit",
    "hidden",
];

/// Makes the commands and checks of one file.
pub(super) struct Checks<'p> {
    /// The names that checks have.
    taken: TakenNames,
    /// Collects the problems.
    problems: &'p mut Vec<FileProblem>,
}

impl<'p> Checks<'p> {
    /// Of a file whose problems go there.
    pub(super) fn new(problems: &'p mut Vec<FileProblem>) -> Self {
        Self {
            taken: TakenNames::default(),
            problems,
        }
    }

    /// The checks of a list; `named` is the name of one without a name, by its number from 1.
    pub(super) fn all(
        &mut self,
        spots: &[ValueSpot<'_>],
        named: impl Fn(usize) -> String,
    ) -> Vec<Check> {
        let mut checks = Vec::new();
        for (spot, number) in spots.iter().zip(1..) {
            checks.push(self.check(spot, || named(number)));
        }
        checks
    }

    /// The commands of a list.
    pub(super) fn commands(&mut self, spots: &[ValueSpot<'_>]) -> Vec<ServiceCommand> {
        spots.iter().map(|spot| self.command(spot)).collect()
    }

    fn check(&mut self, spot: &ValueSpot<'_>, named: impl Fn() -> String) -> Check {
        let is_manual = spot.flag("manual");
        let id = spot.text("id").unwrap_or_else(named);
        if !id.is_empty() {
            let at = spot.get("id").unwrap_or_else(|| spot.clone());
            self.taken.take(&id, &at, self.problems);
        }
        let exit = match spot.integer("exit") {
            Some(code) => Exit::Code(i32::try_from(code).unwrap_or_default()),
            None if spot.text("exit").as_deref() == Some(ANY) => Exit::Any,
            None => Exit::Code(0),
        };
        let check = Check {
            id,
            command: (!is_manual).then(|| self.command(spot)),
            exit,
            must_match: self.pattern(spot, "must_match"),
            must_not_match: self.pattern(spot, "must_not_match"),
            keep: self.keep(spot),
            when: match spot.text("when").as_deref() {
                Some("final") => CheckTime::Final,
                Some(_) | None => CheckTime::Always,
            },
            red: spot.flag("red") && !is_manual,
            flaky: spot
                .integer("flaky")
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or_default(),
            hidden: spot.flag("hidden"),
            files: self.files(spot),
        };
        if is_manual {
            self.tell_not_for_persons(spot, &check);
        } else {
            self.tell_idle(spot, &check);
        }
        check
    }

    pub(super) fn command(&mut self, spot: &ValueSpot<'_>) -> ServiceCommand {
        let env = spot.section("env");
        let variables = env.entries().into_iter().map(|(name, value)| {
            self.variable(name, &value);
            (
                name.to_owned(),
                value.as_text().unwrap_or_default().to_owned(),
            )
        });
        let env: BTreeMap<String, String> = variables.collect();
        let cwd = spot.get("cwd");
        if let Some(cwd) = &cwd {
            self.require(cwd, paths::check);
        }
        let time_limit = spot
            .text("time_limit")
            .and_then(|said| duration::seconds(&said));
        ServiceCommand {
            program: self.program(spot),
            cwd: cwd.and_then(|cwd| Some(cwd.as_text()?.to_owned())),
            env,
            time_limit_s: time_limit.unwrap_or_default(),
            network: spot.flag("network"),
        }
    }

    fn program(&mut self, spot: &ValueSpot<'_>) -> Program {
        for word in spot.items("cmd").into_iter().chain(spot.get("shell")) {
            self.require(&word, |word| {
                let message = "no command has the character U+0000; take it out";
                if word.contains('\0') {
                    Err(message.to_owned())
                } else {
                    Ok(())
                }
            });
        }
        match spot.text("shell") {
            Some(line) => Program::Shell(line),
            None => Program::Cmd(spot.texts("cmd")),
        }
    }

    /// Tells a variable that no program can have.
    fn variable(&mut self, name: &str, value: &ValueSpot<'_>) {
        let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_plain = |c: char| is_first(c) || c.is_ascii_digit();
        if !name.starts_with(is_first) || !name.chars().all(is_plain) {
            let message = "is no name of a variable; use letters, digits and _";
            self.problems
                .push(value.problem(format!("{name:?} {message}")));
        }
        if value.as_text().is_some_and(|text| text.contains('\0')) {
            let message = "no variable has the character U+0000; take it out";
            self.problems.push(value.problem(message));
        }
    }

    fn pattern(&mut self, spot: &ValueSpot<'_>, key: &str) -> Option<String> {
        let spot = spot.get(key)?;
        let text = spot.as_text()?;
        if let Err(reason) = pattern::compile(text) {
            self.problems
                .push(spot.problem(format!("{reason}; correct it")));
        }
        Some(text.to_owned())
    }

    fn keep(&mut self, spot: &ValueSpot<'_>) -> Option<String> {
        let text = self.pattern(spot, "keep")?;
        if let Ok(pattern) = pattern::compile(&text)
            && pattern.captures_len() != 2
        {
            let groups = pattern.captures_len() - 1;
            let message = format!(
                "{text:?} has {groups} groups; put the names of tests into exactly one, and write other \
                 groups like (?:…)"
            );
            self.problems.push(spot.section("keep").problem(message));
        }
        Some(text)
    }

    fn files(&mut self, spot: &ValueSpot<'_>) -> BTreeMap<String, String> {
        let files = spot.section("files");
        let mut found = BTreeMap::new();
        for (path, text) in files.entries() {
            if let Err(message) = paths::check_file(path) {
                self.problems.push(text.problem(message));
            }
            found.insert(
                path.to_owned(),
                text.as_text().unwrap_or_default().to_owned(),
            );
        }
        if !found.is_empty() && spot.is_false("hidden") {
            let message = "only a hidden check has files; write hidden = true";
            self.problems.push(files.problem(message));
        }
        found
    }

    /// Tells what a check that a person makes cannot have.
    fn tell_not_for_persons(&mut self, spot: &ValueSpot<'_>, check: &Check) {
        let is_plain = |key: &str| match key {
            "time_limit" => spot.text(key).as_deref() == Some("5m"),
            "network" => !spot.flag(key),
            "hidden" => !check.hidden,
            "exit" => check.exit == Exit::Code(0),
            _ => spot.get(key).is_none(),
        };
        for key in OF_COMMANDS.into_iter().filter(|key| !is_plain(key)) {
            let message = format!("a person makes this check, so {key} says nothing; leave it out");
            self.problems.push(spot.section(key).problem(message));
        }
    }

    /// Tells a check that nothing could fail.
    fn tell_idle(&mut self, spot: &ValueSpot<'_>, check: &Check) {
        let patterns = ["must_match", "must_not_match", "keep"];
        let judges = patterns.iter().any(|key| spot.get(key).is_some());
        if check.exit == Exit::Any && !judges {
            let message =
                "\"any\" lets everything pass; give must_match, must_not_match or keep too";
            self.problems.push(spot.section("exit").problem(message));
        }
    }

    fn require(&mut self, spot: &ValueSpot<'_>, check: impl Fn(&str) -> Result<(), String>) {
        let told = spot.as_text().map(check);
        if let Some(Err(message)) = told {
            self.problems.push(spot.problem(message));
        }
    }
}
