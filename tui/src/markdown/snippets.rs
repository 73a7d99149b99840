//! The code blocks of a text, for copying them.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// The content of each code block, from top to bottom.
pub(crate) fn code_blocks(source: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for event in Parser::new(source) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented)) => {
                open = Some(String::new());
            }
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-35]
    #[test]
    fn code_blocks_are_found_without_their_fences() {
        let source = "text `inline`\n\n```rust\nlet a;\n\nlet b;\n```\n\n- item\n  ~~~\n  in a list\n  ~~~\n\n```\nnot closed";
        assert_eq!(
            code_blocks(source),
            ["let a;\n\nlet b;\n", "in a list\n", "not closed"]
        );
        assert_eq!(code_blocks("none"), [""; 0]);
    }
}
