//! Detects that the program runs in a container.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The files that mark a container of Podman and Docker.
const MARKS: [&str; 2] = ["run/.containerenv", ".dockerenv"];
/// The variables that mark other containers: systemd-nspawn, LXC and Podman; Kubernetes.
const VARIABLES: [&str; 2] = ["container", "KUBERNETES_SERVICE_HOST"];

/// True if a process with that environment runs in a container whose root folder is `root`.
pub(super) fn is_container(root: &Path, environment: &BTreeMap<OsString, OsString>) -> bool {
    let is_set = |name: &&str| {
        let value = environment.get(OsStr::new(name));
        value.is_some_and(|value| !value.is_empty())
    };
    MARKS.iter().any(|mark| root.join(mark).exists()) || VARIABLES.iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-53]
    #[test]
    fn a_container_is_known_by_its_marks() {
        let root = tempfile::tempdir().unwrap();
        let is = |environment: &[(&str, &str)]| {
            let environment = environment.iter();
            let environment = environment.map(|(name, value)| (name.into(), value.into()));
            is_container(root.path(), &environment.collect())
        };
        assert!(!is(&[("HOME", "/root"), ("container", "")]));
        assert!(is(&[("container", "podman")]));
        assert!(is(&[("KUBERNETES_SERVICE_HOST", "10.0.0.1")]));
        std::fs::write(root.path().join(".dockerenv"), "").unwrap();
        assert!(is(&[]));
        std::fs::remove_file(root.path().join(".dockerenv")).unwrap();
        std::fs::create_dir(root.path().join("run")).unwrap();
        std::fs::write(root.path().join("run/.containerenv"), "").unwrap();
        assert!(is(&[]));
    }
}
