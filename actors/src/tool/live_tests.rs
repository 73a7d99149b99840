//! A call's output is shown the same, whatever the pieces in which it is written.

use actix::prelude::*;

use super::*;
use crate::ids::ConversationId;

/// Takes what the tools' actor would be told.
struct Ear;

impl Actor for Ear {
    type Context = Context<Self>;
}

impl Handler<Wrote> for Ear {
    type Result = ();

    fn handle(&mut self, _: Wrote, _: &mut Context<Self>) {}
}

fn output() -> LiveOutput {
    let call_id = CallId {
        conversation: ConversationId::new("c"),
        number: 1,
    };
    LiveOutput::for_call(call_id, Ear.start().recipient())
}

/// How much memory the text takes that waits.
fn memory(output: &LiveOutput) -> usize {
    output.lock().unwrap().waiting.capacity()
}

const KEY: &str = "sk-of-the-service-0123456789";
/// No character of what stands around a secret is one of it, so that none of it may be seen.
const AROUND: [&str; 5] = ["é", "..\n", "\r  ", "🦀", "\n"];

/// The secret in its forms: as it is, and in hexadecimal.
fn forms() -> [String; 2] {
    let hex = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    [KEY.to_owned(), hex]
}

/// The output of a call, with whole secrets in it.
fn text(random: &mut fastrand::Rng, bytes: usize) -> String {
    let forms = forms();
    let mut text = String::new();
    while text.len() < bytes {
        if random.u8(..) < 20 {
            text += &forms[random.usize(..forms.len())];
        } else {
            text += AROUND[random.usize(..AROUND.len())];
        }
    }
    text
}

/// The next place to cut a text at, somewhere behind `at`.
fn cut(random: &mut fastrand::Rng, text: &str, at: usize, most: usize) -> usize {
    let end = (at + random.usize(1..=most)).min(text.len());
    text.ceil_char_boundary(end)
}

/// Spec: [TOOL-52]
#[actix::test]
async fn pieces_are_what_was_written_without_secrets_wherever_it_was_cut() {
    let redaction = Redaction::new(vec![KEY.into(), "two lines\nof a secret".into()]);
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let text = text(&mut random, 4000) + "two lines\nof a secret.";
        let whole = redaction.apply(text.clone());
        let output = output();
        let (mut at, mut seen) = (0, String::new());
        while at < text.len() {
            let end = cut(&mut random, &text, at, 60);
            output.write(&text[at..end]);
            at = end;
            if random.bool()
                && let Some(piece) = output.next(&redaction)
            {
                assert_eq!(piece.offset, seen.len() as u64, "seed {seed}");
                seen += &piece.text;
                assert!(whole.starts_with(&seen), "seed {seed}: {seen}");
            }
        }
        while let Some(piece) = output.next(&redaction) {
            seen += &piece.text;
        }
        // At the end nothing may be the start of another one.
        assert_eq!(seen, whole, "seed {seed}");
    }
}

/// Spec: [TOOL-52]
#[actix::test]
async fn what_is_left_out_leaves_a_gap_and_no_part_of_a_secret() {
    let redaction = Redaction::new(vec![KEY.into()]);
    let mut gaps = 0;
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let text = text(&mut random, 400_000);
        let output = output();
        let (mut at, mut end_of_last) = (0, 0);
        while at < text.len() {
            let most = [10, 5_000, 90_000][random.usize(..3)];
            let end = cut(&mut random, &text, at, most);
            output.write(&text[at..end]);
            at = end;
            assert!(memory(&output) < 2 * MAX_WAITING);
            let Some(piece) = output.next(&redaction) else {
                continue;
            };
            assert!(piece.text.len() <= MAX_PIECE + KEY.len() * 2);
            assert!(piece.offset >= end_of_last, "seed {seed}");
            gaps += usize::from(piece.offset > end_of_last);
            end_of_last = piece.offset + piece.text.len() as u64;
            let is_secret = |c: char| KEY.contains(c) || c.is_ascii_hexdigit();
            let shown = piece.text.find(is_secret);
            assert_eq!(shown, None, "seed {seed}: {}", piece.text);
        }
        assert!(end_of_last <= text.len() as u64);
    }
    assert!(gaps > 100, "{gaps}");
}

/// Spec: [TOOL-52]
#[actix::test]
async fn a_hundred_megabytes_take_no_more_memory_than_a_few_lines() {
    let redaction = Redaction::new(vec![KEY.into()]);
    let output = output();
    let line = "Compiling a crate\n".repeat(50);
    let mut shown = 0;
    for number in 0..120_000 {
        output.write(&line);
        if number % 1000 == 0 {
            shown += output.next(&redaction).unwrap().text.len();
        }
        assert!(memory(&output) < 2 * MAX_WAITING);
    }
    assert!(shown <= 120 * MAX_PIECE, "{shown}");
}

/// Spec: [TOOL-52]
#[actix::test]
async fn a_secret_that_is_longer_than_what_is_kept_hides_all_that_may_be_of_it() {
    let long = "0123456789abcdef".repeat(8 * 1024);
    let redaction = Redaction::new(vec![long.as_str().into()]);
    let output = output();
    for piece in long.as_bytes().chunks(1000) {
        output.write(std::str::from_utf8(piece).unwrap());
        assert_eq!(output.next(&redaction), None);
    }
    // It is not known where it would end.
    output.write("and what follows\n");
    assert_eq!(output.next(&redaction), None);
}
