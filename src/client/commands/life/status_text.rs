//! `harness status` as a person reads it.

use std::path::Path;

use harness_protocol::{ServiceInfo, UpstreamKind};

use crate::client::api::discovery::VERSION;
use crate::client::commands::life::look::{FoundService, ServiceLook};
use crate::difference::SettingDifference;
use crate::logging::log_file;
use crate::state_dir::lock;
use crate::state_dir::lock::LOG_FILE;

/// The facts to tell.
pub(crate) struct StatusFacts<'a> {
    pub(crate) look: &'a ServiceLook,
    /// The state folder.
    pub(crate) home: &'a Path,
    /// Where the service differs from this shell.
    pub(crate) differing: &'a [SettingDifference],
    /// The number of approvals that wait. `None` if it is not known.
    pub(crate) approvals: Option<usize>,
    /// The time, in Unix seconds.
    pub(crate) now: u64,
}

/// The lines, one a fact.
pub(crate) fn text(facts: &StatusFacts<'_>) -> Vec<String> {
    let StatusFacts { look, home, .. } = facts;
    let mut lines = Vec::new();
    let mut say = |name: &str, value: String| lines.push(format!("{name:<9} {value}"));
    match (&look.found, look.found.info()) {
        (FoundService::Nothing, _) => {
            say("service", "none runs; `harness` starts one".to_owned());
            if let Some(file) = &look.file {
                let pid = file.pid;
                say(
                    "left",
                    format!("{} of process {pid}, which has ended", lock::DISCOVERY_FILE),
                );
            }
        }
        (found, Some(info)) => {
            say("service", service(found, info, facts.now));
            for (name, value) in of_info(info) {
                say(name, value);
            }
            match facts.approvals {
                None | Some(0) => {}
                Some(1) => say("asks", "1 approval waits: harness approvals".to_owned()),
                Some(count) => say("asks", format!("{count} approvals wait: harness approvals")),
            }
        }
        (found, None) => {
            say("service", found.reason().unwrap_or_default());
            if let Some(file) = &look.file {
                say("process", file.pid.to_string());
                say("address", format!("http://{}", file.address));
            }
        }
    }
    let has_log = look.found.info().is_some_and(|info| info.log.is_some());
    let log = log_file::path(home, LOG_FILE);
    if !has_log && log.exists() {
        say("log", log.display().to_string());
    }
    say("state", home.display().to_string());
    for difference in facts.differing {
        say("differs", difference.line());
    }
    lines
}

fn service(found: &FoundService, info: &ServiceInfo, now: u64) -> String {
    match found.reason() {
        Some(reason) => reason,
        None => format!("runs for {}", age(now.saturating_sub(info.started_at))),
    }
}

fn of_info(info: &ServiceInfo) -> Vec<(&'static str, String)> {
    let model = &info.model;
    let answers = match (info.upstream.kind, &info.upstream.host) {
        (UpstreamKind::Demo, _) => "the demo: a few rules, no model".to_owned(),
        (_, Some(host)) => format!("{model} at {host}"),
        (_, None) => model.clone(),
    };
    let version = match info.version.as_str() {
        VERSION => VERSION.to_owned(),
        theirs => format!("{theirs}; this is {VERSION}: `harness restart` starts it"),
    };
    let sandbox = match info.sandbox.as_str() {
        "none" => "none: commands do what you may; harness doctor --sandbox".to_owned(),
        other => other.to_owned(),
    };
    let way = if info.detached {
        "in the background"
    } else {
        "in the foreground"
    };
    let log = info.log.clone();
    vec![
        ("folder", info.workspace.clone()),
        ("answers", answers),
        ("version", version),
        ("process", format!("{}, {way}", info.pid)),
        ("address", format!("http://{}", info.address)),
        ("clients", info.clients.to_string()),
        ("runs", info.runs.to_string()),
        ("sandbox", sandbox),
        (
            "log",
            log.unwrap_or_else(|| "its standard error".to_owned()),
        ),
    ]
}

/// A length of time in its two largest units.
fn age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (1, hours, _) => format!("1 day {} h", hours % 24),
        (days, hours, _) => format!("{days} days {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::SideValue;

    /// Spec: [CLI-92]
    #[test]
    fn an_age_is_told_in_two_units() {
        for (seconds, said) in [
            (0, "0 s"),
            (59, "59 s"),
            (3599, "59 min"),
            (7500, "2 h 5 min"),
            (90_000, "1 day 1 h"),
            (266_400, "3 days 2 h"),
        ] {
            assert_eq!(age(seconds), said);
        }
    }

    /// Spec: [CLI-92] [CLI-93] [CLI-593]
    #[test]
    fn all_that_is_known_is_a_line_each() {
        let info = serde_json::json!({
            "version": "0.1.9", "protocol": {"min": 1, "max": 9}, "epoch": "e", "pid": 7,
            "address": "127.0.0.1:8421", "home": "/h", "workspace": "/a",
            "upstream": {"kind": "api", "host": "api.example"}, "model": "m", "sandbox": "none",
            "started_at": 100, "clients": 2, "runs": 1, "log": "/h/logs/serve.log",
        });
        let info: ServiceInfo = serde_json::from_value(info).unwrap();
        let look = ServiceLook {
            file: None,
            found: FoundService::Other(Box::new(info)),
        };
        let said = |value: &str| SideValue {
            value: Some(value.to_owned()),
            source: "default".to_owned(),
        };
        let lines = text(&StatusFacts {
            look: &look,
            home: Path::new("/h"),
            differing: &[SettingDifference {
                key: "model".to_owned(),
                service: said("m"),
                shell: said("n"),
            }],
            approvals: Some(2),
            now: 160,
        });
        let reason = format!(
            "service   the running service is 0.1.9 and this is {VERSION}, and they do not understand each other: `harness restart` starts this version in its place"
        );
        let version = format!("version   0.1.9; this is {VERSION}: `harness restart` starts it");
        assert_eq!(
            lines,
            [
                reason.as_str(),
                "folder    /a",
                "answers   m at api.example",
                &version,
                "process   7, in the foreground",
                "address   http://127.0.0.1:8421",
                "clients   2",
                "runs      1",
                "sandbox   none: commands do what you may; harness doctor --sandbox",
                "log       /h/logs/serve.log",
                "asks      2 approvals wait: harness approvals",
                "state     /h",
                "differs   model: m in the running service, n in this shell",
            ]
        );
    }
}
