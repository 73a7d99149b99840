//! The thread that reads code: it loads the syntaxes when it is first asked, answers the newest
//! request first, and remembers where it stopped in a few codes.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use syntect::parsing::SyntaxSet;

use super::Language;
use super::parse::{CodeKey, LostLines, Parse, ParsedColours, ReadColours, Request};
use super::scopes::Scopes;

/// In how many codes it is known where the last request ended.
const MAX_PARSES: usize = 8;

/// Starts the thread. It ends when the sender is dropped, or `answer` returns false because its receiver was dropped.
///
/// # Errors
/// If the thread cannot be started.
pub(crate) fn start(
    answer: impl Fn(ParsedColours) -> bool + Send + 'static,
) -> io::Result<Sender<Request>> {
    let (sender, requests) = channel();
    let work = move || {
        let mut reader = CodeReader::new();
        serve(&requests, &mut |request| answer(reader.answer(&request)));
    };
    thread::Builder::new()
        .name("colours".to_owned())
        .spawn(work)?;
    Ok(sender)
}

/// Handles requests, the newest first, until an answer has no receiver or no more requests can come.
fn serve(requests: &Receiver<Request>, answer: &mut dyn FnMut(Request) -> bool) {
    let mut waiting = Vec::new();
    while let Ok(request) = requests.recv() {
        waiting.push(request);
        loop {
            waiting.extend(requests.try_iter());
            let Some(newest) = waiting.pop() else {
                break;
            };
            if !answer(newest) {
                return;
            }
        }
    }
}

/// Reads code and remembers where it stopped.
pub(super) struct CodeReader {
    set: SyntaxSet,
    scopes: Scopes,
    /// Those that were used last are the last.
    parses: Vec<(CodeKey, Language, Parse)>,
}

impl CodeReader {
    /// Loads the syntaxes.
    pub(super) fn new() -> Self {
        Self {
            set: two_face::syntax::extra_newlines(),
            scopes: Scopes::new(),
            parses: Vec::new(),
        }
    }

    /// The colours of a request's lines.
    pub(super) fn answer(&mut self, request: &Request) -> ParsedColours {
        ParsedColours {
            key: request.key,
            number: request.number,
            result: self.read(request),
        }
    }

    fn read(&mut self, request: &Request) -> Result<ReadColours, LostLines> {
        let at = self.parses.iter().position(|(key, ..)| *key == request.key);
        let known = at.map(|at| self.parses.remove(at));
        let goes_on = |(_, language, parse): &(CodeKey, Language, Parse)| {
            *language == request.language && parse.lines() == request.from
        };
        let mut parse = match known.filter(goes_on) {
            Some((.., parse)) => parse,
            None if request.from > 0 => return Err(LostLines),
            None => match Parse::new(&request.language, &self.set) {
                Some(parse) => parse,
                None => {
                    return Ok(ReadColours {
                        spans: Vec::new(),
                        is_over: true,
                    });
                }
            },
        };
        let read = parse.read(&request.text, &self.set, &mut self.scopes, &thread_time);
        if self.parses.len() >= MAX_PARSES {
            self.parses.remove(0);
        }
        let language = request.language.clone();
        self.parses.push((request.key, language, parse));
        Ok(read)
    }
}

/// Processor time of this thread: a busy machine costs no colours.
fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::PartId;

    fn request(code: usize, from: usize, text: &str) -> Request {
        Request {
            key: CodeKey {
                part: PartId(1),
                code,
            },
            number: 1,
            language: Language::of_fence("rust").unwrap(),
            from,
            text: text.to_owned(),
        }
    }

    /// Spec: [VIEW-285]
    #[test]
    fn the_newest_request_comes_first_and_what_was_forgotten_is_asked_for_anew() {
        let (sender, requests) = channel();
        for code in 0..3 {
            sender.send(request(code, 0, "let a;\n")).unwrap();
        }
        drop(sender);
        let mut seen = Vec::new();
        serve(&requests, &mut |request| {
            seen.push(request.key.code);
            true
        });
        assert_eq!(seen, [2, 1, 0]);

        let mut reader = CodeReader::new();
        for code in 0..=MAX_PARSES {
            reader.answer(&request(code, 0, "let a;\n")).result.unwrap();
        }
        assert_eq!(
            reader.answer(&request(0, 1, "let b;\n")).result,
            Err(LostLines)
        );
        let on = reader.answer(&request(MAX_PARSES, 1, "let b;\n")).result;
        assert_eq!(on.unwrap().spans[0].line, 1);
        let mut unknown = request(0, 0, "let a;\n");
        unknown.language = Language::of_fence("no-such-language").unwrap();
        assert!(reader.answer(&unknown).result.unwrap().is_over);
    }

    /// Spec: [VIEW-285]
    #[test]
    fn the_thread_answers_until_it_is_not_heard() {
        let (told, answers) = channel();
        let requests = start(move |answer| told.send(answer).is_ok()).unwrap();
        requests.send(request(0, 0, "fn main() {}\n")).unwrap();
        let read = answers.recv().unwrap().result.unwrap();
        assert!(!read.spans.is_empty() && !read.is_over);
    }
}
