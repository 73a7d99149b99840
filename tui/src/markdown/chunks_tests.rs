use super::*;

/// The chunks of a text: what kind, and its words. A `!` for those that may change.
fn chunks(source: &str) -> Vec<String> {
    let mut place = ChunkPlace::default();
    let mut chunks = Vec::new();
    while let Some(cut) = next(source, place) {
        let kind = match cut.chunk.kind {
            ChunkKind::Markdown => "text",
            ChunkKind::Opening => "open",
            ChunkKind::Code { .. } => "code",
            ChunkKind::Closing => "close",
        };
        let gap = if cut.chunk.has_gap { "+" } else { "" };
        let end = if cut.is_final { "" } else { "!" };
        chunks.push(format!("{gap}{kind}{end} {:?}", &source[cut.chunk.range]));
        place = cut.after;
    }
    chunks
}

/// Spec: [MARK-03]
#[test]
fn a_text_is_cut_where_nothing_behind_can_change_it() {
    let cases: [(&str, &[&str]); 11] = [
        ("", &[]),
        ("a\nb", &[r#"text! "a\nb""#]),
        ("a\n\nb\n", &[r#"text "a\n\n""#, r#"+text! "b\n""#]),
        // The line may become the next item.
        ("- a\n\n2", &[r#"text! "- a\n\n2""#]),
        ("- a\n\nb\n", &[r#"text "- a\n\n""#, r#"+text! "b\n""#]),
        ("- a\n\n- b\n\n  c\n", &[r#"text! "- a\n\n- b\n\n  c\n""#]),
        (
            "a\n```rs\nb\n\nc\n```\nd\n",
            &[
                r#"text "a\n""#,
                r#"open "```rs\n""#,
                r#"code "b\n\nc\n""#,
                r#"close "```\n""#,
                r#"text! "d\n""#,
            ],
        ),
        (
            "~~~\nb\n``",
            &[r#"open "~~~\n""#, r#"code "b\n""#, r#"code! "``""#],
        ),
        ("a\n\n```", &[r#"text! "a\n\n""#, r#"+open! "```""#]),
        // In a list, or not: it cannot be told without more.
        (
            "- a\n ```\n\nb\n\nc\n",
            &[r#"text! "- a\n ```\n\nb\n\nc\n""#],
        ),
        (
            "<!-- a\n\nb -->\n\nc\n",
            &[r#"text "<!-- a\n\nb -->\n\n""#, r#"+text! "c\n""#],
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(chunks(source), expected, "{source:?}");
    }
}
