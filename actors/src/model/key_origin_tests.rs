use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::super::{EnvOrFileKeys, KeyResolver as _};
use super::*;

async fn resolved(source: &str) -> Result<Option<Secret>, String> {
    EnvOrFileKeys.resolve(Some(source)).await
}

/// Writes a file that only we may read.
fn keep(path: &Path, content: impl AsRef<[u8]>) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

async fn from(path: &Path) -> Result<Option<Secret>, String> {
    resolved(&format!("file:{}", path.display())).await
}

/// Spec: [MODEL-47]
#[actix::test]
async fn a_key_is_read_from_its_file_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    for key in ["sk-one", "sk-two"] {
        keep(&path, format!("{key}\n"));
        assert_eq!(from(&path).await, Ok(Some(key.into())));
    }
    assert_eq!(EnvOrFileKeys.resolve(None).await, Ok(None));
}

/// Spec: [MODEL-47]
#[actix::test]
async fn a_file_without_a_key_is_an_error_that_does_not_show_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    for (content, said) in [
        (&b""[..], "it is empty"),
        (b" \n\n", "it is empty"),
        (b"sk-one\nsk-two\n", "it has more than one line"),
        (b"sk one", "it has characters that no key has"),
        (b"sk-\xc3\xa4", "it has characters that no key has"),
        (b"sk-\xff", "it is no text"),
    ] {
        keep(&path, content);
        assert_eq!(from(&path).await, Err(said.to_owned()));
    }
    let most = vec![b'k'; 64 * 1024];
    keep(&path, &most);
    assert_eq!(
        from(&path).await.unwrap().unwrap().expose().len(),
        most.len()
    );
    keep(&path, vec![b'k'; most.len() + 1]);
    let said = Err("it is larger than 65536 bytes".to_owned());
    assert_eq!(from(&path).await, said);
    assert_eq!(from(folder.path()).await, Err("it is no file".to_owned()));
    let missing = from(&folder.path().join("none")).await.unwrap_err();
    assert!(missing.starts_with("it cannot be read: "), "{missing}");
}

/// Spec: [MODEL-47]
#[actix::test]
async fn a_key_is_read_from_the_environment() {
    // Set by cargo; what it holds is no secret.
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        resolved("env:CARGO_PKG_VERSION").await,
        Ok(Some(version.into()))
    );
    let unset = resolved("env:HARNESS_NO_SUCH_KEY").await;
    assert_eq!(unset, Err("it is not set".to_owned()));
    for odd in ["env:", "env:A=B", "env:1A", "env:A B"] {
        let said = Err("that is no name of a variable".to_owned());
        assert_eq!(resolved(odd).await, said);
    }
    for odd in ["", "KEY", "vault:x"] {
        let said = Err("a source is env:NAME or file:PATH".to_owned());
        assert_eq!(resolved(odd).await, said);
    }
}

/// Spec: [MODEL-52]
#[actix::test]
async fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(from(&pipe).await, Err("it is no file".to_owned()));
    // A link to it is none either.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    assert_eq!(from(&link).await, Err("it is no file".to_owned()));
}

/// Spec: [MODEL-52]
#[actix::test]
async fn the_path_of_a_key_does_not_depend_on_the_working_folder() {
    let said = "the path of the file must be absolute or begin with ~/";
    // The first one is a file of the folder that tests run in.
    for odd in ["Cargo.toml", "./key", "", "~", "~me/key"] {
        let refused = resolved(&format!("file:{odd}")).await;
        assert_eq!(refused, Err(said.to_owned()), "{odd}");
    }
    let whole = |home: Option<&str>| whole_path("~/a/key", home.map(OsStr::new));
    assert_eq!(whole(Some("/home/me")), Ok("/home/me/a/key".into()));
    for home in [None, Some(""), Some("me")] {
        let refused = whole(home).unwrap_err();
        assert!(refused.starts_with("there is no home folder"), "{refused}");
    }
    let root = whole_path("/etc/key", None);
    assert_eq!(root, Ok("/etc/key".into()));
}

/// Spec: [MODEL-56]
#[actix::test]
async fn a_file_that_others_have_a_part_in_gives_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    keep(&path, "sk-one");
    for mode in [0o400, 0o600, 0o700] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(from(&path).await, Ok(Some("sk-one".into())), "{mode:o}");
    }
    for mode in [0o640, 0o604, 0o620, 0o602] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let said = from(&path).await.unwrap_err();
        assert!(
            said.contains(&format!("(mode 0{mode:o}); run `chmod 600`")),
            "{said}"
        );
    }
    keep(&path, "sk-one");
    let found = fs::metadata(&path).unwrap();
    let user = Uid::from_raw(found.uid() + 1);
    // Whatever root owns, every user may rely on.
    if found.uid() == 0 {
        assert_eq!(check_private(&found, user), Ok(()));
    } else {
        let said = check_private(&found, user).unwrap_err();
        assert!(said.starts_with("it belongs to another user"), "{said}");
    }
}
