//! The state folder: who may use it, and its token.

use std::os::unix::fs::symlink;
use std::sync::Barrier;
use std::thread;

use tempfile::{TempDir, tempdir};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn refusal<T>(result: Result<T, StateError>) -> String {
    result.err().unwrap().to_string()
}

fn somebody_else() -> Uid {
    Uid::from_raw(Uid::effective().as_raw() + 1)
}

/// A state folder with this content in its token file.
fn with_token(content: &[u8]) -> (TempDir, StateFolder, PathBuf) {
    let temp = tempdir().unwrap();
    let state = StateFolder::open(&temp.path().join("home")).unwrap();
    let path = state.path.join("token");
    fs::write(&path, content).unwrap();
    (temp, state, path)
}

/// Spec: [CONF-37]
#[test]
fn a_missing_folder_is_created_private_with_the_folders_above_it() {
    let temp = tempdir().unwrap();
    let path = temp.path().join("a/b/home");
    let state = StateFolder::open(&path).unwrap();
    assert_eq!(state.path, path);
    for folder in ["a", "a/b", "a/b/home"] {
        assert_eq!(mode(&temp.path().join(folder)), 0o700, "{folder}");
    }
    StateFolder::open(&path).unwrap();
}

/// Spec: [CONF-38]
#[test]
fn a_link_a_file_or_a_folder_of_another_user_is_refused() {
    let temp = tempdir().unwrap();
    let [real, link, file] = ["real", "link", "file"].map(|name| temp.path().join(name));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    fs::write(&file, "").unwrap();
    let fix = "is a symbolic link; remove it or name the place it leads to";
    for path in [&link, &link.join(""), &link.join(".")] {
        assert_eq!(
            refusal(StateFolder::open(path)),
            format!("{} {fix}", link.display())
        );
    }
    assert_eq!(
        refusal(StateFolder::open(&file)),
        format!("{} is not a folder; move it away", file.display())
    );
    assert_eq!(
        refusal(StateFolder::open_as(&real, somebody_else())),
        format!(
            "{} belongs to another user (uid {}); set HARNESS_HOME to a folder of your own",
            real.display(),
            Uid::effective()
        )
    );
}

/// Spec: [CONF-39]
#[test]
fn a_folder_that_anybody_could_swap_is_refused() {
    let temp = tempdir().unwrap();
    let path = temp.path().join("home");
    set_mode(temp.path(), 0o777);
    assert_eq!(
        refusal(StateFolder::open(&path)),
        format!(
            "{} lies in a folder that every user can change; \
             run `chmod o-w` on that folder or set HARNESS_HOME",
            path.display()
        )
    );
    set_mode(temp.path(), 0o1777);
    StateFolder::open(&path).unwrap();
}

/// Spec: [CONF-40]
#[test]
fn a_folder_and_a_token_that_others_may_read_are_made_private() {
    let (_temp, state, path) = with_token(b"0123456789abcdef\n");
    set_mode(&state.path, 0o755);
    set_mode(&path, 0o644);
    let state = StateFolder::open(&state.path).unwrap();
    assert_eq!(mode(&state.path), 0o700);
    assert_eq!(state.token().unwrap().expose(), "0123456789abcdef");
    assert_eq!(mode(&path), 0o600);
}

/// Spec: [CONF-41]
#[test]
fn a_new_token_is_random_private_and_kept() {
    let temp = tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|n| StateFolder::open(&temp.path().join(n)).unwrap());
    let token = one.token().unwrap();
    assert_eq!(token.expose().len(), 64);
    assert!(token.expose().bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(one.token().unwrap().expose(), token.expose());
    assert_ne!(two.token().unwrap().expose(), token.expose());
    assert_eq!(mode(&one.path.join("token")), 0o600);
    assert_eq!(fs::read_dir(one.path).unwrap().count(), 1);
}

/// Spec: [CONF-42]
#[test]
fn a_token_file_that_cannot_be_trusted_is_refused() {
    let (_temp, state, path) = with_token(b"0123456789abcdef");
    let theirs = StateFolder {
        owner: somebody_else(),
        ..state.clone()
    };
    assert!(refusal(theirs.token()).contains("belongs to another user"));

    let elsewhere = state.path.join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert!(refusal(state.token()).contains("token is a symbolic link"));

    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(refusal(state.token()).contains("token is not a file; move it away"));
}

/// Spec: [CONF-42]
#[test]
fn an_empty_or_malformed_token_file_is_refused_without_its_content() {
    for content in [
        &b""[..],
        b"\n",
        b"SEEN",
        b"SEEN-0123456789 abcdef",
        b"SEEN\xff3456789abcdef",
    ] {
        let (_temp, state, path) = with_token(content);
        assert_eq!(
            refusal(state.token()),
            format!(
                "{} does not hold a token of at least 16 visible ASCII characters; \
                 remove the file to get a new one",
                path.display()
            )
        );
    }
}

/// Spec: [CONF-43]
#[test]
fn those_who_create_the_token_at_once_get_the_same() {
    let temp = tempdir().unwrap();
    let state = StateFolder::open(&temp.path().join("home")).unwrap();
    let barrier = Barrier::new(8);
    let create = || {
        barrier.wait();
        state.token().unwrap().expose().to_owned()
    };
    let tokens: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(tokens.iter().all(|token| *token == tokens[0]));
    assert_eq!(fs::read_dir(state.path).unwrap().count(), 1);
}
