//! Rust source as tokens: without comments, without the text of strings, without tests.

/// One token of Rust source. Literals and lifetimes are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name or a keyword.
    Name(String),
    /// `::`.
    Colons,
    /// Any other sign.
    Sign(char),
}

impl Token {
    /// The name, if it is one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn is(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }

    fn opens(&self) -> bool {
        matches!(self, Self::Sign('(' | '[' | '{'))
    }

    fn closes(&self) -> bool {
        matches!(self, Self::Sign(')' | ']' | '}'))
    }
}

/// The tokens of a product file.
pub(crate) fn product(text: &str) -> Vec<Token> {
    without_tests(&tokens(text))
}

fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |place: usize| chars.get(place).copied().unwrap_or('\0');
    let starts = |place: usize, with: &str| with.chars().zip(place..).all(|(c, p)| at(p) == c);
    let mut found = Vec::new();
    let mut place = 0;
    while place < chars.len() {
        let c = at(place);
        if starts(place, "//") {
            place = past_line(&chars, place);
        } else if starts(place, "/*") {
            place = past_comment(&chars, place);
        } else if let Some(end) = raw_string_end(&chars, place) {
            place = end;
        } else if c == '"' || (matches!(c, 'b' | 'c') && at(place + 1) == '"') {
            place = past_quoted(&chars, place + usize::from(c != '"'), '"');
        } else if c == '\'' && (at(place + 1) == '\\' || at(place + 2) == '\'') {
            place = past_quoted(&chars, place, '\'');
        } else if c == '\'' {
            place = past_word(&chars, place + 1);
        } else if c.is_alphabetic() || c == '_' {
            let raw = starts(place, "r#");
            let start = place + if raw { 2 } else { 0 };
            place = past_word(&chars, start);
            found.push(Token::Name(chars[start..place].iter().collect()));
        } else if c.is_ascii_digit() {
            place = past_word(&chars, place);
        } else if starts(place, "::") {
            found.push(Token::Colons);
            place += 2;
        } else {
            if !c.is_whitespace() {
                found.push(Token::Sign(c));
            }
            place += 1;
        }
    }
    found
}

fn past_line(chars: &[char], from: usize) -> usize {
    let rest = chars[from..].iter().position(|c| *c == '\n');
    rest.map_or(chars.len(), |length| from + length)
}

fn past_comment(chars: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut place = from;
    while place < chars.len() {
        match chars[place..].get(..2) {
            Some(['/', '*']) => depth += 1,
            Some(['*', '/']) => depth -= 1,
            _ => {
                place += 1;
                continue;
            }
        }
        place += 2;
        if depth == 0 {
            break;
        }
    }
    place
}

fn past_word(chars: &[char], from: usize) -> usize {
    let rest = chars[from..]
        .iter()
        .position(|c| !c.is_alphanumeric() && *c != '_');
    rest.map_or(chars.len(), |length| from + length)
}

fn past_quoted(chars: &[char], from: usize, quote: char) -> usize {
    let mut place = from + 1;
    while place < chars.len() && chars[place] != quote {
        place += if chars[place] == '\\' { 2 } else { 1 };
    }
    place + 1
}

/// The end of the raw string that begins here, if one does.
fn raw_string_end(chars: &[char], from: usize) -> Option<usize> {
    let letters = chars[from..].iter().take_while(|c| "rbc".contains(**c));
    let letters: String = letters.collect();
    if !matches!(letters.as_str(), "r" | "br" | "cr") {
        return None;
    }
    let begins_word = from == 0 || !(chars[from - 1].is_alphanumeric() || chars[from - 1] == '_');
    let behind = &chars[from + letters.len()..];
    let hashes = behind.iter().take_while(|c| **c == '#').count();
    if !begins_word || behind.get(hashes) != Some(&'"') {
        return None;
    }
    let end: Vec<char> = format!("\"{}", "#".repeat(hashes)).chars().collect();
    let content = from + letters.len() + hashes + 1;
    let length = chars[content..]
        .windows(end.len())
        .position(|window| window == end)?;
    Some(content + length + end.len())
}

/// The same without what is compiled for tests only.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        let end = attribute_end(tokens, place);
        match end {
            Some(end) if is_for_tests(&tokens[place..end]) => place = annotated_end(tokens, end),
            _ => {
                kept.push(tokens[place].clone());
                place += 1;
            }
        }
    }
    kept
}

fn attribute_end(tokens: &[Token], from: usize) -> Option<usize> {
    let is_one = tokens[from].is('#') && tokens.get(from + 1).is_some_and(|next| next.is('['));
    is_one.then(|| group_end(tokens, from + 1))
}

fn is_for_tests(attribute: &[Token]) -> bool {
    let says = |word: &str| attribute.iter().any(|token| token.name() == Some(word));
    attribute.get(2).and_then(Token::name) == Some("cfg") && says("test") && !says("not")
}

/// The end of the item, statement, field or arm after an attribute.
fn annotated_end(tokens: &[Token], from: usize) -> usize {
    let mut place = from;
    while let Some(end) = tokens.get(place).and_then(|_| attribute_end(tokens, place)) {
        place = end;
    }
    if tokens.get(place).and_then(Token::name) == Some("pub") {
        place += 1;
        if tokens.get(place).is_some_and(|token| token.is('(')) {
            place = group_end(tokens, place);
        }
    }
    let first = tokens.get(place).and_then(Token::name).unwrap_or_default();
    let items = [
        "fn",
        "mod",
        "struct",
        "enum",
        "impl",
        "trait",
        "use",
        "const",
        "static",
        "type",
        "async",
        "let",
        "macro_rules",
    ];
    let is_item = items.contains(&first);
    item_end(tokens, place, !is_item)
}

/// The end of the group that is opened here.
pub(crate) fn group_end(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(from) {
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth -= 1;
            if depth == 0 {
                return place + 1;
            }
        }
    }
    tokens.len()
}

/// The end of the item that begins here; of what may end with a comma, too.
pub(crate) fn item_end(tokens: &[Token], from: usize, comma_ends: bool) -> usize {
    let mut place = from;
    while let Some(token) = tokens.get(place) {
        if token.opens() {
            place = group_end(tokens, place);
            if token.is('{') {
                return place;
            }
        } else if token.is(';') || (comma_ends && token.is(',')) {
            return place + 1;
        } else if token.closes() {
            return place;
        } else {
            place += 1;
        }
    }
    place
}
