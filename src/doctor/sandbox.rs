//! `harness doctor --sandbox`: tries what contains commands on this machine, and says what that holds.

use std::io::{self, Write};

use harness_protocol::{Access, Backend};
use serde_json::{Value, json};

use crate::launch::{Found, probe};

/// The backends, the strongest first.
const BACKENDS: [Backend; 3] = [Backend::Namespaces, Backend::Landlock, Backend::None];
const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Full];

/// Tries every backend and prints what was found; the exit code: 1 if nothing contains commands.
///
/// # Errors
/// If it cannot be written.
pub(super) fn run(as_json: bool, out: &mut impl Write) -> io::Result<i32> {
    let found = probe();
    if as_json {
        writeln!(out, "{}", to_json(&found))?;
    } else {
        for line in lines(&found) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(i32::from(found.backend == Backend::None))
}

fn lines(found: &Found) -> Vec<String> {
    let mut lines = Vec::new();
    for (backend, tried) in &found.tried {
        let how = match tried {
            Ok(()) if *backend == Backend::Landlock => {
                format!("works, version {}", found.landlock_abi)
            }
            Ok(()) => "works".to_owned(),
            Err(reason) => format!("does not work: {reason}"),
        };
        lines.push(format!("{:<11} {how}", backend.name()));
    }
    lines.push(format!("{:<11} always there", Backend::None.name()));
    lines.push(format!(
        "commands are contained by: {}",
        found.backend.name()
    ));
    for access in ACCESSES {
        let holds = found.contained(found.backend, access, false);
        let asked = match (access, holds) {
            (Access::Read, true) => "runs unasked",
            (Access::Write, true) => "runs unasked in the mode sandbox",
            (Access::Read | Access::Write | Access::Full | Access::Unknown, _) => "asks",
        };
        lines.push(format!("{} without network: {asked}", access.name()));
        let gaps = found.gaps(found.backend, access, false);
        lines.extend(gaps.into_iter().map(|gap| format!("  not held: {gap}")));
    }
    lines
}

fn to_json(found: &Found) -> Value {
    let tried = found.tried.iter().map(|(backend, tried)| {
        json!({
            "backend": backend,
            "works": tried.is_ok(),
            "reason": tried.as_ref().err(),
        })
    });
    let of_backend = |backend: Backend| {
        let of_access = ACCESSES.map(|access| {
            json!({
                "access": access,
                "contained": found.contained(backend, access, false),
                "gaps": found.gaps(backend, access, false),
            })
        });
        json!({"backend": backend, "accesses": of_access})
    };
    json!({
        "backend": found.backend,
        "landlock": found.landlock_abi,
        "root": found.is_root,
        "tried": tried.collect::<Vec<_>>(),
        "holds": BACKENDS.map(of_backend),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-129]
    #[test]
    fn what_contains_commands_is_told_with_what_it_does_not_hold() {
        let found = Found {
            backend: Backend::Landlock,
            landlock_abi: 7,
            tried: vec![
                (Backend::Namespaces, Err("not permitted".to_owned())),
                (Backend::Landlock, Ok(())),
            ],
            ..Found::default()
        };
        let told = lines(&found);
        for line in [
            "namespaces  does not work: not permitted",
            "landlock    works, version 7",
            "commands are contained by: landlock",
            "read without network: runs unasked",
            "write without network: asks",
        ] {
            assert!(told.iter().any(|told| told == line), "{line}: {told:#?}");
        }
        let gaps = told.iter().filter(|line| line.starts_with("  not held: "));
        assert!(gaps.count() > 5);
        let json = to_json(&found);
        assert_eq!(json["tried"][0]["reason"], "not permitted");
        assert_eq!(json["holds"][1]["accesses"][0]["contained"], true);
        assert_eq!(json["holds"][2]["accesses"][0]["contained"], false);
    }
}
