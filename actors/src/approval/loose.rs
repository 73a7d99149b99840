//! Looks into commands that cannot be read word by word: as well as that goes, and rather too often.
//!
//! Invariant: it never allows anything.

use super::command_line::{Complex, LineCommands, ShellWord};
use super::programs;

/// The words of a rule, which are looked for one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sequence(Vec<RuleWord>);

/// A run of word characters in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RuleWord {
    text: String,
    /// Whether it is beside a wildcard, so that a part of a word is enough.
    is_part: bool,
}

impl Sequence {
    /// The word characters of a rule; of its program only the name.
    pub(super) fn from_words(words: &[ShellWord]) -> Self {
        let mut pieces = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let is_part = !word.stars.is_empty();
            let text = if index == 0 {
                programs::base(&word.text)
            } else {
                &word.text
            };
            pieces.extend(runs(text).map(|run| RuleWord {
                text: run.to_owned(),
                is_part,
            }));
        }
        Self(pieces)
    }

    /// True if a line has all of them in this order, with anything between: once with quotes and
    /// backslashes taken out (`r\m`, `'r'm`), once with these as gaps (`"rm"-x`). Dashes may join words.
    pub(super) fn is_in(&self, line: &str) -> bool {
        let is_quote = |c: char| matches!(c, '\'' | '"' | '\\');
        let dashed = without_joining_dashes(line);
        [line, dashed.as_str()].into_iter().any(|line| {
            let joined = line.replace("\\\n", "").replace(is_quote, "");
            let apart = line.replace(is_quote, " ");
            self.is_among(runs(&joined)) || self.is_among(runs(&apart))
        })
    }

    fn is_among<'w>(&self, words: impl Iterator<Item = &'w str>) -> bool {
        let mut wanted = self.0.iter().peekable();
        for word in words {
            wanted
                .next_if(|piece| piece.text == word || piece.is_part && word.contains(&piece.text));
        }
        wanted.peek().is_none()
    }
}

/// A line in which a dash joins no words that the shell or git takes apart: the name and the default of a
/// variable, as in `${x-rm}`, and git and its command, as in `git-push`.
fn without_joining_dashes(line: &str) -> String {
    let line = line.replace("git-", "git ");
    let is_of_name = |c: char| c.is_alphanumeric() || "_:!@*#?[]".contains(c);
    let mut pieces = line.split("${");
    let mut apart = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !is_of_name(c));
        let (name, rest) = piece.split_at(end.unwrap_or(piece.len()));
        for part in ["$", name, " ", rest.trim_start_matches('-')] {
            apart.push_str(part);
        }
    }
    apart
}

/// True if a shell in a line reads its commands from a pipe, a here-string or a file, so that they are not
/// among the words of the line.
pub(super) fn feeds_shell(line: &str, parts: Result<&LineCommands, &Complex>) -> bool {
    let reads = |text: &str, is_grouped: bool, is_fed: bool| {
        let commands = commands(text, is_grouped);
        commands.iter().any(|words| {
            let is_comment = words.first().is_some_and(|word| word.starts_with('#'));
            !is_comment && programs::reads_commands(words, is_fed)
        })
    };
    let Ok(parts) = parts else {
        let is_fed = line.contains('<');
        return reads(line, true, is_fed) || reads(line, false, is_fed);
    };
    parts.iter().any(|words| {
        let second = words.get(1).map(String::as_str);
        let program = words.first();
        let runs = program.and_then(|program| programs::runs_arguments(program, second));
        runs.is_some() && reads(&words.join(" "), false, false)
    })
}

/// The runs of word characters in a text.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let runs = text.split(move |c| !is_of_word(c));
    runs.filter(|run| !run.is_empty())
}

/// The commands of a line, by its operators and whatever groups commands.
///
/// Quotes either hold a word together, as in `rm "a b"`, or hold a line of its own, as in `sh -c "rm a"`:
/// `is_grouped` says how they are read.
pub(super) fn commands(line: &str, is_grouped: bool) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut quote = None;
    for c in line.replace("\\\n", "").chars() {
        let is_end = matches!(c, ';' | '\n' | '|' | '&' | '(' | ')' | '`');
        let is_gap = is_end || c.is_whitespace() || c.is_control() || matches!(c, '<' | '>');
        match c {
            '\\' => {}
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => word.push(c),
            '\'' | '"' if is_grouped => quote = Some(c),
            _ if is_gap || matches!(c, '\'' | '"' | '{' | '}') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if is_end && !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                }
            }
            _ => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    if !words.is_empty() {
        commands.push(words);
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::super::command_line::{parse, parse_pattern};
    use super::*;

    /// Spec: [APPR-22]
    #[test]
    fn the_words_of_a_rule_are_found_in_their_order_whatever_stands_between() {
        for (rule, line, is_in) in [
            ("rm *", "r\\m -rf x", true),
            ("rm *", "'r'\"m\" x", true),
            ("rm *", "x=$(/bin/rm -rf y)", true),
            ("rm *", "echo ${IFS}rm${IFS}x", true),
            ("rm *", "${x:-rm} x", true),
            ("rm *", "${x-rm} x", true),
            ("rm *", "${x[0]:--rm} x", true),
            ("rm *", "echo $x-rm", false),
            ("git push *", "/usr/lib/git-core/git-push &", true),
            ("git-lfs *", "git-lfs x &", true),
            ("rm *", "echo farm > rm-list", false),
            ("rm *", "r\\\nm x", true),
            ("/usr/bin/rm *", "rm x &", true),
            ("git push *", "git -C '/a b' push&", true),
            ("git push *", "push; git status &", false),
            ("git push --force*", "git push --force-with-lease &", true),
            ("curl https://*", "wget x & curl -s https://y", true),
            ("curl https://*", "curl -s http://y &", false),
            ("*", "anything & at all", true),
        ] {
            let words = parse_pattern(rule).unwrap().remove(0);
            assert_eq!(
                Sequence::from_words(&words).is_in(line),
                is_in,
                "{rule}: {line}"
            );
        }
    }

    /// Spec: [APPR-482]
    #[test]
    fn a_shell_that_reads_its_commands_is_seen() {
        for (line, is_fed) in [
            ("printf 'rm x' | sh", true),
            ("printf 'rm x' | /bin/bash -es", true),
            ("base64 -d a | sudo -u ana sh -x", true),
            ("cat a | sh -", true),
            ("cat a | sh /dev/stdin", true),
            ("cat a | bash -o pipefail", true),
            ("cat a | sh -c sh", true),
            ("sh -c 'cat a | sh'", true),
            ("busybox sh", true),
            ("sh <<< \"$x\"", true),
            ("bash -x build.sh < a", true),
            ("bash <(cat a)", true),
            ("x=1 dash &", true),
            ("echo $x | bash", true),
            ("sh build.sh", false),
            ("bash -eo pipefail build.sh", false),
            ("sh -c 'cargo test'", false),
            ("bash -lc \"$x\"", false),
            ("busybox rm x", false),
            ("echo sh", false),
            ("ls | wc -l", false),
            ("ls *.sh", false),
            ("cat > a <<E\n#!/usr/bin/env bash\nls\nE", false),
        ] {
            let parts = parse(line);
            assert_eq!(feeds_shell(line, parts.as_ref()), is_fed, "{line}");
        }
    }
}
