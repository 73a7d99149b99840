//! Commands that would remove the folders that are kept.

use super::*;
use crate::approval::command_line::parse;

const FOLDER: &str = "the conversation's folder, or all that is in it";
const HOME: &str = "the home folder, or all that is in it";

/// The finding about a command that starts in that folder.
fn removed_from(start: &str, line: &str) -> Option<&'static str> {
    let kept = ProtectedFolders {
        folder: Path::new("/home/ana/proj"),
        home: Some(Path::new("/home/ana")),
    };
    kept.removed_by(line, parse(line).as_ref(), Path::new(start))
}

fn removed(line: &str) -> Option<&'static str> {
    removed_from("/home/ana/proj/src", line)
}

/// Spec: [APPR-25]
#[test]
fn what_would_remove_the_folder_one_above_it_or_the_home_folder_is_seen() {
    let (folder, home) = (Some(FOLDER), Some(HOME));
    let above = Some("a folder above the conversation's or the home folder");
    for (line, what) in [
        ("rm -rf /home/ana/proj", folder),
        ("rm -rf ..", folder),
        ("rm -r ../", folder),
        ("rm -rf -- ../src/..", folder),
        ("ls; /bin/rm -fr '/home/ana/proj/'", folder),
        ("rmdir ../../proj", folder),
        ("rm -rf ../..", home),
        ("rm -rf /", above),
        ("rm -rf //home/.", above),
        ("mv .. /tmp/x", folder),
        ("mv -t /tmp ..", folder),
        ("find .. -delete", folder),
        ("cd .. && rm -rf .", folder),
        ("cd .. && find -delete", folder),
        ("cd nowhere; rm -rf ..", folder),
        ("sudo rm -rf /home/ana", home),
        ("sh -c 'cd ..; rm -rf .'", folder),
        ("cd .. && echo cd a && rm -rf .", folder),
        ("cd .. & echo cd a; rm -rf .", folder),
        ("timeout 5 rm -rf ..", folder),
        ("find .. -name x -exec rm -r '{}' +", folder),
        // These are complex.
        ("rm -rf ~", home),
        ("rm -rf ~/", home),
        ("rm -rf \"$HOME\"/proj", folder),
        ("rm -rf ${HOME}/*", home),
        ("rm -rf $PWD/..", folder),
        ("rm -rf \"$(pwd)/..\"", folder),
        ("rm -rf `pwd`/..", folder),
        ("rm -rf ../*", folder),
        ("rm -rf ../.[!.]* ../*", folder),
        ("r\\m -rf ..", folder),
        ("(cd .. && rm -rf .)", folder),
        ("cd; rm -rf .", home),
        ("rm -rf \\\n ..", folder),
        ("x=1 rm -rf .. &", folder),
        ("bash -c \"rm -rf $HOME\"", home),
        ("if true; then rm -rf /; fi", above),
        ("rm -rf '/home/ana/my files' \"/home/ana/proj\" &", folder),
        // And these remove none of them.
        ("rm -rf .", None),
        ("rm -rf *", None),
        ("rm -rf ../target", None),
        ("rm -rf /home/ana/project2", None),
        ("mv a ..", None),
        ("mv a $HOME", None),
        ("find .. -name x", None),
        ("git rm -r ..", None),
        ("ls ..", None),
        ("echo rm; ls ..", None),
        ("rm ''", None),
    ] {
        assert_eq!(removed(line), what, "{line}");
    }
}

/// Spec: [APPR-480]
#[test]
fn folders_that_the_words_do_not_name_and_all_that_is_in_the_folder_are_seen() {
    let (folder, unnamed) = (Some(FOLDER), Some(UNNAMED));
    for (line, what) in [
        ("rm -rf [a-z]*", folder),
        ("rm -rf ./[!x]*/", folder),
        ("rm -rf {.,*}", folder),
        ("rm -rf {a..z}*", folder),
        ("shopt -s extglob\nrm -rf !(keep)", folder),
        ("git clean -fdx", folder),
        ("git -C . clean -fdxe keep", folder),
        ("git clean -fdx -e keep '*'", folder),
        ("git clean -fd :/", folder),
        ("cd $X && git clean -fd", folder),
        ("find -O3 . -delete", folder),
        ("find . -exec unlink '{}' +", folder),
        ("find -exec rm -r {} \\;", folder),
        ("rm -rf $UNSET/*", unnamed),
        ("rm -rf \"$dir\"", unnamed),
        ("rm -rf build/${x:-y}", unnamed),
        ("rm -rf $(ls)", unnamed),
        ("rm -rf build/`echo ..`", unnamed),
        ("rm -rf $'\\x2e'", unnamed),
        ("rm -rf ~root", unnamed),
        ("rm --rec ~+", unnamed),
        ("for f in *; do rm -r \"$f\"; done", unnamed),
        ("ls | xargs rm -rf", unnamed),
        ("ls | xargs rm", unnamed),
        ("find src -print0 | xargs -0 rm -f", unnamed),
        ("ls | xargs -I{} rm -rf {}", unnamed),
        ("ls | parallel rm", unnamed),
        ("fd -t f -x rm", unnamed),
        ("find \"$dir\" -delete", unnamed),
        ("rmdir $x", unnamed),
        ("sh -c 'rm -rf \"$0\"' x", unnamed),
        ("sudo rm -rf $x", unnamed),
        ("git clean -fdx $x", unnamed),
        // The words of these name what goes, and it is below the folder.
        ("rm -rf target", None),
        ("rm -rf build/*.o", None),
        ("rm -rf build/{debug,release} *.o", None),
        ("rm -rf build/*", None),
        ("rm -f a b", None),
        ("rm -f $x", None),
        ("cd $X && rm -rf target", None),
        ("find build -name '*.o' -delete", None),
        ("find build -exec rm -rf {} \\;", None),
        ("git clean -ndx", None),
        ("git clean --dry-run -fdx", None),
        ("git clean -fdx build", None),
        ("git branch -f clean", None),
        ("git -c a=b log clean", None),
        ("docker run --rm $x", None),
        ("ls | xargs grep rm-list", None),
    ] {
        assert_eq!(removed_from("/home/ana/proj", line), what, "{line}");
    }
}

/// Spec: [APPR-25]
#[test]
fn a_long_command_is_looked_at_to_its_end_and_in_time() {
    let deep = "cd a;".repeat(20_000);
    assert_eq!(removed(&format!("{deep} rm -rf ~ &")), Some(HOME));
    assert_eq!(removed(&format!("{} &", "rm x ".repeat(20_000))), None);
}

/// Spec: [APPR-25]
#[test]
fn without_a_home_folder_the_conversations_is_kept() {
    let kept = ProtectedFolders {
        folder: Path::new("/w"),
        home: None,
    };
    let removed = |line: &str| kept.removed_by(line, parse(line).as_ref(), Path::new("/w"));
    assert_eq!(removed("rm -rf ~ ."), Some(FOLDER));
    assert_eq!(removed("rm -rf ~"), None);
}
