//! The commands that rules cover.

use proptest::prelude::*;

use super::*;
use crate::approval::Rule;
use crate::approval::command_line::parse;

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

/// Whether a rule that allows covers a line of one command.
fn allows(text: &str, line: &str, reach: CommandReach) -> bool {
    let parts = parse(line).unwrap();
    assert_eq!(parts.len(), 1, "{line}");
    rule(text).allows_command("bash", &parts[0], reach)
}

/// Whether a rule that denies covers a line.
fn touches(text: &str, line: &str, reach: CommandReach) -> bool {
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
            assert!(allows(text, line, CommandReach::Near), "{text}: {line}");
        }
        for line in not_covered {
            assert!(!allows(text, line, CommandReach::Near), "{text}: {line}");
        }
        assert!(!rule(text).allows_command("job", &[], CommandReach::Near));
    }
}

/// Spec: [APPR-21]
#[test]
fn a_rule_that_allows_covers_what_reaches_as_far_and_one_that_denies_what_reaches_further() {
    use CommandReach::{Full, Near, Network};
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
            touches(text, line, CommandReach::Near),
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
        Rule::for_commands("bash", &[&words], CommandReach::Near)
    };
    assert_eq!(
        of(&["git", "commit", "-m", "it's *"]).unwrap().to_string(),
        "bash(git commit -m 'it'\"'\"'s *')"
    );
    assert_eq!(of(&["touch", "a\nb"]), None);
    assert_eq!(of(&["touch", "\u{202e}"]), None);
    assert_eq!(of(&["touch", &"x".repeat(5_000)]), None);
}

/// Spec: [APPR-23]
#[test]
fn usual_commands_are_offered_with_any_arguments_and_all_commands_of_a_line_together() {
    let offered = |line: &str, reach: CommandReach| {
        let parts = command_line::parse(line).unwrap();
        let commands: Vec<&Vec<String>> = parts.iter().collect();
        Rule::for_commands("bash", &commands, reach)
            .unwrap()
            .to_string()
    };
    for (line, rule) in [
        (
            "cargo test -p x 2>&1 | tail -40",
            "bash(cargo test *; tail *)",
        ),
        (
            "git log && git status; git log -3",
            "bash(git log *; git status *)",
        ),
        ("cd src && grep -rn x .", "bash(cd src; grep *)"),
        ("npm run build -- --watch", "bash(npm run build *)"),
        ("npm test", "bash(npm test *)"),
        ("wc -l a", "bash(wc *)"),
        // What is not usual, and what a wildcard does not cover.
        ("rm -rf a", "bash(rm -rf a)"),
        ("git commit -m x", "bash(git commit -m x)"),
        ("git -C a log", "bash(git -C a log)"),
        ("npm run", "bash(npm run)"),
        ("./ls a", "bash(./ls a)"),
        ("git diff --output=x", "bash(git diff --output=x)"),
        ("cargo test --config x", "bash(cargo test --config x)"),
        ("go test -exec x", "bash(go test -exec x)"),
    ] {
        assert_eq!(offered(line, CommandReach::Near), rule, "{line}");
    }
    let with_network = offered("cargo test && ls a", CommandReach::Network);
    assert_eq!(with_network, "bash+network(cargo test; ls a)");
}

/// Spec: [APPR-21]
#[test]
fn a_rule_of_several_commands_covers_each_and_denies_each() {
    let rule: Rule = "bash(cargo test *; tail *)".parse().unwrap();
    let allows = |line: &str| {
        let parts = command_line::parse(line).unwrap();
        let covers = |words: &Vec<String>| rule.allows_command("bash", words, CommandReach::Near);
        parts.iter().all(covers)
    };
    assert!(allows("cargo test -p x | tail -3") && allows("tail a") && !allows("cargo build"));
    let touches = |line: &str| {
        let parts = command_line::parse(line);
        rule.touches_command("bash", line, parts.as_ref(), CommandReach::Full)
    };
    assert!(touches("ls; tail a") && touches("cargo test") && !touches("ls; cargo build"));
}

proptest! {
    /// Spec: [APPR-23]
    #[test]
    fn the_rule_of_a_command_covers_just_that(
        words in prop::collection::vec("[a-c*?'\"$ \\\\~#=é()&;|-]{0,4}", 1..5),
        other in prop::collection::vec("[a-c*'\" -]{0,3}", 1..5),
        network in any::<bool>(),
    ) {
        let reach = if network { CommandReach::Network } else { CommandReach::Near };
        let rule = Rule::for_commands("bash", &[&words], reach).unwrap();
        prop_assert_eq!(&rule.to_string().parse::<Rule>().unwrap(), &rule);
        let is_taken = words[0].chars().all(char::is_alphanumeric) && !words[0].is_empty();
        prop_assert!(!is_taken || rule.allows_command("bash", &words, reach));
        prop_assert!(words == other || !rule.allows_command("bash", &other, reach));
    }

    /// Spec: [APPR-21]
    #[test]
    fn no_text_of_a_rule_and_no_line_panics(text in any::<String>(), line in any::<String>()) {
        if let Ok(rule) = format!("bash({text})").parse::<Rule>() {
            prop_assert_eq!(rule.to_string(), format!("bash({text})"));
            rule.touches_command("bash", &line, parse(&line).as_ref(), CommandReach::Near);
        }
    }
}
