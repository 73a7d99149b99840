//! Checks that the values of a file are of the right kind: reports the wrong ones, and fills in defaults.

use super::duration;
use super::keys::{FILE, KeyKind, KeySpec, TableSpec, Without};
use super::names;
use super::node::{Node, NodeEntry, Value};
use super::problem::FileProblem;
use super::spot::joined;
use crate::nearest::nearest;

/// The file with all defaults, and with [`Value::Wrong`] for each value that was reported.
pub(super) fn shaped(given: &Node, problems: &mut Vec<FileProblem>) -> Node {
    Shaping { problems }.section(given, &FILE, "")
}

struct Shaping<'p> {
    problems: &'p mut Vec<FileProblem>,
}

/// A value, or the reason why it cannot be used.
type ShapedValue<T> = Result<T, String>;

impl Shaping<'_> {
    fn tell(&mut self, place: String, line: Option<usize>, message: String) {
        self.problems.push(FileProblem {
            place,
            line,
            message,
        });
    }

    fn section(&mut self, given: &Node, section: &'static TableSpec, place: &str) -> Node {
        let line = given.line;
        let Value::Table(entries) = &given.value else {
            let name = if place.is_empty() { "the file" } else { place };
            let kind = given.value.kind();
            self.tell(
                name.to_owned(),
                line,
                format!("has to be a table, and is {kind}"),
            );
            return wrong(line);
        };
        self.tell_unknown(entries, section, place);
        self.tell_not_one(entries, section, place, line);
        let mut shaped = Vec::new();
        for key in section.keys() {
            let place = joined(place, key.name);
            let node = match given.get(key.name) {
                Some(node) => Some(self.value(node, key, &place)),
                None => self.without(key, &place, line),
            };
            shaped.extend(node.map(|node| NodeEntry {
                name: key.name.to_owned(),
                node,
            }));
        }
        Node {
            line,
            value: Value::Table(shaped),
        }
    }

    fn tell_unknown(&mut self, entries: &[NodeEntry], section: &'static TableSpec, place: &str) {
        let names = || section.keys().map(|key| key.name);
        for entry in entries {
            let name = &*entry.name;
            if names().any(|known| known == name) {
                continue;
            }
            let usable = section
                .keys()
                .filter(|key| !matches!(key.kind, KeyKind::Refused(_)));
            let usable = usable.map(|key| key.name);
            let way_out = match nearest(name, usable.clone()) {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => format!(
                    "the keys here are {}",
                    usable.collect::<Vec<_>>().join(", ")
                ),
            };
            let message = format!("unknown key {name:?}; {way_out}");
            self.tell(joined(place, name), entry.node.line, message);
        }
    }

    fn tell_not_one(
        &mut self,
        entries: &[NodeEntry],
        section: &TableSpec,
        place: &str,
        line: Option<usize>,
    ) {
        let is_given = |key: &&str| entries.iter().any(|entry| entry.name == *key);
        let given: Vec<&str> = section.one_of.iter().copied().filter(is_given).collect();
        if section.one_of.is_empty() || given.len() == 1 {
            return;
        }
        let ways = section.one_of.join(", ");
        let message = if given.is_empty() {
            format!("there is nothing to run; give one of {ways}")
        } else {
            format!(
                "{} cannot be together; give one of {ways}",
                given.join(" and ")
            )
        };
        self.tell(place.to_owned(), line, message);
    }

    /// The default of a key that is not given.
    fn without(&mut self, key: &KeySpec, place: &str, line: Option<usize>) -> Option<Node> {
        match (key.without, &key.kind) {
            (Without::Needed, _) => {
                let about = key.about;
                let message = format!("{:?} is missing; give it: {about}", key.name);
                self.tell(place.to_owned(), line, message);
                None
            }
            // Its keys have separate defaults, or are required.
            (Without::Nothing, KeyKind::One(section)) if section.one_of.is_empty() => {
                let value = Value::Table(Vec::new());
                Some(self.section(&Node { line, value }, section, place))
            }
            (without, _) => default(without).map(|value| Node { line, value }),
        }
    }

    fn value(&mut self, given: &Node, key: &KeySpec, place: &str) -> Node {
        let line = given.line;
        match &key.kind {
            KeyKind::One(section) => return self.section(given, section, place),
            KeyKind::Many(section) => return self.sections(given, section, place),
            KeyKind::Texts { min } => return self.texts(given, *min, place),
            KeyKind::TextMap => return self.text_map(given, place),
            KeyKind::Text
            | KeyKind::Id
            | KeyKind::Flag
            | KeyKind::Yes
            | KeyKind::Whole { .. }
            | KeyKind::Money
            | KeyKind::Time { .. }
            | KeyKind::OneOf { .. }
            | KeyKind::Refused(_) => {}
        }
        match single(&given.value, &key.kind) {
            Ok(()) => given.clone(),
            Err(message) => {
                self.tell(place.to_owned(), line, message);
                wrong(line)
            }
        }
    }

    /// The items of a list, or that it is none.
    fn items<'n>(&mut self, given: &'n Node, of: &str, place: &str) -> Option<&'n [Node]> {
        if let Value::List(items) = &given.value {
            return Some(items);
        }
        let message = format!("has to be a list of {of}, and is {}", given.value.kind());
        self.tell(place.to_owned(), given.line, message);
        None
    }

    fn sections(&mut self, given: &Node, section: &'static TableSpec, place: &str) -> Node {
        let Some(items) = self.items(given, "tables", place) else {
            return wrong(given.line);
        };
        let mut shaped = Vec::new();
        for (at, item) in items.iter().enumerate() {
            shaped.push(self.section(item, section, &format!("{place}[{at}]")));
        }
        list(given.line, shaped)
    }

    fn texts(&mut self, given: &Node, min: usize, place: &str) -> Node {
        let Some(items) = self.items(given, "texts", place) else {
            return wrong(given.line);
        };
        if items.len() < min {
            let message = "the list is empty; put something into it".to_owned();
            self.tell(place.to_owned(), given.line, message);
        }
        let mut shaped = Vec::new();
        for (at, item) in items.iter().enumerate() {
            // An argument of a program may be empty, the program itself not.
            let is_argument = min > 0 && at > 0;
            let told = if is_argument {
                any_text(&item.value)
            } else {
                text(&item.value)
            };
            shaped.push(match told {
                Ok(()) => item.clone(),
                Err(message) => {
                    self.tell(format!("{place}[{at}]"), item.line, message);
                    wrong(item.line)
                }
            });
        }
        list(given.line, shaped)
    }

    fn text_map(&mut self, given: &Node, place: &str) -> Node {
        let Value::Table(entries) = &given.value else {
            let kind = given.value.kind();
            let message = format!("has to be a table of texts, and is {kind}");
            self.tell(place.to_owned(), given.line, message);
            return wrong(given.line);
        };
        for entry in entries {
            if let Err(message) = any_text(&entry.node.value) {
                self.tell(joined(place, &entry.name), entry.node.line, message);
            }
        }
        given.clone()
    }
}

fn wrong(line: Option<usize>) -> Node {
    let value = Value::Wrong;
    Node { line, value }
}

fn list(line: Option<usize>, items: Vec<Node>) -> Node {
    let value = Value::List(items);
    Node { line, value }
}

/// The default of a key, if it has one.
fn default(without: Without) -> Option<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    match without {
        Without::Needed | Without::Nothing => None,
        Without::Text(type_name) => Some(text(type_name)),
        Without::Flag(flag) => Some(Value::Flag(flag)),
        Without::Whole(number) => Some(Value::Whole(number.into())),
        Without::Texts(texts) => {
            let item = |said: &&str| Node {
                line: None,
                value: text(said),
            };
            Some(Value::List(texts.iter().map(item).collect()))
        }
    }
}

/// Checks that a single value is of a kind.
fn single(value: &Value, kind: &KeyKind) -> ShapedValue<()> {
    match kind {
        KeyKind::Text => text(value),
        KeyKind::Id => text(value).and_then(|()| names::check(type_name(value))),
        KeyKind::Flag => is(matches!(value, Value::Flag(_)), value, "true or false"),
        KeyKind::Yes if *value == Value::Flag(false) => {
            Err("false says nothing; leave it out".to_owned())
        }
        KeyKind::Yes => is(*value == Value::Flag(true), value, "true"),
        KeyKind::Whole { min, max, or } => check_integer(value, *min, *max, *or),
        KeyKind::Money => money(value),
        KeyKind::Time { max, or } => time(value, *max, *or),
        KeyKind::OneOf { words, hint } => one_of(value, words, hint),
        KeyKind::Refused(why) => Err((*why).to_owned()),
        // These are looked at part by part.
        KeyKind::One(_) | KeyKind::Many(_) | KeyKind::Texts { .. } | KeyKind::TextMap => Ok(()),
    }
}

fn is(it_is: bool, value: &Value, wanted: &str) -> ShapedValue<()> {
    let message = || format!("has to be {wanted}, and is {}", value.kind());
    if it_is { Ok(()) } else { Err(message()) }
}

/// The text that a value is; the empty one if it is none.
fn type_name(value: &Value) -> &str {
    let Value::Text(text) = value else {
        return "";
    };
    text
}

fn any_text(value: &Value) -> ShapedValue<()> {
    is(matches!(value, Value::Text(_)), value, "a text")
}

fn text(value: &Value) -> ShapedValue<()> {
    any_text(value)?;
    if type_name(value).trim().is_empty() {
        return Err("is blank; write something".to_owned());
    }
    Ok(())
}

fn check_integer(value: &Value, min: i64, max: i64, or: Option<&str>) -> ShapedValue<()> {
    if or.is_some_and(|word| type_name(value) == word) {
        return Ok(());
    }
    let or = or.map_or_else(String::new, |word| format!(" or {word:?}"));
    if let Value::Text(text) = value {
        return Err(format!("{text:?} is no whole number{or}"));
    }
    if let Value::Number(number) = value {
        return Err(format!("{number} is no whole number{or}"));
    }
    let Value::Whole(number) = value else {
        return is(false, value, &format!("a whole number{or}"));
    };
    if *number < min.into() {
        return Err(format!("{number} is too small; the least is {min}"));
    }
    if *number > max.into() {
        return Err(format!("{number} is too large; the most is {max}"));
    }
    Ok(())
}

fn money(value: &Value) -> ShapedValue<()> {
    is(
        matches!(value, Value::Whole(_) | Value::Number(_)),
        value,
        "a number",
    )?;
    let is_whole = matches!(value, Value::Whole(number) if *number > 0);
    let usable =
        is_whole || matches!(value, Value::Number(number) if *number > 0.0 && number.is_finite());
    let message = "has to be a number above 0; leave it out for no bound";
    if usable {
        Ok(())
    } else {
        Err(message.to_owned())
    }
}

fn time(value: &Value, max: Option<u64>, or: Option<&str>) -> ShapedValue<()> {
    if or.is_some_and(|word| type_name(value) == word) {
        return Ok(());
    }
    let or = or.map_or_else(String::new, |word| format!(", or {word:?}"));
    any_text(value).map_err(|message| format!("{message}; write it like \"5m\"{or}"))?;
    let said = type_name(value);
    let Some(seconds) = duration::seconds(said) else {
        return Err(format!(
            "{said:?} is no time; write it like \"30s\", \"5m\" or \"1h30m\"{or}"
        ));
    };
    if seconds == 0 {
        return Err(format!("{said:?} is no time to do anything in; give more"));
    }
    match max {
        Some(max) if seconds > max => {
            let max = duration::text(max);
            Err(format!("{said:?} is too long; the most is {max}"))
        }
        Some(_) | None => Ok(()),
    }
}

fn one_of(value: &Value, words: &[&str], hint: &str) -> ShapedValue<()> {
    any_text(value)?;
    let said = type_name(value);
    if words.contains(&said) {
        return Ok(());
    }
    let mut message = format!("{said:?} is none of {}", words.join(", "));
    if !hint.is_empty() {
        message += "; ";
        message += hint;
    } else if let Some(meant) = nearest(said, words.iter().copied()) {
        message += &format!("; did you mean {meant:?}?");
    } else {
        message += "; write one of them";
    }
    Err(message)
}
