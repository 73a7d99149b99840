use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Spec: [VIEW-11], [VIEW-17]
    #[test]
    fn a_part_that_grows_looks_as_a_whole_one(
        text in "(\\PC|\n|\n\n|\r\n|\r|\t|\u{1b}\\[1m|\u{1b}\\]0;|- a\n|```\n|\\*\\*){0,80}",
        steps in proptest::collection::vec(1_usize..30, 1..20),
        width in 1_u16..60,
    ) {
        for form in [GrowingForm::Markdown, GrowingForm::Thinking] {
            let mut growing = GrowingPart::new(form);
            let mut end = 0;
            for step in steps.iter().cycle() {
                end = text.ceil_char_boundary((end + step).min(text.len()));
                let shown = growing.layout(&text[..end], width);
                let whole = GrowingPart::new(form).into_block(&text[..end], usize::from(width));
                prop_assert_eq!(shown, &whole, "{:?}", &text[..end]);
                if end == text.len() {
                    break;
                }
            }
        }
    }
}

/// Spec: [VIEW-17]
#[test]
fn another_width_or_a_shorter_text_begins_anew() {
    let mut growing = GrowingPart::new(GrowingForm::Markdown);
    growing.layout("one two three\n\nfour\n\n", 40);
    let narrow = growing.layout("one two three\n\nfour\n\nfive", 14).clone();
    assert_eq!(
        narrow,
        GrowingPart::new(GrowingForm::Markdown).into_block("one two three\n\nfour\n\nfive", 14)
    );
    let shorter = growing.layout("six", 14).clone();
    assert_eq!(
        shorter,
        GrowingPart::new(GrowingForm::Markdown).into_block("six", 14)
    );
}

/// Spec: [VIEW-17]
#[test]
fn a_long_text_is_not_read_again() {
    for form in [GrowingForm::Markdown, GrowingForm::Thinking] {
        let mut growing = GrowingPart::new(form);
        let mut text = String::new();
        for _ in 0..3_000 {
            text.push_str("Some words of a **paragraph** that goes on.\n\n");
            growing.layout(&text, 80);
            assert_eq!(growing.taken, text.len());
            let final_rows = match form {
                GrowingForm::Markdown => growing.markdown.final_rows(),
                GrowingForm::Thinking => growing.rows,
            };
            assert!(growing.block.rows.len() - final_rows <= 2);
        }
    }
}
