//! The shell's script: it runs a command, and notes the folder that the shell is in at its end.
//!
//! A process that has ended has no folder any more, and one that replaced the shell need not tell its own. So the shell
//! notes the folder itself, at its end or before it gives its place to another program.

use std::path::Path;

/// The file in the folder for temporary files that holds the note. The launcher reads it.
const FOLDER_NOTE: &str = ".folder";

/// The words that change the folder of a shell.
const MOVES: [&str; 3] = ["cd", "pushd", "popd"];

/// The script, which runs a command that is its argument, with `eval`, so that the shell's own errors name the lines of the
/// command's text. The folder is noted when that text ends, and when the shell exits before, unless a trap of the command
/// takes the place of this one.
///
/// Of a command that may end otherwise the folder is noted before each `exec` and each `exit` as well, but for those in its
/// functions. Other commands are spared that trap: it makes long loops slow.
///
/// Nothing of it is shown: it is one line, since `set -v` prints each line that is read, and what `set -x` prints of it is
/// thrown away. Only under `set -v` traps are printed. The exit code is the command's.
pub(super) fn with_note(temp: &Path, command: &str) -> String {
    let note = quoted(&temp.join(FOLDER_NOTE).to_string_lossy());
    let write = format!("builtin pwd -P >|{note} || builtin :");
    let at_exit = quoted(&format!("{{ {write}; }} 2>/dev/null"));
    let before_end = if may_end_without_trap(command) {
        let ends =
            format!("{{ case $BASH_COMMAND in *exec*|*exit*) {write};; esac; }} 2>/dev/null");
        format!("trap {} DEBUG; ", quoted(&ends))
    } else {
        String::new()
    };
    format!(
        "trap {at_exit} EXIT; {before_end}eval \"$1\"; \
         {{ __=$?; {write}; builtin set +xv; }} 2>/dev/null; exit \"$__\""
    )
}

/// True if the text of a command has a word that changes the shell's folder.
pub(super) fn may_move(command: &str) -> bool {
    words(command).any(|word| MOVES.contains(&word))
}

/// True if the shell of a command may end without the script's trap: it becomes another program, or exits to a trap of
/// the command.
fn may_end_without_trap(command: &str) -> bool {
    let has = |wanted: &str| words(command).any(|word| word == wanted);
    has("exec") || (has("trap") && has("exit"))
}

/// The parts of a text that can be names of commands, also within quotes.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split(|c: char| !c.is_alphanumeric() && !"_-./".contains(c))
}

/// A text as one word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Output};

    use super::*;

    /// Runs a command in a folder that has a folder `sub`. Returns its output, and the note without that folder's path.
    fn run(script: impl Fn(&Path, &str) -> String, command: &str) -> (Output, Option<String>) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let (work, temp) = (real.join("work"), real.join("it's a $TEMP"));
        fs::create_dir_all(work.join("sub")).unwrap();
        fs::create_dir(&temp).unwrap();
        let script = script(&temp, command);
        let words = ["--norc", "--noprofile", "-c", &*script, "bash", command];
        let mut shell = Command::new("bash");
        let output = shell.args(words).current_dir(&work).output().unwrap();
        let note = fs::read_to_string(temp.join(FOLDER_NOTE)).ok();
        let root = work.to_str().unwrap();
        let note = note.and_then(|note| note.strip_prefix(root).map(str::to_owned));
        (output, note)
    }

    /// Spec: [BASH-450] [BASH-611]
    #[test]
    fn a_command_runs_as_without_the_note() {
        let sub = Some("/sub\n");
        for (command, expected) in [
            ("", Some("\n")),
            ("cd sub", sub),
            ("cd sub; false", sub),
            ("cd sub; exit 3", sub),
            ("set -e; cd sub; false; echo no", sub),
            ("export TMPDIR=$PWD/nowhere; cd sub", sub),
            ("unset TMPDIR; set -u; cd sub; echo $nothing", sub),
            ("set -x; cd sub; echo hi", sub),
            ("set -x; cd sub; exit 2", sub),
            ("set -v; cd sub\necho hi", sub),
            ("set -C; cd sub", sub),
            ("set -f; IFS=/; cd sub", sub),
            ("set -o posix; cd sub", sub),
            (
                "pwd() { echo mine; }; cd() { builtin cd \"$@\"; }; cd sub",
                sub,
            ),
            ("exec >&- 2>&-; cd sub", sub),
            ("cd sub; echo $((1 / 0)); echo no", sub),
            ("cd sub; echo 'unfinished", Some("\n")),
            ("cd sub; no-such-program\necho $LINENO", sub),
            ("trap 'echo failed' ERR; cd sub; false", sub),
            ("trap 'echo bye $?' EXIT; cd sub; (exit 4)", sub),
            ("set -- a b; trap 'echo $# $1' EXIT; cd sub", sub),
            ("cd sub; kill -KILL $$", None),
            ("cd sub; exec echo hi", sub),
            ("cd sub && exec bash -c 'cd /; echo hi'", sub),
            ("if cd sub; then exec true; fi", sub),
            ("cd sub; eval 'exec true'", sub),
            ("(cd sub; exec true)", Some("\n")),
            ("exec 3>&1; cd sub; echo hi >&3", sub),
            ("cd sub; exec no-such-program", sub),
            ("set -x; set -u; IFS=/; cd sub; exec true", sub),
            ("set -o posix; cd sub; exec true", sub),
            (
                "true a; echo $_; true | false; echo ${PIPESTATUS[@]}; cd sub; exec true",
                sub,
            ),
            ("trap 'exit 5' EXIT; cd sub; exit 1", sub),
            ("trap 'exit 9' ERR; cd sub; false; exec true", sub),
            ("f() { cd sub; exec echo hi; }; f", None),
            ("trap : EXIT; set -e; cd sub; false; exit", None),
        ] {
            let (plain, _) = run(|_, _| "eval \"$1\"".to_owned(), command);
            let (output, note) = run(with_note, command);
            assert_eq!(output.status, plain.status, "{command}");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&output.stdout), text(&plain.stdout), "{command}");
            assert_eq!(text(&output.stderr), text(&plain.stderr), "{command}");
            assert_eq!(note.as_deref(), expected, "{command}");
        }
    }

    /// Spec: [BASH-450]
    #[test]
    fn a_folder_that_was_removed_is_not_complained_of() {
        let (output, _) = run(with_note, "cd sub; rmdir ../sub; echo here");
        assert_eq!(output.stdout, b"here\n");
        assert!(output.stderr.is_empty());
        let (output, _) = run(with_note, "cd sub; rmdir ../sub; exit 3");
        assert_eq!(output.status.code(), Some(3));
        assert!(output.stderr.is_empty());
    }

    /// Spec: [BASH-611]
    #[test]
    fn only_a_command_that_may_end_otherwise_is_traced() {
        for (command, is_traced) in [
            ("cd sub && exec make", true),
            ("trap 'rm -f x' EXIT; test -f y || exit 1", true),
            ("find . -exec ls {} +", false),
            ("cat executable; exit 1", false),
            ("./exec", false),
            ("trap : EXIT", false),
        ] {
            let script = with_note(Path::new("/tmp/x"), command);
            assert_eq!(script.contains("DEBUG"), is_traced, "{command}");
        }
    }

    /// Spec: [BASH-612]
    #[test]
    fn a_command_that_changes_the_folder_is_known_by_its_words() {
        for (command, moves) in [
            ("cd sub", true),
            ("(pushd sub>/dev/null;ls)", true),
            ("eval \"cd sub\"; sleep 9", true),
            ("sleep 9", false),
            ("./cd; ls --cd", false),
        ] {
            assert_eq!(may_move(command), moves, "{command}");
        }
    }
}
