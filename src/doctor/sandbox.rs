//! `harness doctor --sandbox`: tries what contains commands on this machine, and says what that holds.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use harness_protocol::{Access, Backend};
use serde_json::{Value, json};

use crate::launch::{SandboxSupport, can_write, probe};

/// The backends, the strongest first.
const BACKENDS: [Backend; 3] = [Backend::Namespaces, Backend::Landlock, Backend::None];
const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Full];

/// The folder that the doctor was started in, and whether a command could write there.
struct LookedAt {
    folder: PathBuf,
    can_write: Result<bool, String>,
}

impl LookedAt {
    fn here(found: &SandboxSupport) -> Self {
        let here = std::env::current_dir().and_then(|folder| folder.canonicalize());
        let tried = here.map(|folder| (can_write(found, &folder), folder));
        let (can_write, folder) = tried.unwrap_or_else(|error| (Err(error), PathBuf::from(".")));
        Self {
            folder,
            can_write: can_write.map_err(|error| error.to_string()),
        }
    }

    fn line(&self) -> String {
        let folder = self.folder.display();
        match &self.can_write {
            Ok(true) => format!("commands can write in {folder}"),
            Ok(false) => format!("commands cannot write in {folder}: its permissions refuse it"),
            Err(reason) => format!("no command can be started in {folder}: {reason}"),
        }
    }

    fn to_json(&self) -> Value {
        let Self { folder, can_write } = self;
        json!({
            "path": Path::to_string_lossy(folder),
            "can_write": can_write.as_ref().is_ok_and(|can_write| *can_write),
            "reason": can_write.as_ref().err(),
        })
    }
}

/// Tries every backend, and the folder that this process is in, and prints what was found; the exit code: 1 if nothing
/// contains commands.
///
/// # Errors
/// If it cannot be written.
pub(super) fn run(as_json: bool, out: &mut impl Write) -> io::Result<i32> {
    let found = probe();
    let looked_at = LookedAt::here(&found);
    if as_json {
        let mut told = to_json(&found);
        told["folder"] = looked_at.to_json();
        writeln!(out, "{told}")?;
    } else {
        for line in lines(&found).into_iter().chain([looked_at.line()]) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(i32::from(found.backend == Backend::None))
}

fn lines(found: &SandboxSupport) -> Vec<String> {
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

fn to_json(found: &SandboxSupport) -> Value {
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
        let found = SandboxSupport {
            backend: Backend::Landlock,
            landlock_abi: 7,
            tried: vec![
                (Backend::Namespaces, Err("not permitted".to_owned())),
                (Backend::Landlock, Ok(())),
            ],
            ..SandboxSupport::default()
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

    /// Spec: [CLI-615]
    #[test]
    fn the_folder_is_told_with_what_commands_can_do_there() {
        let looked_at = |can_write| LookedAt {
            folder: PathBuf::from("/w"),
            can_write,
        };
        for (can_write, line, is_open) in [
            (Ok(true), "commands can write in /w", true),
            (
                Ok(false),
                "commands cannot write in /w: its permissions refuse it",
                false,
            ),
            (
                Err("no bash".to_owned()),
                "no command can be started in /w: no bash",
                false,
            ),
        ] {
            let looked_at = looked_at(can_write);
            assert_eq!(looked_at.line(), line);
            let told = looked_at.to_json();
            assert_eq!(
                (&told["path"], &told["can_write"]),
                (&"/w".into(), &is_open.into())
            );
        }
    }
}
