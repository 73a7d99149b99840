//! Every command that a workflow would run, for the person who is to approve it.

use harness_actors::workflow::file::duration;
use harness_actors::workflow::manifest::{Check, Manifest, ServiceCommand};

use super::summary::line;
use crate::visible;

/// The commands, one a line, in the order in which the file has them.
pub(crate) fn lines(manifest: &Manifest) -> Vec<String> {
    let prepare = manifest.workspace.prepare.iter();
    let mut lines: Vec<String> = prepare
        .map(|command| command_lines("prepare", command, &[]))
        .collect();
    lines.extend(
        manifest
            .health
            .iter()
            .map(|check| check_line("health", check)),
    );
    lines.extend(
        manifest
            .checks
            .iter()
            .map(|check| check_line("check", check)),
    );
    for feature in &manifest.features {
        let whose = format!("feature {}", feature.id);
        lines.extend(feature.checks.iter().map(|check| check_line(&whose, check)));
    }
    if let Some(command) = &manifest.notify {
        lines.push(command_lines(
            "notify of a completion, a pause and a gate",
            command,
            &[],
        ));
    }
    lines
}

fn check_line(whose: &str, check: &Check) -> String {
    let what = format!("{whose}: {}", check.id);
    let Some(command) = &check.command else {
        return visible::line(&format!("{what}: a person decides"));
    };
    let mut remarks = Vec::new();
    if check.hidden {
        remarks.push("hidden from the model".to_owned());
    }
    let files: Vec<&str> = check.files.keys().map(String::as_str).collect();
    if !files.is_empty() {
        remarks.push(format!("with its own {}", files.join(", ")));
    }
    command_lines(&what, command, &remarks)
}

fn command_lines(what: &str, command: &ServiceCommand, more: &[String]) -> String {
    let mut remarks = Vec::new();
    if let Some(folder) = &command.cwd {
        remarks.push(format!("in {folder}"));
    }
    for (name, value) in &command.env {
        remarks.push(format!("{name}={value}"));
    }
    remarks.push(format!("at most {}", duration::text(command.time_limit_s)));
    if command.network {
        remarks.push("NETWORK".to_owned());
    }
    remarks.extend_from_slice(more);
    let told = format!("{what}: {} ({})", line(command), remarks.join(", "));
    visible::line(&told)
}

#[cfg(test)]
mod tests {
    use harness_actors::workflow::file::{FeatureList, FileFormat, read};

    use super::*;

    /// Spec: [FLOW-90]
    #[test]
    fn every_command_of_a_file_is_told_whole() {
        let example = include_str!("../../specs/examples/workflow.toml");
        let manifest = read(example.as_bytes(), FileFormat::Toml, FeatureList::Needed).unwrap();
        let lines = lines(&manifest);
        let checks = manifest.features.iter().map(|feature| feature.checks.len());
        let all = manifest.workspace.prepare.len()
            + manifest.health.len()
            + manifest.checks.len()
            + checks.sum::<usize>();
        assert_eq!(lines.len(), all, "{lines:#?}");
        for expected in [
            "prepare: npm ci (at most 10m, NETWORK)",
            "health: types: npx tsc --noEmit (at most 5m)",
            "check: suite: npx node --test --test-reporter=tap (TZ=UTC, at most 4m30s)",
            "feature exceptions: looks-right: a person decides",
        ] {
            let is_told = lines.iter().any(|line| line == expected);
            assert!(is_told, "{expected} is not in {lines:#?}");
        }
        let hidden = lines.iter().find(|line| line.contains("hidden:"));
        let hidden =
            hidden.or_else(|| lines.iter().find(|line| line.contains("exceptions-hidden")));
        assert!(
            hidden
                .unwrap()
                .contains("hidden from the model, with its own test/hidden/exceptions.test.js")
        );
    }
}
