//! Commands that would remove the folders that are kept.

use super::*;
use crate::approval::command_line::parse;

fn removed(line: &str) -> Option<&'static str> {
    let kept = Kept {
        folder: Path::new("/home/ana/proj"),
        home: Some(Path::new("/home/ana")),
    };
    let start = Path::new("/home/ana/proj/src");
    kept.removed_by(line, parse(line).as_ref(), start)
}

/// Spec: [APPR-25]
#[test]
fn what_would_remove_the_folder_one_above_it_or_the_home_folder_is_seen() {
    let (folder, home) = (Some("the conversation's folder"), Some("the home folder"));
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

/// Spec: [APPR-25]
#[test]
fn a_long_command_is_looked_at_to_its_end_and_in_time() {
    let deep = "cd a;".repeat(20_000);
    assert_eq!(
        removed(&format!("{deep} rm -rf ~ &")),
        Some("the home folder")
    );
    assert_eq!(removed(&format!("{} &", "rm x ".repeat(20_000))), None);
}

/// Spec: [APPR-25]
#[test]
fn without_a_home_folder_the_conversations_is_kept() {
    let kept = Kept {
        folder: Path::new("/w"),
        home: None,
    };
    let removed = |line: &str| kept.removed_by(line, parse(line).as_ref(), Path::new("/w"));
    assert_eq!(removed("rm -rf ~ ."), Some("the conversation's folder"));
    assert_eq!(removed("rm -rf ~"), None);
}
