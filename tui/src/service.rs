//! The service that the client is attached to, and its description for the operator.

use harness_protocol::ApprovalMode;

use crate::text::one_line;

/// This program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The service that the client is attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Names this life of the service.
    pub epoch: String,
    /// Its release.
    pub version: String,
    /// The folder of conversations that were made without one, as a person writes it.
    pub folder: String,
    /// True if rules answer instead of a model.
    pub is_demo: bool,
    /// The host of the API.
    pub host: Option<String>,
    /// The model of a conversation that sets none.
    pub model: String,
    /// The mode of a conversation that sets none.
    pub mode: Option<ApprovalMode>,
    /// Its process.
    pub pid: u32,
    /// The address that it listens on.
    pub address: String,
    /// The containment of its tools.
    pub sandbox: String,
    /// The state folder, as a person writes it.
    pub state: String,
    /// Its log, as a person writes it.
    pub log: Option<String>,
    /// Differences from the environment of the shell in which the client was started.
    pub differences: Vec<ServiceDifference>,
}

/// A difference of the service from the settings of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDifference {
    /// Its subject, in a word.
    pub about: String,
    /// One line, with the way out.
    pub line: String,
}

impl Service {
    /// The operator who answers.
    pub(crate) fn answers(&self) -> String {
        match (&self.host, self.is_demo) {
            (_, true) => "the demo: a few rules, no model".to_owned(),
            (Some(host), false) => format!("{} at {}", one_line(&self.model), one_line(host)),
            (None, false) => one_line(&self.model),
        }
    }

    /// Its release beside this program's, if they differ, and the way out.
    pub(crate) fn other_version(&self) -> Option<String> {
        let theirs = one_line(&self.version);
        (self.version != VERSION)
            .then(|| format!("service {theirs}, this {VERSION} · harness restart"))
    }

    /// Facts for a newcomer, a name and a value each; `folder` is the working folder.
    pub(crate) fn essentials(&self, folder: String) -> Vec<(&'static str, String)> {
        let version = self.other_version();
        let mut facts = vec![
            ("folder", folder),
            ("model", self.answers()),
            ("version", version.unwrap_or_else(|| VERSION.to_owned())),
            (
                "service",
                format!(
                    "process {} at http://{}, `harness stop` ends it",
                    self.pid,
                    one_line(&self.address)
                ),
            ),
        ];
        let differences = self.differences.iter();
        facts.extend(differences.map(|it| ("differs", one_line(&it.line))));
        facts
    }

    /// The same on one line, without what differs.
    pub(crate) fn in_one_line(&self) -> String {
        let facts = self.essentials(one_line(&self.folder)).into_iter();
        let facts = facts.filter(|(name, _)| *name != "differs");
        let facts: Vec<String> = facts
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        facts.join(" · ")
    }

    /// All that is known of it, and the folder of the conversation that is shown.
    pub(crate) fn facts(&self, own_folder: Option<String>) -> Vec<(&'static str, String)> {
        let folder = one_line(&self.folder);
        let folder = match own_folder {
            Some(own) if own != folder => format!("{own}, the service's is {folder}"),
            _ => folder,
        };
        let mut facts = self.essentials(folder);
        facts.push(("sandbox", one_line(&self.sandbox)));
        facts.push(("state", one_line(&self.state)));
        let log = self.log.as_deref();
        facts.push(("log", one_line(log.unwrap_or("its standard error"))));
        facts
    }

    /// The difference from the service before it, if there is one.
    pub(crate) fn changes(&self, before: &Self) -> Option<String> {
        let mut changes = Vec::new();
        let mut compare = |now: String, then: &str, name: &str| {
            if now != then {
                changes.push(format!("{name}{now} (was {then})"));
            }
        };
        compare(one_line(&self.folder), &one_line(&before.folder), "folder ");
        compare(self.answers(), &before.answers(), "");
        let version = one_line(&before.version);
        compare(one_line(&self.version), &version, "version ");
        let changes = changes.join(", ");
        (!changes.is_empty()).then(|| format!("the service was restarted: {changes}"))
    }

    /// A remark on differences from the shell's environment that were not known before, in one line of at most so many
    /// columns.
    pub(crate) fn remark(&self, before: Option<&Self>, columns: usize) -> Option<String> {
        let is_new =
            |it: &&ServiceDifference| before.is_none_or(|then| !then.differences.contains(it));
        let new: Vec<&ServiceDifference> = self.differences.iter().filter(is_new).collect();
        match new[..] {
            [] => None,
            [one] if crate::text::width(&one_line(&one.line)) <= columns => {
                Some(one_line(&one.line))
            }
            _ => {
                let about: Vec<String> = new.iter().map(|it| one_line(&it.about)).collect();
                let about = about.join(", ");
                Some(format!("not as this shell says: {about} · /status"))
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A service as most are.
    pub(crate) fn service() -> Service {
        Service {
            epoch: "e1".to_owned(),
            version: VERSION.to_owned(),
            folder: "~/src/project".to_owned(),
            is_demo: false,
            host: Some("api.anthropic.com".to_owned()),
            model: "claude-x".to_owned(),
            mode: None,
            pid: 4242,
            address: "127.0.0.1:8421".to_owned(),
            sandbox: "none".to_owned(),
            state: "~/.harness".to_owned(),
            log: Some("~/.harness/logs/serve.log".to_owned()),
            differences: Vec::new(),
        }
    }

    /// Something that differs.
    pub(crate) fn difference(about: &str, line: &str) -> ServiceDifference {
        ServiceDifference {
            about: about.to_owned(),
            line: line.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{difference, service};
    use super::*;

    /// Spec: [TUI-84]
    #[test]
    fn what_is_another_after_a_restart_is_told_and_nothing_else() {
        let before = service();
        let mut after = service();
        after.epoch = "e2".to_owned();
        after.pid = 1;
        assert_eq!(after.changes(&before), None);
        after.folder = "~/b".to_owned();
        after.version = "9.0.0".to_owned();
        after.is_demo = true;
        let said = format!(
            "the service was restarted: folder ~/b (was ~/src/project), the demo: a few rules, no model (was claude-x at api.anthropic.com), version 9.0.0 (was {VERSION})"
        );
        assert_eq!(after.changes(&before), Some(said));
    }

    /// Spec: [TUI-85]
    #[test]
    fn differences_are_told_once_and_in_one_line() {
        let mut one = service();
        assert_eq!(one.remark(None, 80), None);
        one.differences = vec![difference("model", "model: a, not b")];
        assert_eq!(one.remark(None, 80).unwrap(), "model: a, not b");
        assert_eq!(one.remark(Some(&one), 80), None);
        let said = "not as this shell says: model · /status";
        assert_eq!(one.remark(None, 10).unwrap(), said);
        let mut two = one.clone();
        two.differences.push(difference("folder", "x"));
        let said = "not as this shell says: model, folder · /status";
        assert_eq!(two.remark(None, 80).unwrap(), said);
        assert_eq!(two.remark(Some(&one), 80).unwrap(), "x");
    }
}
