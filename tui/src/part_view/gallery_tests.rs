use super::tests::{INPUT, ended, note, part, reply, thinking, tool, user};
use super::*;
use crate::conversation::{Author, CallOutcome};
use crate::layout::picture::picture;
use crate::theme::{Depth, Scheme, Theme};

/// One of each, as a conversation could have them.
fn gallery() -> Vec<(Part, FoldAmount)> {
    let skipped = CallOutcome::Skipped {
        reason: "the run was cancelled".to_owned(),
    };
    let markdown = "The test waits on **wall-clock *time***. Two places matter:\n\n\
                    - `retry.rs:88` sleeps before it subscribes\n\
                    - the fixture reuses [one port](http://example.com/port)\n\n\
                    ```rust\nlet sub = hub.subscribe(after);\n```\n\n\
                    | File | Line |\n|---|--:|\n| retry.rs | 88 |\n\n> 漢字 quoted\n\n---\n\n# End";
    let parts = [
        user(
            "why does the retry test fail\n  on slow machines?",
            Author::You,
            false,
        ),
        user(
            "also look at the port",
            Author::Named("ana@laptop".to_owned()),
            true,
        ),
        user("and the log", Author::Unnamed, false),
        reply(markdown, false),
        reply("The first place", true),
        thinking("I should check the fixture first.\nThen the port."),
        tool(
            "read",
            INPUT,
            ended("80  async fn retry() {\n81  }\n", false),
        ),
        tool(
            "read",
            r#"{"path":"/etc/shadow"}"#,
            ended("permission denied\nuid 1000", true),
        ),
        tool("grep", r#"{"pattern":"sleep("}"#, CallOutcome::Running),
        tool("grep", r#"{"pattern":"sleep("}"#, CallOutcome::Waiting),
        tool("bash", r#"{"command":"rm -rf build"}"#, skipped),
        tool("", r#"{"pa"#, CallOutcome::Writing),
        note("The run was cancelled by ana@laptop.", false),
        note("the model does not answer", true),
    ];
    let end = part(PartKind::RunEnd {
        facts: "12 s · 3.1k in, 812 out".to_owned(),
    });
    let folded = tool("read", INPUT, ended("80  async fn retry() {\n", false));
    parts
        .into_iter()
        .map(|part| (part, FoldAmount::Cut))
        .chain([
            (folded.clone(), FoldAmount::Folded),
            (folded, FoldAmount::Head(8)),
            (thinking("So.\nThen."), FoldAmount::Folded),
            (end, FoldAmount::Folded),
        ])
        .collect()
}

/// All of the gallery, a blank row between the parts.
fn gallery_block(width: u16) -> PartLayout {
    let mut all = PartLayout::default();
    for (part, fold) in gallery() {
        let block = layout(&part, width, fold);
        let shift = u32::try_from(all.source.len()).unwrap();
        all.source.push_str(&block.source);
        for mut row in block.rows {
            for piece in &mut row.pieces {
                if let crate::layout::WordsOrigin::Source(range) = &mut piece.words {
                    *range = range.start + shift..range.end + shift;
                }
            }
            all.rows.push(row);
        }
        all.rows.push(ScreenRow::default());
    }
    all
}

/// Spec: [VIEW-10], [VIEW-11], [VIEW-12], [VIEW-13], [VIEW-14], [VIEW-15]
#[test]
fn parts_at_several_widths() {
    let theme = Theme::new(Scheme::Dark, Depth::Full);
    for width in [40, 80, 120] {
        let picture = picture(&gallery_block(width), &theme, width, &[]);
        insta::assert_snapshot!(format!("parts_{width}"), picture);
    }
}

/// Spec: [VIEW-04], [VIEW-05], [VIEW-06]
#[test]
fn parts_in_all_themes() {
    for scheme in Scheme::ALL {
        for depth in [Depth::Full, Depth::Palette, Depth::Sixteen, Depth::None] {
            let theme = Theme::new(scheme, depth);
            let picture = picture(&gallery_block(60), &theme, 60, &[]);
            insta::assert_snapshot!(format!("parts_{}_{depth:?}", scheme.name()), picture);
        }
    }
}
