//! The requests, and the painted marks.

use proptest::prelude::*;

use super::testing::*;
use super::thread::CodeReader;
use super::*;
use crate::theme::Token;

/// Spec: [VIEW-285]
#[test]
fn code_is_asked_for_once_and_only_as_far_as_it_is_near_the_screen() {
    let mut colours = CodeColours::default();
    let block = block("rust", &"let a = 1;\n".repeat(100));
    let wanted = colours.wanted(&part(1), &block, 50);
    assert_eq!(wanted.len(), 1);
    assert_eq!(wanted[0].text.lines().count(), 5);
    // It is on its way.
    assert_eq!(colours.wanted(&part(1), &block, 500), []);
    assert!(colours.marks(part(1).id, &block, &(0..50)).is_empty());
    assert!(colours.take(answer(&wanted[0])));
    assert_eq!(colours.wanted(&part(1), &block, 50), []);
    let marks = colours.marks(part(1).id, &block, &(0..20));
    assert_eq!(
        words(&block, &marks),
        ["Keyword let", "Constant 1", "Keyword let", "Constant 1"]
    );
    let further = colours.wanted(&part(1), &block, 500);
    assert_eq!((further[0].from, further.len()), (5, 1));
    // An answer to a question that nobody asked changes nothing.
    assert!(!colours.take(answer(&wanted[0])));
}

/// Spec: [VIEW-284]
#[test]
fn code_that_is_another_is_read_anew_and_one_without_a_language_is_not_read() {
    let mut colours = CodeColours::default();
    let mut reader = CodeReader::new();
    let first = block("rust", "let a;\nlet b;\n");
    settle(&mut colours, &mut reader, &part(1), &first);
    let other = block("rust", "// no\nlet b;\n");
    settle(&mut colours, &mut reader, &part(2), &other);
    let marks = colours.marks(part(1).id, &other, &(0..99));
    assert_eq!(words(&other, &marks), ["Comment // no", "Keyword let"]);
    for word in ["", "text", "no-such-language", "diff"] {
        let plain = block(word, "let a;\n");
        settle(&mut colours, &mut reader, &part(3), &plain);
        assert!(colours.marks(part(1).id, &plain, &(0..99)).is_empty());
    }
    let script = block("", "#!/bin/sh\n# why\n");
    settle(&mut colours, &mut reader, &part(4), &script);
    let marks = colours.marks(part(1).id, &script, &(0..99));
    assert!(marks.iter().any(|mark| mark.token == Token::Comment));
    colours.clear();
    assert!(colours.marks(part(1).id, &script, &(0..99)).is_empty());
}

/// Spec: [VIEW-285]
#[test]
fn an_answer_that_the_thread_cannot_give_is_asked_for_from_the_start() {
    let mut colours = CodeColours::default();
    let block = block("rust", &"let a = 1;\n".repeat(20));
    let first = colours.wanted(&part(1), &block, 50);
    colours.take(answer(&first[0]));
    let second = colours.wanted(&part(1), &block, 500);
    // Another thread does not know where this one was.
    assert!(colours.take(answer(&second[0])));
    let anew = colours.wanted(&part(1), &block, 500);
    assert_eq!((anew[0].from, anew.len()), (0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Spec: [VIEW-284]
    #[test]
    fn a_code_that_grows_letter_by_letter_ends_as_one_that_came_at_once(
        text in "(let [a-c] = \"?[a-z]{0,4}\"?; |// [a-z]{0,5}|/\\*|\\*/|\n){0,20}",
        step in 1_usize..9,
    ) {
        let mut reader = CodeReader::new();
        let mut growing = CodeColours::default();
        let mut revision = 0;
        let ends = (0..text.len()).step_by(step).chain([text.len()]);
        for end in ends {
            revision += 1;
            let now = block("rust", &text[..end]);
            settle(&mut growing, &mut reader, &part(revision), &now);
        }
        let whole = block("rust", &text);
        let mut at_once = CodeColours::default();
        settle(&mut at_once, &mut CodeReader::new(), &part(1), &whole);
        let all = 0..text.len() + 1;
        prop_assert_eq!(
            growing.marks(part(1).id, &whole, &all),
            at_once.marks(part(1).id, &whole, &all)
        );
    }
}
