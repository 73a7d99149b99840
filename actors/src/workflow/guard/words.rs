//! The words of a shell's line, where it is plain what they run.

/// Words before the one that is run.
const PREFIXES: &[&str] = &[
    "!", "command", "do", "else", "env", "exec", "if", "nohup", "then", "time", "while",
];

/// The commands of a line: quotes are taken away, and nothing is put in for variables.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}') => {
                words.extend(word.take());
                all.push(std::mem::take(&mut words));
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.take());
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

/// A command from the word on that it runs: without variables, and without what only starts another one.
pub(super) fn unprefixed(words: &[String]) -> &[String] {
    let mut rest = words;
    while let [first, more @ ..] = rest {
        let is_variable = first
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'));
        if first == "timeout" {
            let options = more.iter().take_while(|word| word.starts_with('-')).count();
            // The duration.
            rest = more.get(options + 1..).unwrap_or_default();
        } else if is_variable || PREFIXES.contains(&first.as_str()) {
            rest = more;
        } else {
            break;
        }
    }
    rest
}

/// True if a word names no file below the root that is known here.
pub(super) fn is_absolute_or_unknown(path: &str) -> bool {
    path.starts_with(['/', '~', '-']) || path.contains(['$', '`', '*', '<', '>'])
}

/// A path below a folder, without `.` and `..`. `None` if it leads out of the root.
pub(super) fn joined(folder: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in folder.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}
