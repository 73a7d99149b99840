//! Splits a prompt into clauses of words; what is quoted stays whole.

/// One word, or several in quotes or backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) quoted: bool,
}

impl Word {
    /// True if the word is one of these, which are separated by spaces, in any case, and not quoted.
    pub(super) fn is_one_of(&self, plain: &str) -> bool {
        !self.quoted
            && plain
                .split(' ')
                .any(|word| self.text.eq_ignore_ascii_case(word))
    }

    /// True if the word can hardly be anything but a path.
    pub(super) fn looks_like_path(&self) -> bool {
        self.quoted || self.text.contains(['.', '/'])
    }
}

/// The words of one clause of a sentence.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) words: Vec<Word>,
    /// True if a comma or "and" joins it to the clause before it.
    pub(super) continues: bool,
}

/// The end of a clause.
#[derive(PartialEq, Eq)]
enum End {
    None,
    Clause,
    Sentence,
}

/// The clauses between commas, line ends, sentence ends, "and" and "then".
pub(super) fn clauses(prompt: &str) -> Vec<Clause> {
    let mut clauses = Vec::new();
    for line in prompt.lines() {
        let mut clause = Clause::default();
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let (word, mut end, after) = next_word(rest);
            if word.is_one_of("and then") {
                end = End::Clause;
            } else if !word.text.is_empty() {
                clause.words.push(word);
            }
            if end != End::None {
                // In ", and" it is the comma that ends the clause.
                let continues =
                    end == End::Clause && (clause.continues || !clause.words.is_empty());
                clauses.push(std::mem::replace(
                    &mut clause,
                    Clause {
                        continues,
                        ..Clause::default()
                    },
                ));
            }
            rest = after.trim_start();
        }
        clauses.push(clause);
    }
    clauses.retain(|clause| !clause.words.is_empty());
    clauses
}

/// The first word of a text, what ends after it, and the rest.
fn next_word(text: &str) -> (Word, End, &str) {
    if let Some((quoted, after)) = quotation(text) {
        let word = Word {
            text: quoted.to_owned(),
            quoted: true,
        };
        // Whatever sticks to the closing quote can only be punctuation.
        let tail = after.find(char::is_whitespace).unwrap_or(after.len());
        return (word, ended_by(&after[..tail]), &after[tail..]);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (raw, after) = text.split_at(end);
    let opened = raw.trim_start_matches('(');
    // "." and ".." are folders.
    let bare = if opened.chars().all(|c| c == '.') {
        opened
    } else {
        opened.trim_end_matches([',', ';', ':', '.', '?', '!', ')'])
    };
    let word = Word {
        text: bare.to_owned(),
        quoted: false,
    };
    (word, ended_by(&opened[bare.len()..]), after)
}

fn ended_by(punctuation: &str) -> End {
    if punctuation.contains(['.', '?', '!']) {
        End::Sentence
    } else if punctuation.contains([',', ';']) {
        End::Clause
    } else {
        End::None
    }
}

/// The text inside the quotes that open here, and what follows them.
fn quotation(text: &str) -> Option<(&str, &str)> {
    let open = text.chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '“' => '”',
        _ => return None,
    };
    let inside = &text[open.len_utf8()..];
    let (quoted, after) = inside.split_once(close)?;
    (!quoted.is_empty()).then_some((quoted, after))
}
