//! Reads git's configuration as git does, and finds the keys by which it makes git run a program.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

use super::alias::alias_runs_program;

/// A key with its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigEntry {
    /// Section and name in small letters.
    section: String,
    subsection: Option<String>,
    name: String,
    /// `None` for a name without `=`, which git reads as true.
    value: Option<String>,
}

/// Endings of the names by which any section names a program.
///
/// Source: git-config(1), gitattributes(5), git-send-email(1), git-lfs-config(5).
const PROGRAM_NAMES: &[&str] = &[
    "command",
    "cmd",
    "editor",
    "pager",
    "program",
    "hook",
    "helper",
    "textconv",
    "driver",
    "process",
    "clean",
    "smudge",
    "askpass",
    "gitproxy",
    "external",
    "hookspath",
    "templatedir",
    "difffilter",
    "providers",
    "vcs",
    "uploadpack",
    "receivepack",
    "uploadarchive",
    "tunnel",
    "smtpserver",
    "virtualfilesystem",
    "instructionformat",
];
/// Keys that name a program, or another file with configuration, in one section.
const PROGRAM_KEYS: &[(&str, &str)] = &[
    ("include", "path"),
    ("includeif", "path"),
    ("difftool", "path"),
    ("mergetool", "path"),
    ("browser", "path"),
    ("man", "path"),
    ("lfs", "path"),
    ("protocol", "allow"),
    ("instaweb", "httpd"),
    ("instaweb", "browser"),
    ("web", "browser"),
    ("help", "browser"),
];
/// Sections in which every name names a program.
const PROGRAM_SECTIONS: &[&str] = &["pager", "hook"];
/// Names whose value is a path, whatever it reads like.
const PATH_NAMES: &[&str] = &["path", "hookspath", "templatedir", "providers"];

impl ConfigEntry {
    /// The key as git prints it.
    pub(super) fn key(&self) -> String {
        let (section, name) = (&self.section, &self.name);
        match &self.subsection {
            Some(subsection) => format!("{section}.{subsection}.{name}"),
            None => format!("{section}.{name}"),
        }
    }

    /// The key with its value, as `git config --list` prints it.
    pub(super) fn with_value(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key()),
            None => self.key(),
        }
    }

    /// The value.
    pub(super) fn value(&self) -> &str {
        self.value.as_deref().unwrap_or("true")
    }

    /// True if the value is the path of another file with configuration.
    pub(super) fn is_include(&self) -> bool {
        self.name == "path" && (self.section == "include" || self.section == "includeif")
    }

    /// True if git runs a program because of this entry, reads more entries because of it, or may do so.
    pub(super) fn runs_program(&self) -> bool {
        let value = self.value();
        let (section, name) = (self.section.as_str(), self.name.as_str());
        // Git's own choice of a program; no repository has a program of such a name on the search path.
        if is_truth_value(value) && !PATH_NAMES.contains(&name) {
            return false;
        }
        let is_named = PROGRAM_NAMES.iter().any(|end| name.ends_with(end))
            || PROGRAM_KEYS.contains(&(section, name))
            || PROGRAM_SECTIONS.contains(&section)
            || name == "fsmonitor";
        let by_value = match (section, name) {
            ("alias", _) => alias_runs_program(value),
            ("diff" | "merge", "tool" | "guitool") => value.contains('/'),
            ("submodule", "update") => value.starts_with('!'),
            ("remote" | "submodule", "url" | "pushurl") => names_transport(value),
            ("url", _) => names_transport(self.subsection.as_deref().unwrap_or_default()),
            _ => false,
        };
        is_named || by_value
    }
}

fn is_truth_value(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["true", "false", "yes", "no", "on", "off", "0", "1", ""].contains(&value.as_str())
}

/// True for an address that names a program for its transport, or that is an option.
///
/// Source: gitremote-helpers(7): `<transport>::<address>`.
fn names_transport(address: &str) -> bool {
    let is_word = |text: &str| text.chars().all(|sign| sign.is_ascii_alphanumeric());
    let transport = address.split_once("::").map(|(transport, _)| transport);
    transport.is_some_and(is_word) || address.starts_with('-')
}

/// The entries of a configuration. `None` if it is not one that git would read, or if it cannot be told.
///
/// Source: git-config(1), "CONFIGURATION FILE", "Syntax".
pub(super) fn parse(text: &[u8]) -> Option<Vec<ConfigEntry>> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\0') {
        return None;
    }
    let mut rest = ConfigCursor(text);
    let mut entries = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    loop {
        rest.skip_blank();
        let Some(sign) = rest.peek() else {
            return Some(entries);
        };
        match sign {
            '#' | ';' => rest.skip_line(),
            '[' => section = Some(rest.header()?),
            sign if sign.is_ascii_alphabetic() => {
                let (section, subsection) = section.clone()?;
                let name = rest.name();
                let value = rest.value()?;
                entries.push(ConfigEntry {
                    section,
                    subsection,
                    name,
                    value,
                });
            }
            _ => return None,
        }
    }
}

/// The part of the text that was not read yet.
struct ConfigCursor<'t>(&'t str);

impl ConfigCursor<'_> {
    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut signs = self.0.chars();
        let sign = signs.next();
        self.0 = signs.as_str();
        sign
    }

    fn skip_blank(&mut self) {
        self.0 = self
            .0
            .trim_start_matches(|sign: char| sign.is_ascii_whitespace());
    }

    fn skip_line(&mut self) {
        self.0 = self.0.split_once('\n').map_or("", |(_, rest)| rest);
    }

    /// `[section]`, `[section "subsection"]` or the old `[section.subsection]`.
    fn header(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let mut section = String::new();
        let mut old: Option<String> = None;
        loop {
            match self.next()? {
                ']' => return Some((section, old)),
                '.' if old.is_none() => old = Some(String::new()),
                sign @ ('a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.') => old
                    .as_mut()
                    .unwrap_or(&mut section)
                    .push(sign.to_ascii_lowercase()),
                // Git joins both parts then: a form that no program writes.
                ' ' | '\t' if old.is_some() => return None,
                ' ' | '\t' => break,
                _ => return None,
            }
        }
        self.0 = self.0.trim_start_matches([' ', '\t']);
        if self.next()? != '"' {
            return None;
        }
        let mut subsection = String::new();
        loop {
            match self.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => subsection.push(self.next().filter(|sign| *sign != '\n')?),
                sign => subsection.push(sign),
            }
        }
        (self.next()? == ']').then_some((section, Some(subsection)))
    }

    fn name(&mut self) -> String {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
        let end = self.0.find(|sign| !is_part(sign)).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        self.0 = rest;
        name.to_ascii_lowercase()
    }

    /// The value after a name, to the end of its last line. The outer `None` is for an error.
    #[expect(
        clippy::option_option,
        reason = "an entry without a value is not an error"
    )]
    fn value(&mut self) -> Option<Option<String>> {
        self.0 = self.0.trim_start_matches([' ', '\t']);
        match self.peek() {
            None => return Some(None),
            Some('\n') => {
                self.next();
                return Some(None);
            }
            Some('\r') if self.0.starts_with("\r\n") => {
                self.0 = self.0.trim_start_matches("\r\n");
                return Some(None);
            }
            Some('#' | ';') => {
                self.skip_line();
                return Some(None);
            }
            Some('=') => {
                self.next();
            }
            Some(_) => return None,
        }
        self.0 = self.0.trim_start_matches([' ', '\t']);
        let mut value = String::new();
        // Blanks at the end count only within quotes.
        let mut kept = 0;
        let mut is_quoted = false;
        loop {
            match self.next() {
                None | Some('\n') if is_quoted => return None,
                None | Some('\n') => break,
                Some('\r') if self.peek() == Some('\n') => {}
                Some('#' | ';') if !is_quoted => {
                    self.skip_line();
                    break;
                }
                Some('"') => {
                    is_quoted = !is_quoted;
                    kept = value.len();
                }
                Some('\\') => {
                    match self.next()? {
                        '\n' => continue,
                        '\r' if self.peek() == Some('\n') => {
                            self.next();
                            continue;
                        }
                        't' => value.push('\t'),
                        'n' => value.push('\n'),
                        'b' => value.push('\u{8}'),
                        sign @ ('"' | '\\') => value.push(sign),
                        _ => return None,
                    }
                    kept = value.len();
                }
                Some(sign) => {
                    value.push(sign);
                    if is_quoted || !sign.is_ascii_whitespace() {
                        kept = value.len();
                    }
                }
            }
        }
        value.truncate(kept);
        Some(Some(value))
    }
}

/// Maximum size of a file of git that is read by its path, in bytes.
const MAX_FILE: u64 = 256 * 1024;

/// The text of a small regular file of git's. `None` if there is none; a pipe in its place is not waited for.
pub(super) fn read_git_file(path: &Path) -> Option<String> {
    let mut options = File::options();
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = options.read(true).custom_flags(flags.bits()).open(path);
    let file = file.ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs_program(text: &str) -> bool {
        let parsed = parse(text.as_bytes());
        parsed.is_none_or(|entries| entries.iter().any(ConfigEntry::runs_program))
    }

    fn entries(text: &str) -> Vec<(String, Option<String>)> {
        let parsed = parse(text.as_bytes()).unwrap();
        let pairs = parsed.into_iter().map(|entry| (entry.key(), entry.value));
        pairs.collect()
    }

    /// Spec: [BASH-207]
    #[test]
    fn a_configuration_is_read_as_git_reads_it() {
        let text = "# text\n[core]\n\tbare = false ; text\n[Remote \"o\\\"x\"]URL=\"a # b\" c  \n\
                    [branch.Main]\n merge = a\\\n  b\\t\n[user] name\r\n";
        let wanted = [
            ("core.bare", Some("false")),
            ("remote.o\"x.url", Some("a # b c")),
            ("branch.main.merge", Some("a  b\t")),
            ("user.name", None),
        ];
        let wanted = wanted.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
        assert_eq!(entries(text), wanted);
        assert_eq!(
            entries("\u{feff}[a]\nb =\n"),
            [("a.b".to_owned(), Some(String::new()))]
        );
        for text in [
            "key = before any section\n",
            "[a\nb = c\n",
            "[a]\nb = \"c\n",
            "[a]\nb = \\q\n",
            "[a]\nb c\n",
            "[a.b \"c\"]\nd = e\n",
            "[a]\nb = c\0d\n",
            "[a]\n1 = b\n",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    /// Spec: [BASH-207]
    #[test]
    fn keys_that_run_a_program_are_found() {
        for plain in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
            "[remote \"origin\"]\n\turl = https://[::1]/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[remote \"origin\"]\n\turl = git@host:a/b.git\n[branch \"main\"]\n\tremote = origin\n\trebase = true\n",
            "[pull]\n\trebase = false\n[push]\n\tautoSetupRemote = true\n[diff]\n\talgorithm = histogram\n",
            "[core]\n\tlongpaths = true\n\tfsmonitor = true\n[extensions]\n\tpartialClone = origin\n",
            "[remote \"origin\"]\n\tpromisor = true\n\tgh-resolved = base\n[submodule \"a\"]\n\tactive = true\n\turl = ../a\n",
            "[alias]\n\tco = checkout\n[pager]\n\tlog = false\n[merge]\n\ttool = meld\n",
            "[user]\n name = ana\n signingkey = ~/.ssh/id.pub\n[gpg]\n format = ssh\n[commit]\n gpgsign = true\n",
        ] {
            assert!(!runs_program(plain), "{plain}");
        }
        for other in [
            "[core]\n\tfsmonitor = evil\n",
            "[core] fsmonitor = evil\n",
            "[core]\n\tfsmonitor = \"tr\"ue-evil\n",
            "[CORE]\nhooksPath = x\n",
            "[core]\n\tfilemode = \\\ntrue\n\tsshCommand = evil\n",
            "[core]\n\talternateRefsCommand = evil\n",
            "[alias]\n\tst = !evil\n",
            "[alias]\n\tst = -c core.pager=evil log\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:/\"]\n\tpath = x\n",
            "[remote \"origin\"]\n\tuploadpack = evil\n",
            "[remote \"origin\"]\n\turl = ext::sh -c evil\n",
            "[url \"ext::sh -c evil \"]\n\tinsteadOf = https://\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[diff \"x\"]\n\ttextconv = evil\n",
            "[merge]\n\ttool = ../../evil\n",
            "[submodule \"a\"]\n\tupdate = !evil\n",
            "[credential \"https://x\"]\n\thelper = evil\n",
            "[gpg \"ssh\"]\n\tprogram = evil\n\tdefaultKeyCommand = evil\n",
            "[pager]\n\tlog = evil\n",
            "[rebase]\n\tinstructionFormat = %s%nexec evil\n",
            "[init]\n\ttemplateDir = evil\n",
            "[sequence]\n\teditor = evil\n",
            "[interactive]\n\tdiffFilter = evil\n",
            "[hook \"x\"]\n\tevent = pre-commit\n",
            "no configuration\n",
        ] {
            assert!(runs_program(other), "{other}");
        }
    }
}
