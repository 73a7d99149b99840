//! The folder that a conversation works in: which one may be chosen, and by whom.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix_web::{HttpMessage as _, HttpRequest};
use futures_util::future::join;
use harness_actors::directory::OpenedConversation;
use harness_actors::journal::Header;
use harness_actors::tool::check_closed_path;
use harness_actors::{BlockingError, blocking};
use nix::unistd::Uid;

use super::ask::open;
use super::guard::Caller;
use super::problem::{Kind, Refusal};
use super::shared::HttpShared;

/// The folder of the conversation with that header.
pub(super) fn working_folder<'h>(shared: &'h HttpShared, header: &'h Header) -> &'h Path {
    let own = header.workspace.as_ref();
    own.map_or(&*shared.workspace, |own| &own.folder)
}

/// Opens a conversation that is about to do something in its folder. The folder exists, and its guidance for the model
/// is up to date.
///
/// # Errors
/// The answer, if the conversation cannot be opened or its folder does not exist.
pub(super) async fn ready(
    shared: &HttpShared,
    id: &str,
) -> Result<(OpenedConversation, PathBuf), Refusal> {
    let conversation = open(shared, id).await?;
    let folder = working_folder(shared, &conversation.journal.header()).to_owned();
    let looked_at = folder.clone();
    let is_there = blocking(move || looked_at.is_dir());
    // At once: each waits for a thread that may wait for the disk.
    let (is_there, ()) = join(is_there, shared.guidance.refresh(&folder)).await;
    if !is_there.map_err(busy)? {
        let shown = folder.display();
        let detail = format!(
            "the folder of this conversation is gone: {shown}; put it back, or go on in a new conversation"
        );
        return Err(Kind::NoWorkspace.refuse(detail));
    }
    Ok((conversation, folder))
}

/// The folder that a request names, without links.
///
/// # Errors
/// The answer, if it cannot be worked in, or only with the token.
pub(super) async fn choose(
    request: &HttpRequest,
    shared: &HttpShared,
    path: &str,
) -> Result<PathBuf, Refusal> {
    let has_token = request.extensions().get::<Caller>() == Some(&Caller::TokenHolder);
    let (path, state) = (PathBuf::from(path), shared.home.to_path_buf());
    let closed = Arc::clone(&shared.closed);
    let looked_at = blocking(move || {
        let home = std::env::home_dir();
        choice(&path, &state, home.as_deref(), &closed, has_token)
    });
    looked_at.await.map_err(busy)?
}

/// The folder whose conversations are looked for, without links. It need not exist.
///
/// # Errors
/// The answer, if the service is too busy.
pub(super) async fn named(path: String) -> Result<PathBuf, Refusal> {
    let real = move || fs::canonicalize(&path).unwrap_or_else(|_| path.into());
    blocking(real).await.map_err(busy)
}

/// Judges a folder. Blocks.
fn choice(
    path: &Path,
    state: &Path,
    home: Option<&Path>,
    closed: &[PathBuf],
    has_token: bool,
) -> Result<PathBuf, Refusal> {
    let shown = path.display();
    let refuse = |why: &str| Kind::BadRequest.refuse(format!("workspace cannot be {shown}: {why}"));
    if !path.is_absolute() {
        return Err(refuse("it is not absolute"));
    }
    let folder = fs::canonicalize(path).map_err(|error| refuse(&error.to_string()))?;
    let metadata = fs::metadata(&folder).map_err(|error| refuse(&error.to_string()))?;
    if !metadata.is_dir() {
        return Err(refuse("it is not a folder"));
    }
    if folder.to_str().is_none() {
        return Err(refuse("its name is not UTF-8"));
    }
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if folder.starts_with(real(state)) {
        return Err(refuse("it is in the service's state folder"));
    }
    let needs_token = if metadata.uid() != Uid::effective().as_raw() {
        Some("it belongs to another user")
    } else if folder == Path::new("/") {
        Some("it is the root of the file system")
    } else if home.is_some_and(|home| real(home).starts_with(&folder)) {
        Some("it is the home folder, or contains it")
    } else if check_closed_path(&folder, closed).is_err() {
        Some("it is closed to tools (`deny_read`)")
    } else {
        None
    };
    match needs_token.filter(|_| !has_token) {
        None => Ok(folder),
        Some(why) => Err(Kind::Unauthorized.refuse(format!(
            "workspace cannot be {shown} without the service's token: {why}"
        ))),
    }
}

fn busy(error: BlockingError) -> Refusal {
    Kind::Overloaded.refuse(format!("folders cannot be looked at: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Spec: [HTTP-90] [SEC-56] [SEC-512]
    #[test]
    fn a_folder_is_judged_by_where_it_really_is() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        for name in [
            "home/project",
            "home/.harness/inside",
            "home/.ssh/keys",
            "other",
        ] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("file"), "").unwrap();
        symlink(at("home/.harness"), at("other/link")).unwrap();
        symlink(at("home/project"), at("other/project")).unwrap();
        symlink(at("home/.ssh/keys"), at("other/keys")).unwrap();
        let judge = |path: &Path, has_token: bool| {
            let (state, home) = (at("home/.harness"), at("home"));
            let closed = [state.clone(), at("home/.ssh"), at("home/.netrc")];
            choice(path, &state, Some(&home), &closed, has_token)
        };
        let project = fs::canonicalize(at("home/project")).unwrap();
        for path in [
            at("home/project"),
            at("other/project"),
            at("other/../home/project"),
        ] {
            assert_eq!(judge(&path, false).unwrap(), project);
        }
        for (path, why) in [
            (PathBuf::from("project"), "it is not absolute"),
            (at("none"), "No such file"),
            (at("file"), "it is not a folder"),
            (at("home/.harness"), "in the service's state folder"),
            (at("home/.harness/inside"), "in the service's state folder"),
            (at("other/link/inside"), "in the service's state folder"),
        ] {
            for has_token in [false, true] {
                let refused = judge(&path, has_token).unwrap_err().to_string();
                assert!(refused.contains(why), "{refused}");
                assert!(refused.starts_with("workspace cannot be "), "{refused}");
            }
        }
        let above = top.path().to_owned();
        let home = "it is the home folder, or contains it";
        let is_closed = "it is closed to tools (`deny_read`)";
        for (path, why) in [
            (at("home"), home),
            (above, home),
            (PathBuf::from("/"), "token: it "),
            (at("home/.ssh"), is_closed),
            (at("home/.ssh/keys"), is_closed),
            (at("other/keys"), is_closed),
        ] {
            let refused = judge(&path, false).unwrap_err().to_string();
            assert!(refused.contains("without the service's token"), "{refused}");
            assert!(refused.contains(why), "{refused}");
            assert_eq!(
                judge(&path, true).unwrap(),
                fs::canonicalize(&path).unwrap()
            );
        }
    }
}
