use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;

fn keep(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

fn origin(path: &Path) -> KeyOrigin {
    KeyOrigin::File(path.display().to_string())
}

/// Spec: [MODEL-53]
#[actix::test]
async fn a_key_is_read_from_the_source_of_that_name_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let sources = [("team".to_owned(), origin(&path))].into();
    let keys = NamedKeys::new(sources, vec![], vec![]);
    for key in ["sk-one", "sk-two"] {
        keep(&path, key);
        assert_eq!(keys.resolve(Some("team")).await, Ok(Some(key.into())));
        assert!(keys.present().eq([key.into()]));
    }
    assert_eq!(keys.resolve(None).await, Ok(None));
}

/// Spec: [MODEL-54]
#[actix::test]
async fn every_failure_is_one_and_the_same_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    keep(&at("empty"), "");
    keep(&at("long"), "sk-one\nsk-two");
    keep(&at("open"), "sk-one");
    fs::set_permissions(at("open"), Permissions::from_mode(0o644)).unwrap();
    let names = ["empty", "long", "open", "missing"];
    let mut sources: BTreeMap<_, _> = names
        .map(|name| (name.to_owned(), origin(&at(name))))
        .into();
    let unset = KeyOrigin::Environment("HARNESS_NO_SUCH_KEY".to_owned());
    sources.insert("unset".to_owned(), unset);
    let keys = NamedKeys::new(sources, vec![], vec![]);
    for name in names.into_iter().chain(["unset", "not-named", "../x"]) {
        let refused = keys.resolve(Some(name)).await;
        assert_eq!(refused, Err(SEE_LOG.to_owned()), "{name}");
    }
    assert_eq!(keys.present().count(), 0);
}

/// Spec: [MODEL-55]
#[actix::test]
async fn a_source_that_a_client_spells_out_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    keep(&path, "sk-one");
    let sources = [("team".to_owned(), origin(&path))].into();
    let keys = NamedKeys::new(sources, vec![], vec![]);
    for source in [
        "env:CARGO_PKG_VERSION".to_owned(),
        format!("file:{}", path.display()),
    ] {
        let refused = keys.resolve(Some(&source)).await;
        assert_eq!(refused, Err(NOT_A_NAME.to_owned()), "{source}");
    }
}

/// Spec: [MODEL-57]
#[actix::test]
async fn the_service_s_own_token_is_never_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let (path, token) = (folder.path().join("key"), folder.path().join("token"));
    keep(&token, "token-of-the-file\n");
    let sources = [("team".to_owned(), origin(&path))].into();
    let set = vec!["token-that-is-set".into()];
    let keys = NamedKeys::new(sources, vec![origin(&token)], set);
    for own in ["token-of-the-file", "token-that-is-set"] {
        keep(&path, own);
        assert_eq!(keys.resolve(Some("team")).await, Err(SEE_LOG.to_owned()));
    }
    // Also one that was exchanged in the meantime.
    keep(&token, "token-of-tomorrow");
    keep(&path, "token-of-tomorrow");
    assert_eq!(keys.resolve(Some("team")).await, Err(SEE_LOG.to_owned()));
    keep(&path, "sk-one");
    assert_eq!(keys.resolve(Some("team")).await, Ok(Some("sk-one".into())));
}
