//! Finds in a prompt what the demo has rules for.

use super::tool_wish::ToolWish;
use super::words::{Word, clauses};

/// Words without meaning for the rules at the beginning of a clause.
const OPENERS: &str = "about also can carefully could finally first hard hello hey hi i it like loud me \
    next now out over please think thinking to want would you";
/// Words between a verb and its path.
const FILLERS: &str = "all content contents dir directory everything file files folder for from in inside \
    is me of the under";
/// Words that ask for a long text.
const LONG: &str = "long story count stream";

/// The demo's understanding of a prompt.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prompt {
    /// The tool calls that it asks for, in order.
    pub(super) wishes: Vec<ToolWish>,
    /// True if it asks to think.
    pub(super) thinks: bool,
    /// True if it asks for a long text.
    pub(super) wants_long: bool,
    /// The clauses without a rule.
    pub(super) skipped: Vec<String>,
}

impl Prompt {
    pub(super) fn parse(text: &str) -> Self {
        let mut prompt = Self::default();
        for clause in clauses(text) {
            let says = |plain| clause.words.iter().any(|word| word.is_one_of(plain));
            prompt.thinks |= says("think thinking");
            prompt.wants_long |= says(LONG);
            let spoken = skip(&clause.words, OPENERS);
            let last = prompt.wishes.last().filter(|_| clause.continues);
            let wish = wish(spoken).or_else(|| more_of_the_same(last?, spoken));
            if let Some(wish) = wish {
                prompt.wishes.push(wish);
            } else if !spoken.is_empty() {
                prompt.skipped.push(joined(spoken));
            }
        }
        prompt
    }
}

/// The wish of one clause.
fn wish(clause: &[Word]) -> Option<ToolWish> {
    let (verb, rest) = clause.split_first()?;
    if verb.is_one_of("list ls") {
        return Some(list(rest));
    }
    if verb.is_one_of("what what's") {
        let (place, rest) = skip(rest, "is").split_first()?;
        let path = path(rest).filter(|_| place.is_one_of("in inside under"))?;
        return Some(ToolWish::List { path });
    }
    if verb.is_one_of("read cat open show") {
        return read(rest);
    }
    if verb.is_one_of("grep search find") {
        return search(rest);
    }
    if verb.is_one_of("change replace edit") {
        return change(rest);
    }
    if verb.is_one_of("write put") {
        return write(rest);
    }
    if verb.is_one_of("run execute start") {
        return run(rest);
    }
    if verb.is_one_of("look check stop end kill") {
        return job(verb, rest);
    }
    None
}

/// "hello to goodbye in notes.txt", "\"hello world\" with \"goodbye\" in notes.txt".
fn change(rest: &[Word]) -> Option<ToolWish> {
    let place = rest
        .iter()
        .rposition(|word| word.is_one_of("in inside of"))?;
    let (texts, place) = rest.split_at(place);
    let between = texts
        .iter()
        .position(|word| word.is_one_of("to into with by"))?;
    let (old, new) = (joined(&texts[..between]), joined(&texts[between + 1..]));
    let path = path(place).filter(|_| !old.is_empty())?;
    Some(ToolWish::Change { old, new, path })
}

/// "hello to notes.txt", "\"hello world\" into notes.txt".
fn write(rest: &[Word]) -> Option<ToolWish> {
    let place = rest.iter().rposition(|word| word.is_one_of("to into in"))?;
    let (content, place) = rest.split_at(place);
    let path = path(&place[1..])?;
    let content = joined(content);
    (!content.is_empty()).then_some(ToolWish::Write { content, path })
}

/// "`wc -l notes.txt`", "the command make", "`make serve` in the background".
fn run(rest: &[Word]) -> Option<ToolWish> {
    let (rest, background) = match rest {
        [rest @ .., within, the, place]
            if within.is_one_of("in") && the.is_one_of("the") && place.is_one_of("background") =>
        {
            (rest, true)
        }
        _ => (rest, false),
    };
    let command = joined(skip(rest, "the command"));
    (!command.is_empty()).then_some(ToolWish::Run {
        command,
        background,
    })
}

/// "look at job 1", "stop the job 1".
fn job(verb: &Word, rest: &[Word]) -> Option<ToolWish> {
    let [job, id] = skip(rest, "at on the") else {
        return None;
    };
    let id = id.text.parse().ok().filter(|_| job.is_one_of("job"))?;
    let stop = verb.is_one_of("stop end kill");
    Some(ToolWish::Job { id, stop })
}

fn list(rest: &[Word]) -> ToolWish {
    ToolWish::List {
        path: path(rest).unwrap_or_else(|| ".".to_owned()),
    }
}

/// "README.md", after "list src, " or "read Cargo.toml and ".
fn more_of_the_same(last: &ToolWish, clause: &[Word]) -> Option<ToolWish> {
    let [only] = skip(clause, FILLERS) else {
        return None;
    };
    match last {
        ToolWish::List { .. } => Some(ToolWish::List {
            path: only.text.clone(),
        }),
        ToolWish::Read { .. } if only.looks_like_path() => read(std::slice::from_ref(only)),
        ToolWish::Read { .. }
        | ToolWish::Search { .. }
        | ToolWish::Change { .. }
        | ToolWish::Write { .. }
        | ToolWish::Run { .. }
        | ToolWish::Job { .. } => None,
    }
}

/// "README.md", "README.md lines 1-20", "the first 20 lines of README.md", "x.rs from line 3".
fn read(rest: &[Word]) -> Option<ToolWish> {
    let numbers = |words: &[Word]| -> Vec<u64> {
        let plain = words.iter().filter(|word| !word.quoted);
        plain
            .flat_map(|word| word.text.split(['-', '–']))
            .filter_map(|number| number.parse().ok())
            .collect()
    };
    let rest = skip(rest, FILLERS);
    if let [first, count, rest @ ..] = rest
        && first.is_one_of("first")
        && let [count] = numbers(std::slice::from_ref(count))[..]
    {
        let path = path(skip(rest, "line lines"))?;
        return Some(ToolWish::Read {
            path,
            start: Some(1),
            end: Some(count),
        });
    }
    let (file, range) = rest.split_first()?;
    let says = |plain: &str| range.iter().any(|word| word.is_one_of(plain));
    let (start, end) = match (numbers(range).as_slice(), says("from"), says("lines")) {
        ([start, end, ..], _, _) => (Some(*start), Some(*end)),
        ([start], true, _) | ([start], _, true) => (Some(*start), None),
        ([line], false, false) if says("line") => (Some(*line), Some(*line)),
        ([] | [_], _, _) => (None, None),
    };
    Some(ToolWish::Read {
        path: file.text.clone(),
        start,
        end,
    })
}

/// "fn main in src", "for \"fn main\" in src", "for the word TODO".
fn search(rest: &[Word]) -> Option<ToolWish> {
    let rest = skip(rest, "for the word text string pattern");
    let split = rest
        .iter()
        .rposition(|word| word.is_one_of("in inside under"));
    let (pattern, place) = rest.split_at(split.unwrap_or(rest.len()));
    let pattern = match pattern.iter().find(|word| word.quoted) {
        Some(quoted) => quoted.text.clone(),
        None => joined(pattern),
    };
    if pattern.is_empty() {
        return None;
    }
    let path = path(place).unwrap_or_else(|| ".".to_owned());
    Some(ToolWish::Search { pattern, path })
}

/// The first word that is not a filler.
fn path(words: &[Word]) -> Option<String> {
    skip(words, FILLERS).first().map(|word| word.text.clone())
}

/// The words from the first on that is none of these, parted by spaces.
fn skip<'a>(words: &'a [Word], plain: &str) -> &'a [Word] {
    let start = words
        .iter()
        .position(|word| !word.is_one_of(plain))
        .unwrap_or(words.len());
    &words[start..]
}

fn joined(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(path: &str) -> ToolWish {
        ToolWish::List {
            path: path.to_owned(),
        }
    }

    fn read(path: &str, start: Option<u64>, end: Option<u64>) -> ToolWish {
        ToolWish::Read {
            path: path.to_owned(),
            start,
            end,
        }
    }

    fn search(pattern: &str, path: &str) -> ToolWish {
        ToolWish::Search {
            pattern: pattern.to_owned(),
            path: path.to_owned(),
        }
    }

    fn write(content: &str, path: &str) -> ToolWish {
        ToolWish::Write {
            content: content.to_owned(),
            path: path.to_owned(),
        }
    }

    fn change(old: &str, new: &str, path: &str) -> ToolWish {
        ToolWish::Change {
            old: old.to_owned(),
            new: new.to_owned(),
            path: path.to_owned(),
        }
    }

    fn run(command: &str) -> ToolWish {
        ToolWish::Run {
            command: command.to_owned(),
            background: false,
        }
    }

    fn start(command: &str) -> ToolWish {
        ToolWish::Run {
            command: command.to_owned(),
            background: true,
        }
    }

    fn job(id: u64, stop: bool) -> ToolWish {
        ToolWish::Job { id, stop }
    }

    #[test]
    fn phrases_become_wishes_in_order() {
        let rows = [
            ("list src", vec![list("src")]),
            ("List the folder src.", vec![list("src")]),
            ("what is in src?", vec![list("src")]),
            ("What's in the folder `my files`?", vec![list("my files")]),
            ("list the files in .", vec![list(".")]),
            ("ls", vec![list(".")]),
            (
                "write \"hello, world\" to notes.txt and change hello to good bye in notes.txt",
                vec![
                    write("hello, world", "notes.txt"),
                    change("hello", "good bye", "notes.txt"),
                ],
            ),
            (
                "please replace `a to b` with c in the file x",
                vec![change("a to b", "c", "x")],
            ),
            (
                "run `grep -c x y && true` and execute the command make",
                vec![run("grep -c x y && true"), run("make")],
            ),
            (
                "run `python3 -m http.server 8000` in the background, then look at job 1",
                vec![start("python3 -m http.server 8000"), job(1, false)],
            ),
            (
                "start make in the background. Please stop the job 12",
                vec![start("make"), job(12, true)],
            ),
            ("list src and tests", vec![list("src"), list("tests")]),
            ("read README.md", vec![read("README.md", None, None)]),
            (
                "read README.md lines 1-20",
                vec![read("README.md", Some(1), Some(20))],
            ),
            (
                "read README.md, lines 1 to 20",
                vec![read("README.md", None, None)],
            ),
            (
                "read a.rs lines 3 to 5",
                vec![read("a.rs", Some(3), Some(5))],
            ),
            ("read a.rs line 7", vec![read("a.rs", Some(7), Some(7))]),
            (
                "read Cargo.toml from line 3",
                vec![read("Cargo.toml", Some(3), None)],
            ),
            (
                "read the first 20 lines of a.rs",
                vec![read("a.rs", Some(1), Some(20))],
            ),
            (
                "read Makefile and b.rs",
                vec![read("Makefile", None, None), read("b.rs", None, None)],
            ),
            ("read a.rs and summarize", vec![read("a.rs", None, None)]),
            ("grep fn main in src", vec![search("fn main", "src")]),
            (
                "search for \"fn main, and more\" in src",
                vec![search("fn main, and more", "src")],
            ),
            ("find the word TODO", vec![search("TODO", ".")]),
            (
                "grep check in here in src/lib.rs",
                vec![search("check in here", "src/lib.rs")],
            ),
            (
                "Please list src, then read 'a b.txt'\ngrep x in y",
                vec![list("src"), read("a b.txt", None, None), search("x", "y")],
            ),
            ("think about what is in src", vec![list("src")]),
            ("a list of things I don't like", vec![]),
            ("list src. Thanks", vec![list("src")]),
            ("what is the time in London", vec![]),
            ("hello", vec![]),
            ("read", vec![]),
            ("", vec![]),
        ];
        for (text, expected) in rows {
            assert_eq!(Prompt::parse(text).wishes, expected, "{text}");
        }
    }

    #[test]
    fn moods_and_gaps_are_noticed() {
        let prompt = Prompt::parse("think out loud");
        assert!(prompt.thinks && prompt.wishes.is_empty() && prompt.skipped.is_empty());
        assert!(Prompt::parse("tell me a long story").wants_long);
        assert_eq!(
            Prompt::parse("list src and dance with me").skipped,
            ["dance with me"]
        );
    }
}
