//! Copying what is in the conversation.

use super::{App, AppEffect};
use crate::conversation::{CallOutcome, PartKind};
use crate::text::{Hidden, sanitize};

impl App {
    /// Copies the last reply, one of its code blocks, or the whole conversation.
    pub(super) fn copy(&mut self, argument: &str) {
        let text = match argument {
            "all" => Some(self.whole_text()),
            "" => self.last_reply().map(str::to_owned),
            number => number.parse().ok().and_then(|number: usize| {
                let reply = self.last_reply()?;
                let block = crate::markdown::code_blocks(reply);
                block.get(number.checked_sub(1)?).cloned()
            }),
        };
        match text {
            Some(text) if !text.is_empty() => {
                // Whatever it is pasted into may be a shell.
                let text = sanitize(&text, Hidden::Dropped);
                self.effects.push(AppEffect::Copy(text));
            }
            _ => self.complain("there is nothing like that to copy"),
        }
    }

    fn last_reply(&self) -> Option<&str> {
        let texts = self.conversation.parts().rev();
        texts.into_iter().find_map(|part| match &part.kind {
            PartKind::Text { content, .. } => Some(content.as_str()),
            _ => None,
        })
    }

    /// The loaded part of the conversation, as text.
    fn whole_text(&self) -> String {
        let texts = self.conversation.parts().map(|part| match &part.kind {
            PartKind::User { content, .. } => format!("> {}", content.replace('\n', "\n> ")),
            PartKind::Text { content, .. } | PartKind::Reasoning { content, .. } => content.clone(),
            PartKind::Tool(tool) => match &tool.outcome {
                CallOutcome::Ended(result) => {
                    let cut = match result.is_whole {
                        true => "",
                        false => "\n(the rest was not loaded)",
                    };
                    format!("{} {}\n{}{cut}", tool.name, tool.input, result.text)
                }
                _ => format!("{} {}", tool.name, tool.input),
            },
            PartKind::Command(ran) => format!("! {}\n{}", ran.command, ran.result.text),
            PartKind::RunEnd { facts } => facts.clone(),
            PartKind::Summary { title, content } => format!("{title}\n{content}"),
            PartKind::Change { title, diff, .. } => format!("{title}\n{diff}"),
            PartKind::Note { text, .. } => text.clone(),
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}
