//! Files and folders that are closed to tools: the service's own state, and what operators keep secret.
//!
//! A closed place is known by the device and inode of the opened file and of the folders above it;
//! names make no difference.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::ToolError;

/// Tells a file or folder from all others while it is there.
type DeviceInode = (u64, u64);

/// Refuses an opened file that is closed, or in a closed folder. `path` is the place at which it was found. Blocks.
///
/// # Errors
/// The refusal.
pub fn check_opened(file: &File, path: &Path, closed: &[PathBuf]) -> Result<(), ToolError> {
    if closed.is_empty() {
        return Ok(());
    }
    let closed = identities(closed);
    let own = file.metadata().map(|found| identity(&found));
    if own.is_ok_and(|own| closed.contains(&own)) {
        return Err(refusal());
    }
    check(&opened_path(file, path), &closed)
}

/// Refuses a path that leads to what is closed. Of what is not there, the folders above it count. Blocks.
///
/// # Errors
/// The refusal.
pub fn check_path(path: &Path, closed: &[PathBuf]) -> Result<(), ToolError> {
    if closed.is_empty() {
        return Ok(());
    }
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    check(&real, &identities(closed))
}

/// The closed places below a folder, without links.
pub(super) fn below(folder: &Path, closed: &[PathBuf]) -> Vec<PathBuf> {
    let Ok(folder) = fs::canonicalize(folder) else {
        return Vec::new();
    };
    let real = closed.iter().filter_map(|path| fs::canonicalize(path).ok());
    let mut below: Vec<PathBuf> = real.filter(|path| path.starts_with(&folder)).collect();
    below.sort();
    // What lies below another one is left out with it.
    below.dedup_by(|path, above| path.starts_with(above));
    below
}

fn check(real: &Path, closed: &[DeviceInode]) -> Result<(), ToolError> {
    let mut above = real.ancestors();
    if above.any(|path| identity_at(path).is_some_and(|found| closed.contains(&found))) {
        return Err(refusal());
    }
    Ok(())
}

fn refusal() -> ToolError {
    "permission denied: it is closed to tools".into()
}

/// The devices and inodes of what is closed now. Blocks.
pub(super) fn identities(closed: &[PathBuf]) -> Vec<(u64, u64)> {
    closed.iter().filter_map(|path| identity_at(path)).collect()
}

fn identity_at(path: &Path) -> Option<DeviceInode> {
    fs::metadata(path).ok().map(|found| identity(&found))
}

fn identity(found: &Metadata) -> DeviceInode {
    (found.dev(), found.ino())
}

/// The path that the system has for an opened file, and not the one by which it was asked for.
#[cfg(target_os = "linux")]
fn opened_path(file: &File, path: &Path) -> PathBuf {
    use std::os::fd::AsRawFd as _;

    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::read_link(link).unwrap_or_else(|_| path.to_owned())
}

#[cfg(not(target_os = "linux"))]
fn opened_path(_: &File, path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::super::testing::{Folder, object};
    use super::super::{Cancellation, Edit, Grep, ListDir, Read, Tool, ToolContext, Write};

    /// Spec: [TOOL-76]
    #[tokio::test]
    async fn f14_what_is_closed_is_closed_to_all_tools_by_every_name() {
        let folder = Folder::new();
        for name in ["state/logs", "work", "keys"] {
            std::fs::create_dir_all(folder.at(name)).unwrap();
        }
        folder.file("state/token", "secret\n");
        folder.file("state/logs/log", "secret\n");
        folder.file("keys/one", "secret\n");
        folder.file("work/open", "secret\n");
        symlink("../state", folder.at("work/link")).unwrap();
        symlink("../state/token", folder.at("work/to_file")).unwrap();
        std::fs::hard_link(folder.at("state/token"), folder.at("work/second")).unwrap();
        let closed = ["state", "state/token", "keys/one", "none"].map(|name| folder.at(name));
        let mut context = ToolContext::new(Cancellation::new());
        context.folder = folder.at("work").into();
        context.closed = closed.into();
        let run = async |tool: &dyn Tool, input: serde_json::Value| {
            tool.execute_in(object(input), context.clone()).await
        };
        let files = [
            "../state/token",
            "../state/logs/log",
            "link/token",
            "link/logs/../token",
            "to_file",
            "second",
            "../work/../keys/one",
        ];
        for path in files {
            for result in [
                run(&Read, json!({ "path": path })).await,
                run(&Grep, json!({"path": path, "pattern": "s"})).await,
                run(
                    &Edit,
                    json!({"path": path, "old_string": "secret", "new_string": "x"}),
                )
                .await,
                run(&Write, json!({"path": path, "content": "x"})).await,
            ] {
                let refused = result.unwrap_err().to_string();
                assert!(refused.contains("closed to tools"), "{path}: {refused}");
            }
        }
        for path in ["../state", "link", "link/logs", "../state/logs/.."] {
            for result in [
                run(&ListDir, json!({ "path": path })).await,
                run(
                    &Grep,
                    json!({"path": path, "pattern": "s", "recursive": true}),
                )
                .await,
                run(
                    &Write,
                    json!({"path": format!("{path}/new/file"), "content": "x"}),
                )
                .await,
            ] {
                let refused = result.unwrap_err().to_string();
                assert!(refused.contains("closed to tools"), "{path}: {refused}");
            }
        }
        // From above, it is passed over and that is said.
        let found = run(
            &Grep,
            json!({"path": "..", "pattern": "secret", "recursive": true}),
        )
        .await;
        let found = found.unwrap();
        assert!(found.contains("../work/open:1:secret"), "{found}");
        assert!(
            !found.contains("token:") && !found.contains("log:"),
            "{found}"
        );
        assert!(found.contains("closed to tools"), "{found}");
        assert!(run(&Read, json!({"path": "open"})).await.is_ok());
        assert!(run(&ListDir, json!({"path": "../keys"})).await.is_ok());
        assert_eq!(
            std::fs::read(folder.at("state/token")).unwrap(),
            b"secret\n"
        );
    }
}
