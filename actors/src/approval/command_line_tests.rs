//! The lines that are taken whole, those that are not, and that bash sees the same words.

use std::collections::BTreeSet;
use std::process::Command;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::approval::table;

fn words(line: &str) -> Vec<Vec<String>> {
    parse(line).unwrap_or_else(|complex| panic!("{line:?} has {complex}"))
}

fn complex(line: &str) -> String {
    match parse(line) {
        Ok(parts) => panic!("{line:?} is {parts:?}"),
        Err(complex) => complex.to_string(),
    }
}

/// Spec: [APPR-20]
#[test]
fn plain_lines_are_taken_whole() {
    for (line, expected) in [
        ("ls", &[&["ls"][..]][..]),
        ("  ls\t-la  ", &[&["ls", "-la"]]),
        (
            "git commit -m 'a; b' -m \"c && d\"",
            &[&["git", "commit", "-m", "a; b", "-m", "c && d"]],
        ),
        ("a'b'\"c\"d ''", &[&["abcd", ""]]),
        (
            "a&&b||c;d|e\nf",
            &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]],
        ),
        ("\n a &&\n\n b ;\n", &[&["a"], &["b"]]),
        ("a >/dev/null 2>&1", &[&["a"]]),
        ("a 2>/dev/null | b >&2", &[&["a"], &["b"]]),
        ("a b2>/dev/null 2 >> /dev/null", &[&["a", "b2", "2"]]),
        (
            "a \"2\">/dev/null </dev/null &>/dev/null&& b",
            &[&["a", "2"], &["b"]],
        ),
        (">/dev/null a", &[&["a"]]),
        (
            "git diff HEAD~1 HEAD^~2 x#y",
            &[&["git", "diff", "HEAD~1", "HEAD^~2", "x#y"]],
        ),
        ("grep '$x `y` \\z * ~ !'", &[&["grep", "$x `y` \\z * ~ !"]]),
        (
            "echo a=b c:d @x %y +z é",
            &[&["echo", "a=b", "c:d", "@x", "%y", "+z", "é"]],
        ),
        ("cd src && ls", &[&["cd", "src"], &["ls"]]),
        (
            "printf %s x; test -f y",
            &[&["printf", "%s", "x"], &["test", "-f", "y"]],
        ),
    ] {
        assert_eq!(words(line), expected, "{line:?}");
    }
}

/// Spec: [APPR-20]
#[test]
fn what_may_mean_more_is_complex_and_says_why() {
    for (line, why) in [
        ("", "no command"),
        (" \n", "no command"),
        ("a > f", "a redirection"),
        ("a >/dev/null2", "a redirection"),
        ("a >/dev/../etc/passwd", "a redirection"),
        ("a >|/dev/null", "a redirection"),
        ("a 3>/dev/null", "a redirection"),
        ("a 2>&12", "a redirection"),
        ("a 2>&1x", "a redirection"),
        ("a >& f", "a redirection"),
        ("a < f", "a redirection"),
        ("a <<E\nrm x\nE", "a redirection"),
        ("a <<< b", "a redirection"),
        ("a <(b)", "a redirection"),
        ("a & b", "a command in the background"),
        ("a 2>&1&", "a command in the background"),
        ("a |& b", "a command in the background"),
        ("a ;; b", "an operator without a command"),
        ("a && ; b", "an operator without a command"),
        ("a &&", "an operator without a command"),
        ("| a", "an operator without a command"),
        ("a; >/dev/null", "an operator without a command"),
        ("a $(b)", "a variable"),
        ("a $'b'", "a variable"),
        ("a \"$b\"", "a variable or a backslash in quotes"),
        ("a \"\\n\"", "a variable or a backslash in quotes"),
        ("a `b`", "a command in a command"),
        ("r\\m a", "a backslash"),
        ("a 'b", "an open quote"),
        ("(a)", "a parenthesis"),
        ("a() { b; }", "a parenthesis"),
        ("{ a; }", "a brace"),
        ("a {b,c}", "a brace"),
        ("! a", "an exclamation mark"),
        ("ls *.rs", "a wildcard"),
        ("ls ?", "a wildcard"),
        ("[ -f a ]", "a wildcard"),
        ("ls ~", "a home folder"),
        ("a b=~/c", "a home folder"),
        ("a b:~", "a home folder"),
        ("a ''~", "a home folder"),
        ("a # b", "a comment"),
        ("A=1 b", "an assignment in front"),
        ("a && B=1 c", "an assignment in front"),
        ("a; B+=1", "an assignment in front"),
        ("if a\nthen b\nfi", "a word of the shell's grammar"),
        ("time a", "a word of the shell's grammar"),
        (
            "a; eval b",
            "a command of the shell that runs or changes something",
        ),
        (
            ". a",
            "a command of the shell that runs or changes something",
        ),
        (
            "'exec' a",
            "a command of the shell that runs or changes something",
        ),
        ("cd", "a cd that is not in front, or not with one path"),
        ("cd -", "a cd that is not in front, or not with one path"),
        ("cd a b", "a cd that is not in front, or not with one path"),
        ("a; cd b", "a cd that is not in front, or not with one path"),
        ("printf -v 'a[$(b)]' c", "an option of printf"),
        ("test -v 'a[$(b)]'", "test -v"),
        ("'' a", "no name of a program"),
        ("%1", "no name of a program"),
        ("a\rb", "a hidden character"),
        ("a '\u{1b}[2J'", "a hidden character"),
        ("a '\u{202e}b'", "a hidden character"),
        ("a\u{200b}", "a hidden character"),
        ("a\u{a0}b", "a hidden character"),
        ("a \0", "a hidden character"),
    ] {
        assert_eq!(complex(line), why, "{line:?}");
    }
}

/// Spec: [APPR-20]
#[test]
fn long_lines_are_complex() {
    let long = |length: usize| "a".repeat(length);
    assert_eq!(words(&long(10_000)).len(), 1);
    assert_eq!(complex(&long(10_001)), "more than 10000 bytes");
    let many = |count: usize| vec!["a"; count].join(";");
    assert_eq!(words(&many(50)).len(), 50);
    assert_eq!(complex(&many(51)), "more than 50 commands");
}

/// For each line the commands that bash runs, as a set: those that run if all succeed, and those that run
/// if all fail. Each has to begin with `p`.
fn seen_by_bash(lines: &[String]) -> Vec<BTreeSet<Vec<String>>> {
    // The commands of a pipe write at once: what has no newline is written in one piece.
    const SCRIPT: &str = r#"
        exec 3>&1 >/dev/null 2>&1 </dev/null
        p() {
            printf '%s\0' "$number" "$#" p "${@//$'\n'/$'\1'}" >&3
            return "$status"
        }
        number=0
        for line in "$@"; do
            for status in 0 1; do eval "$line"; done
            number=$((number + 1))
        done"#;
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", SCRIPT, "bash"])
        .args(lines)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut fields = text.split_terminator('\0');
    let mut seen = vec![BTreeSet::new(); lines.len()];
    while let (Some(number), Some(count)) = (fields.next(), fields.next()) {
        let (number, count): (usize, usize) = (number.parse().unwrap(), count.parse().unwrap());
        let words = fields.by_ref().take(count + 1);
        let words = words.map(|word| word.replace('\u{1}', "\n")).collect();
        seen[number].insert(words);
    }
    seen
}

/// Spec: [APPR-20]
#[test]
fn bash_sees_the_words_of_the_commands_in_the_table() {
    // One command each: what is behind an operator would run.
    let rows = table::rows().into_iter().map(|row| row.command);
    let alone = rows.filter(|command| parse(command).is_ok_and(|parts| parts.len() == 1));
    let (lines, expected) = taken(
        alone
            .map(|command| format!("p {}", command.trim_start()))
            .collect(),
    );
    assert!(lines.len() > 150, "{}", lines.len());
    for (line, (seen, expected)) in lines.iter().zip(seen_by_bash(&lines).iter().zip(&expected)) {
        assert_eq!(seen, expected, "{line:?}");
    }
}

/// Pieces of lines, of which many are joined to something that is complex.
fn piece() -> impl Strategy<Value = &'static str> {
    select(&[
        " ",
        " ",
        " ",
        "a",
        "b",
        "-v",
        "1",
        "2",
        "é",
        "=",
        ":",
        "@",
        "%",
        "^",
        "+",
        ",",
        ".",
        "/",
        "''",
        "'a b'",
        "'$x'",
        "'\\'",
        "'\n'",
        "\"a'b\"",
        "\"c;d\"",
        "\"!\"",
        "'",
        "\"",
        "~",
        "#",
        "\t",
        " && p ",
        " || p ",
        " ; p ",
        "|p ",
        "\np ",
        " &&\n p ",
        "\n\n",
        ";",
        "&",
        "|",
        ">",
        ">/dev/null",
        " 2>/dev/null ",
        " >> /dev/null ",
        "2>&1",
        " >&2 ",
        "&>/dev/null",
        "</dev/null",
        "<",
        "*",
        "?",
        "[",
        "]",
        "{",
        "}",
        "{a,b}",
        "!",
        "$",
        "$a",
        "\\",
        "`",
        "(",
        ")",
        "if",
        "p",
        "A=1 ",
        "\r",
        "\u{a0}",
    ])
}

/// Lines of which each command begins with `p`.
fn line() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..10).prop_map(|pieces| format!("p {}", pieces.concat()))
}

/// Lines that are taken, and the commands in them.
fn taken(lines: Vec<String>) -> (Vec<String>, Vec<BTreeSet<Vec<String>>>) {
    let taken = lines.into_iter().filter_map(|line| {
        let parts = parse(&line).ok()?;
        let is_ours = parts.iter().all(|words| words[0] == "p");
        is_ours.then(|| (line, parts.into_iter().collect()))
    });
    taken.unzip()
}

/// Spec: [APPR-20]
#[test]
fn bash_sees_the_words_of_lines_that_are_taken() {
    let lines = [
        "p",
        "p a'b'\"c\" ''",
        "p a&&p b||p c;p d|p e\np f",
        "\np a &&\n\n p b ;\n",
        "p 2>/dev/null a2>/dev/null 2 >&2 \"2\">/dev/null 2&>/dev/null",
        "p </dev/null &>>/dev/null",
        "p HEAD~1 HEAD^~2 a~ x#y a=b c:d @x %y +z é -n",
        "p '$x `y` \\z * ~ !' \"it's; # {a,b} !\"",
        ">/dev/null p a",
        "p a 2>&1|p b >&2;p c",
        "p a b=c d+=e",
        "p 'a\nb\tc'",
        "p a\t\tb",
    ];
    let (lines, expected) = taken(lines.map(str::to_owned).to_vec());
    assert_eq!(lines.len(), 13);
    for (line, (seen, expected)) in lines.iter().zip(seen_by_bash(&lines).iter().zip(&expected)) {
        assert_eq!(seen, expected, "{line:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Spec: [APPR-20]
    #[test]
    fn bash_sees_the_words_of_any_line_that_is_taken(
        lines in prop::collection::vec(line(), 600..900),
    ) {
        let (lines, expected) = taken(lines);
        prop_assert!(lines.len() > 20, "only {} lines are taken", lines.len());
        let seen = seen_by_bash(&lines);
        for (line, (seen, expected)) in lines.iter().zip(seen.iter().zip(&expected)) {
            prop_assert_eq!(seen, expected, "{:?}", line);
        }
    }
}

proptest! {
    /// Spec: [APPR-20]
    #[test]
    fn any_text_is_taken_or_complex_and_what_is_taken_stands_in_it(
        text in prop_oneof![any::<String>(), line()],
    ) {
        if let Ok(parts) = parse(&text) {
            let length: usize = parts.iter().flatten().map(String::len).sum();
            prop_assert!(length <= text.len());
            prop_assert!(parts.len() <= MAX_PARTS);
            prop_assert!(parts.iter().all(|words| !words.is_empty()));
        }
    }
}
