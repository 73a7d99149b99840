//! The aliases of git's commands that can run a program.

/// Commands that run what their arguments name, or that change the configuration.
///
/// Source: git(1) and the pages of the commands.
const RUNNERS: [&str; 19] = [
    "clone",
    "config",
    "credential",
    "cvsserver",
    "daemon",
    "filter-branch",
    "for-each-repo",
    "hook",
    "instaweb",
    "maintenance",
    "merge-index",
    "p4",
    "remote-ext",
    "remote-fd",
    "send-email",
    "shell",
    "submodule--helper",
    "svn",
    "web--browse",
];
/// Words by which a command runs what follows them.
const RUNNING_WORDS: [(&str, &str); 3] = [
    ("submodule", "foreach"),
    ("bisect", "run"),
    ("bisect", "view"),
];
/// Letters of options by which a command runs a program.
const SHORT_OPTIONS: [(&str, char); 8] = [
    ("rebase", 'x'),
    ("difftool", 'x'),
    ("difftool", 't'),
    ("mergetool", 't'),
    ("grep", 'O'),
    ("fetch", 'u'),
    ("pull", 'u'),
    ("ls-remote", 'u'),
];
/// Options of any command that name a program. Git takes a beginning of one as well.
const LONG_OPTIONS: [&str; 11] = [
    "--exec",
    "--extcmd",
    "--open-files-in-pager",
    "--output",
    "--output-directory",
    "--receive-pack",
    "--template",
    "--tool",
    "--upload-pack",
    "--strategy",
    "--config",
];

/// True if the command of an alias can run a program that its words name.
///
/// Source: git-config(1), `alias.*`.
pub(super) fn alias_runs_program(value: &str) -> bool {
    let Some(words) = words(value) else {
        return true;
    };
    let mut words = words.iter().map(String::as_str);
    let Some(command) = words.next() else {
        return false;
    };
    // A word of another letter is an option of git or a shell's command.
    let is_command = command.starts_with(|first: char| first.is_ascii_alphabetic());
    !is_command || RUNNERS.contains(&command) || words.any(|word| runs(command, word))
}

/// True if that word makes a command run a program.
fn runs(command: &str, word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let is_named = |option: &&str| option.trim_start_matches('-').starts_with(name);
        return !name.is_empty() && LONG_OPTIONS.iter().any(is_named);
    }
    if let Some(letters) = word.strip_prefix('-') {
        let mut options = SHORT_OPTIONS.iter();
        return options.any(|(of, letter)| *of == command && letters.contains(*letter));
    }
    RUNNING_WORDS.contains(&(command, word))
}

/// The words of an alias. `None` if git would not split it.
fn words(value: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut signs = value.chars();
    while let Some(sign) = signs.next() {
        match (sign, quote) {
            (sign, Some(open)) if sign == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            ('\\', None | Some('"')) => word.get_or_insert_default().push(signs.next()?),
            (sign, None) if sign.is_ascii_whitespace() => words.extend(word.take()),
            (sign, _) => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-583]
    #[test]
    fn an_alias_is_a_way_if_it_can_run_a_program() {
        for plain in [
            "checkout",
            "switch -c",
            "log --oneline",
            "log --graph --pretty=format:'%h %s' --abbrev-commit",
            "commit --amend --no-edit -v",
            "submodule update --init",
            "bisect start",
            "rebase -i --autosquash",
            "diff --ext-diff",
            "push --force-with-lease",
            "grep -n",
            "",
        ] {
            assert!(!alias_runs_program(plain), "{plain}");
        }
        for other in [
            "!run",
            "-c core.pager=run log",
            "--exec-path=x log",
            "submodule foreach run",
            "submodule --quiet 'fore'ach run",
            "bisect run x",
            "rebase --exec run",
            "rebase --ex run",
            "rebase -ix run",
            "rebase \"-x\" run",
            "difftool -x run",
            "difftool --ext=run",
            "grep -O./run x",
            "fetch --upload-pack=run .",
            "push --rec=run .",
            "config core.fsmonitor run",
            "clone -c core.fsmonitor=run . x",
            "filter-branch --tree-filter run",
            "merge --strategy=../run",
            "log 'open",
        ] {
            assert!(alias_runs_program(other), "{other}");
        }
    }
}
