//! The commands that rules cover.

use proptest::prelude::*;

use super::*;
use crate::approval::Rule;
use crate::approval::command_line::parse;

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

/// Whether a rule that allows covers a line of one command.
fn allows(text: &str, line: &str, reach: Reach) -> bool {
    let parts = parse(line).unwrap();
    assert_eq!(parts.len(), 1, "{line}");
    rule(text).allows_command("bash", &parts[0], reach)
}

/// Whether a rule that denies covers a line.
fn touches(text: &str, line: &str, reach: Reach) -> bool {
    rule(text).touches_command("bash", line, parse(line).as_ref(), reach)
}

/// Spec: [APPR-21]
#[test]
fn a_rule_covers_commands_word_by_word() {
    for (text, covered, not_covered) in [
        (
            "bash(cargo test *)",
            &["cargo test", "cargo test -p x", "cargo 'test' 'a b'"][..],
            &[
                "cargo",
                "cargo tests",
                "cargo build",
                "./cargo test",
                "/bin/cargo test",
            ][..],
        ),
        (
            "bash(cargo fetch)",
            &["cargo fetch"],
            &["cargo fetch x", "cargo"],
        ),
        (
            "bash(cat src/*.rs)",
            &["cat src/a.rs", "cat src/a/b.rs"],
            &["cat src/a.rs b", "cat a.rs"],
        ),
        (
            "bash(mv * dst)",
            &["mv a dst", "mv '' dst"],
            &["mv dst", "mv a b dst"],
        ),
        ("bash(echo '*')", &["echo '*'"], &["echo a", "echo"]),
        (
            "bash(git commit -m *)",
            &["git commit -m 'a; b'"],
            &["git commit --amend -m a"],
        ),
        ("bash(echo 'a (b)')", &["echo \"a (b)\""], &["echo a '(b)'"]),
        (
            "bash(git diff *)",
            &["git diff", "git diff --stat -- a", "git diff --oneline"],
            &[
                "git diff --output=a",
                "git diff --outp a",
                "git diff --ext-diff",
                "git diff a --o=b",
            ],
        ),
        (
            "bash(git diff --output=*)",
            &["git diff --output=a"],
            &["git diff --output-directory=a"],
        ),
        (
            "bash(git diff --o*)",
            &["git diff --oneline"],
            &["git diff --output=a"],
        ),
        (
            "bash(git diff --output=a *)",
            &["git diff --output=a -p"],
            &[],
        ),
        (
            "bash(cargo test *)",
            &["cargo test -v"],
            &["cargo test --config a"],
        ),
        (
            "bash(go test *)",
            &["go test -v -e"],
            &["go test -exec a", "go test --toolexec=a"],
        ),
        ("bash(echo ?)", &[][..], &["echo a"]),
    ] {
        let Ok(_) = text.parse::<Rule>() else {
            assert!(covered.is_empty(), "{text}");
            continue;
        };
        for line in covered {
            assert!(allows(text, line, Reach::Near), "{text}: {line}");
        }
        for line in not_covered {
            assert!(!allows(text, line, Reach::Near), "{text}: {line}");
        }
        assert!(!rule(text).allows_command("job", &[], Reach::Near));
    }
}

/// Spec: [APPR-21]
#[test]
fn a_rule_that_allows_covers_what_reaches_as_far_and_one_that_denies_what_reaches_further() {
    use Reach::{Full, Near, Network};
    for (text, allowed, denied) in [
        ("bash(a *)", &[Near][..], &[Near, Network, Full][..]),
        ("bash+network(a *)", &[Near, Network], &[Network, Full]),
        ("bash!full(a *)", &[Full], &[Full]),
    ] {
        for reach in [Near, Network, Full] {
            assert_eq!(
                allows(text, "a b", reach),
                allowed.contains(&reach),
                "{text} {reach:?}"
            );
            assert_eq!(
                touches(text, "a b", reach),
                denied.contains(&reach),
                "{text} {reach:?}"
            );
        }
    }
}

/// Spec: [APPR-22]
#[test]
fn a_rule_that_denies_finds_its_words_behind_folders_options_and_programs_that_run_them() {
    for (text, line, is_touched) in [
        ("bash(rm *)", "rm -rf x", true),
        ("bash(rm *)", "ls && /bin/rm x", true),
        ("bash(rm *)", "sudo rm x", true),
        ("bash(rm *)", "sh -c 'rm x'", true),
        ("bash(rm *)", "find . -exec rm {} +", true),
        ("bash(rm *)", "x=1 r\\m y", true),
        ("bash(rm *)", "echo rm", false),
        ("bash(rm *)", "git rm x", false),
        ("bash(git push *)", "git -C . push", true),
        (
            "bash(git push *)",
            "git -c a=b --no-pager push origin",
            true,
        ),
        (
            "bash(git push *)",
            "/usr/lib/git-core/git-push origin",
            true,
        ),
        ("bash(git push)", "git-push", true),
        ("bash(git-lfs *)", "git-lfs x", true),
        ("bash(git push *)", "git-send-pack origin", false),
        ("bash(rm *)", "printf 'rm x' | sh", true),
        ("bash(rm *)", "printf x | sh", false),
        ("bash(rm *)", "capsh -- -c 'rm x'", true),
        ("bash(rm *)", "sg u 'rm x'", true),
        ("bash(rm *)", "/lib64/ld-linux-x86-64.so.2 /bin/rm x", true),
        ("bash(rm *)", "${x:-rm} x", true),
        ("bash(git push *)", "git stash push", false),
        ("bash(git push *)", "git log", false),
        ("bash(cargo publish)", "cargo -q publish", true),
        ("bash(cargo publish)", "cargo publish -p x", false),
        (
            "bash(git push --force*)",
            "git push -q --force-with-lease",
            true,
        ),
        ("bash(cargo publish *)", "cargo +nightly publish", true),
        ("bash(*)", "anything", true),
        ("bash(eval *)", "eval x", true),
    ] {
        assert_eq!(
            touches(text, line, Reach::Near),
            is_touched,
            "{text}: {line}"
        );
    }
}

/// Spec: [APPR-23]
#[test]
fn the_rule_of_a_command_is_not_made_of_what_a_line_cannot_show() {
    let of = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Rule::of_command("bash", &words, false)
    };
    assert_eq!(
        of(&["git", "commit", "-m", "it's *"]).unwrap().to_string(),
        "bash(git commit -m 'it'\"'\"'s *')"
    );
    assert_eq!(of(&["echo", "a\nb"]), None);
    assert_eq!(of(&["echo", "\u{202e}"]), None);
    assert_eq!(of(&["echo", &"x".repeat(5_000)]), None);
}

proptest! {
    /// Spec: [APPR-23]
    #[test]
    fn the_rule_of_a_command_covers_just_that(
        words in prop::collection::vec("[a-c*?'\"$ \\\\~#=é()&;|-]{0,4}", 1..5),
        other in prop::collection::vec("[a-c*'\" -]{0,3}", 1..5),
        network in any::<bool>(),
    ) {
        let rule = Rule::of_command("bash", &words, network).unwrap();
        prop_assert_eq!(&rule.to_string().parse::<Rule>().unwrap(), &rule);
        let reach = if network { Reach::Network } else { Reach::Near };
        let is_taken = words[0].chars().all(char::is_alphanumeric) && !words[0].is_empty();
        prop_assert!(!is_taken || rule.allows_command("bash", &words, reach));
        prop_assert!(words == other || !rule.allows_command("bash", &other, reach));
    }

    /// Spec: [APPR-21]
    #[test]
    fn no_text_of_a_rule_and_no_line_panics(text in any::<String>(), line in any::<String>()) {
        if let Ok(rule) = format!("bash({text})").parse::<Rule>() {
            prop_assert_eq!(rule.to_string(), format!("bash({text})"));
            rule.touches_command("bash", &line, parse(&line).as_ref(), Reach::Near);
        }
    }
}
