//! A pattern for commands: its words, and the reach of a command that it covers.

use harness_protocol::{Access, CommandPlan, hidden};

use super::command_line::{self, Complex, LineCommands, ShellWord};
use super::glob::{self, Glob};
use super::{loose, programs};

/// The reach of a command or an MCP server, or the one that a rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CommandReach {
    /// Neither the network nor what is outside of the containment.
    Near,
    /// Also the network.
    Network,
    /// Everything that its user reaches.
    Full,
}

impl CommandReach {
    /// The reach of a command.
    pub(super) const fn for_plan(plan: &CommandPlan) -> Self {
        Self::new(plan.access, plan.network)
    }

    /// The reach with an access, and with the network if `network` is true. An access that is not known is the widest.
    pub(super) const fn new(access: Access, network: bool) -> Self {
        match access {
            Access::Full | Access::Unknown => Self::Full,
            Access::Read | Access::Write if network => Self::Network,
            Access::Read | Access::Write => Self::Near,
        }
    }

    /// The reason why an operator is asked about so much. `None` if there is none.
    pub(super) const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Near => None,
            Self::Network => Some("it may reach the network"),
            Self::Full => Some("it has full access, so nothing contains it"),
        }
    }

    /// How a rule says it, behind the name of the tool.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Near => "",
            Self::Network => "+network",
            Self::Full => "!full",
        }
    }

    /// Whether a rule that allows so much covers a command that reaches so far. Full access is a thing of
    /// its own: who allows it has a command in mind that needs it.
    const fn allows(self, command: Self) -> bool {
        match self {
            Self::Near => matches!(command, Self::Near),
            Self::Network => matches!(command, Self::Near | Self::Network),
            Self::Full => matches!(command, Self::Full),
        }
    }
}

/// The commands that a rule covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPattern {
    reach: CommandReach,
    commands: Vec<CommandWords>,
}

/// The words of one command of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CommandWords {
    words: Vec<Vec<Glob>>,
    /// Whether any words may follow.
    is_open: bool,
    /// The words that a rule that denies looks for in a command that cannot be read word by word.
    sequence: loose::Sequence,
    /// Why no rule that allows may say this, if none may.
    too_wide: Option<String>,
}

impl CommandPattern {
    /// Reads the text in the parentheses of a rule.
    ///
    /// # Errors
    /// Names the first thing in the text that is no plain word.
    pub(super) fn parse(reach: CommandReach, text: &str) -> Result<Self, Complex> {
        let commands = command_line::parse_pattern(text)?;
        let commands = commands.into_iter().map(CommandWords::new).collect();
        Ok(Self { reach, commands })
    }

    pub(super) const fn reach(&self) -> CommandReach {
        self.reach
    }

    /// Why no rule that allows may say this, if none may.
    pub(super) fn too_wide(&self) -> Option<&str> {
        let mut commands = self.commands.iter();
        commands.find_map(|command| command.too_wide.as_deref())
    }

    /// True if a rule that allows covers a command: word by word, and no command that reaches further.
    pub(super) fn allows(&self, words: &[String], reach: CommandReach) -> bool {
        let covers = |command: &CommandWords| command.allows(words);
        self.reach.allows(reach) && self.commands.iter().any(covers)
    }

    /// True if a rule that denies or asks covers a line: one command of it is enough, and one that reaches
    /// further than the rule says is covered too.
    ///
    /// A program counts with and without the folders before it, and options may be before a word
    /// that the rule names. In the arguments of a program that runs them, and in a line that is complex or
    /// gives commands to a shell, the rule's words are looked for in their order, whatever is between.
    pub(super) fn touches(
        &self,
        line: &str,
        parts: Result<&LineCommands, &Complex>,
        reach: CommandReach,
    ) -> bool {
        let touches = |command: &CommandWords| command.touches(line, parts);
        reach >= self.reach && self.commands.iter().any(touches)
    }
}

impl CommandWords {
    fn new(mut words: Vec<ShellWord>) -> Self {
        let too_wide = too_wide(&words);
        let sequence = loose::Sequence::from_words(&words);
        let is_open = words.pop_if(|last| is_star(last)).is_some();
        Self {
            words: words.iter().map(globs).collect(),
            is_open,
            sequence,
            too_wide,
        }
    }

    /// True if a rule that allows covers a command, word by word.
    fn allows(&self, words: &[String]) -> bool {
        let (named, more) = match words.split_at_checked(self.words.len()) {
            Some(split) if self.too_wide.is_none() => split,
            Some(_) | None => return false,
        };
        let covers = |globs: &[Glob], word: &str| {
            let mut name = globs.iter().take_while(|glob| **glob != Glob::Just('='));
            let is_named = !name.any(|glob| *glob == Glob::Any);
            glob::covers(globs, word) && (is_named || !programs::is_named_only(&words[0], word))
        };
        let mut pairs = self.words.iter().zip(named);
        pairs.all(|(globs, word)| covers(globs, word))
            && more
                .iter()
                .all(|word| self.is_open && covers(&[Glob::Any], word))
    }

    /// True if a rule that denies or asks covers a line.
    fn touches(&self, line: &str, parts: Result<&LineCommands, &Complex>) -> bool {
        let Ok(parts) = parts else {
            return self.sequence.is_in(line);
        };
        if loose::feeds_shell(line, Ok(parts)) && self.sequence.is_in(line) {
            return true;
        }
        parts.iter().any(|words| {
            let second = words.get(1).map(String::as_str);
            let runs = words
                .first()
                .and_then(|program| programs::runs_arguments(program, second));
            self.touches_words(words) || runs.is_some() && self.sequence.is_in(&words.join(" "))
        })
    }

    /// Whether the words of a command are those of the rule, options in front of them left out.
    fn touches_words(&self, words: &[String]) -> bool {
        let Some((program, arguments)) = words.split_first() else {
            return false;
        };
        let Some((named, wanted)) = self.words.split_first() else {
            return self.is_open;
        };
        let base = programs::base(program);
        // A program of git's own folder is the command that is behind its name.
        if let Some(command) = base.strip_prefix("git-") {
            let git = ["git", command].map(str::to_owned);
            let words: Vec<String> = git.into_iter().chain(arguments.iter().cloned()).collect();
            if self.touches_words(&words) {
                return true;
            }
        }
        if !glob::covers(named, program) && !glob::covers(named, base) {
            return false;
        }
        // For each number of wanted words, whether so many may be found so far; if so, whether the next word
        // may be the argument of an option, and left out with it.
        let mut found = vec![None; wanted.len() + 1];
        found[0] = Some(false);
        for word in arguments {
            if self.is_open && found[wanted.len()].is_some() {
                return true;
            }
            let is_option = word.starts_with(['-', '+']);
            let mut next = vec![None; wanted.len() + 1];
            for (count, globs) in wanted.iter().enumerate() {
                let Some(may_be_argument) = found[count] else {
                    continue;
                };
                if glob::covers(globs, word) {
                    next[count + 1] = Some(false);
                }
                if is_option || may_be_argument {
                    next[count] = Some(is_option);
                }
            }
            found = next;
        }
        found[wanted.len()].is_some()
    }
}

/// Why a rule that allows may not have these words, if it may not.
fn too_wide(words: &[ShellWord]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    if !program.stars.is_empty() {
        return Some("a rule that allows names its program".to_owned());
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    if let Err(complex) = command_line::check_words(&texts, true) {
        return Some(format!("it has {complex}, which no rule allows"));
    }
    if arguments.iter().all(|word| word.stars.is_empty()) {
        return None;
    }
    let name = &program.text;
    let second = texts.get(1).copied();
    if let Some(how) = programs::runs_arguments(name, second) {
        return Some(format!(
            "{name} {how}, so a wildcard would allow any command"
        ));
    }
    let is_any = arguments.first().is_some_and(|word| !word.stars.is_empty());
    (is_any && programs::has_commands(name)).then(|| {
        format!("{name} has commands that run their arguments, so a rule names which it allows")
    })
}

/// Whether a word of a rule is a wildcard and nothing else.
fn is_star(word: &ShellWord) -> bool {
    word.text == "*" && word.stars == [0]
}

fn globs(word: &ShellWord) -> Vec<Glob> {
    let of_character = |(at, c): (usize, char)| {
        if c == '*' && word.stars.binary_search(&at).is_ok() {
            Glob::Any
        } else {
            Glob::Just(c)
        }
    };
    word.text.char_indices().map(of_character).collect()
}

/// The pattern that covers a command of exactly these words; none if one of them cannot be shown in a line.
pub(super) fn exact(words: &[String]) -> Option<String> {
    let is_shown = |word: &String| !word.chars().any(|c| hidden::is_hidden(c) || c.is_control());
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    words.iter().all(is_shown).then(|| quoted.join(" "))
}

/// The pattern that is offered for a command: the name of a usual command with any arguments, or else its words. `None` if a
/// line cannot show it. With the network it has the words in any case.
pub(super) fn suggested(words: &[String], reach: CommandReach) -> Option<String> {
    let usual = programs::usual_name(words).filter(|_| reach == CommandReach::Near);
    let open = usual.and_then(exact).map(|name| format!("{name} *"));
    let covers = |pattern: &String| {
        let parsed = CommandPattern::parse(reach, pattern);
        parsed.is_ok_and(|parsed| parsed.allows(words, reach))
    };
    open.filter(covers).or_else(|| exact(words))
}

/// A word as a rule has it.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    // Nothing has a meaning in single quotes but the one that ends them.
    let pieces = word.split('\'').map(|piece| format!("'{piece}'"));
    let quoted = pieces.collect::<Vec<_>>().join("\"'\"");
    quoted.replace("''\"", "\"").replace("\"''", "\"")
}

#[cfg(test)]
#[path = "command_pattern_tests.rs"]
mod tests;
