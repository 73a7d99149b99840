//! What the terminal client is told of the service that it is attached to.

use std::path::Path;

use harness_protocol::{ServiceInfo, UpstreamKind};
use harness_tui::{Difference, Service};

use crate::client::remarks::Remark;

/// The service, in the words of the client, and where it is not what this shell says.
pub(super) fn service(info: &ServiceInfo, remarks: Vec<Remark>) -> Service {
    let home = std::env::var("HOME").ok();
    let difference = |Remark { about, line }| Difference { about, line };
    Service {
        epoch: info.epoch.clone(),
        version: info.version.clone(),
        folder: below(home.as_deref(), &info.workspace),
        is_demo: info.upstream.kind == UpstreamKind::Demo,
        host: info.upstream.host.clone(),
        model: info.model.clone(),
        pid: info.pid,
        address: info.address.clone(),
        sandbox: info.sandbox.clone(),
        state: below(home.as_deref(), &info.home),
        log: info.log.as_deref().map(|log| below(home.as_deref(), log)),
        differences: remarks.into_iter().map(difference).collect(),
    }
}

/// A path as people write it: with `~` for the home folder.
fn below(home: Option<&str>, path: &str) -> String {
    let home = home.filter(|home| Path::new(home).parent().is_some());
    let rest = home.and_then(|home| Path::new(path).strip_prefix(home).ok());
    match rest {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-82]
    #[test]
    fn a_path_below_the_home_folder_begins_with_a_tilde() {
        for (home, path, shown) in [
            (Some("/home/me"), "/home/me/a/b", "~/a/b"),
            (Some("/home/me/"), "/home/me", "~"),
            (Some("/home/me"), "/home/men/a", "/home/men/a"),
            (Some("/"), "/a", "/a"),
            (None, "/home/me", "/home/me"),
        ] {
            assert_eq!(below(home, path), shown);
        }
    }
}
