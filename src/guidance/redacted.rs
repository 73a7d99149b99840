//! Guidance without secrets.

use std::path::Path;

use harness_actors::Redaction;
use harness_actors::guidance::Guidance;

use super::file::display_path;

/// The same guidance with `***` in place of each secret. What has one in its name is left out: two
/// could have the same name then.
pub(super) fn redacted(mut guidance: Guidance, redaction: &Redaction) -> Guidance {
    let clean = |text: &mut String| *text = redaction.apply(std::mem::take(text));
    for file in &mut guidance.context_files {
        clean(&mut file.path);
        clean(&mut file.text);
    }
    let is_clean = |name: &str| redaction.apply(name.to_owned()) == name;
    let mut problems = Vec::new();
    let mut left_out = |path: &Option<String>| {
        let path = display_path(Path::new(path.as_deref().unwrap_or_default()));
        problems.push(format!("{path}: its name holds a secret; rename it"));
    };
    guidance.skills.retain(|skill| {
        let is_clean = is_clean(&skill.name);
        if !is_clean {
            left_out(&skill.path);
        }
        is_clean
    });
    guidance.templates.retain(|template| {
        let is_clean = is_clean(&template.name);
        if !is_clean {
            left_out(&template.path);
        }
        is_clean
    });
    for skill in &mut guidance.skills {
        clean(&mut skill.description);
        clean(&mut skill.content);
        skill.path.iter_mut().for_each(clean);
    }
    for template in &mut guidance.templates {
        clean(&mut template.description);
        clean(&mut template.content);
        template.path.iter_mut().for_each(clean);
    }
    guidance.problems.extend(problems);
    guidance.problems.iter_mut().for_each(clean);
    guidance
}

#[cfg(test)]
mod tests {
    use harness_actors::guidance::{ContextFile, PromptTemplate, Skill};

    use super::*;

    /// Spec: [GUIDE-66] [GUIDE-67]
    #[test]
    fn no_text_of_guidance_shows_a_secret() {
        let redaction = Redaction::new(vec!["sk-a-key".into()]);
        let skill = |name: &str| Skill {
            name: name.to_owned(),
            description: "for sk-a-key".to_owned(),
            content: "say sk-a-key".to_owned(),
            hidden: false,
            path: Some(format!("/sk-a-key/{name}/SKILL.md")),
        };
        let template = |name: &str| PromptTemplate {
            name: name.to_owned(),
            description: "sk-a-key".to_owned(),
            content: "$1 sk-a-key".to_owned(),
            path: Some(format!("/{name}.md")),
        };
        let guidance = Guidance {
            context_files: vec![ContextFile {
                path: "/sk-a-key/AGENTS.md".to_owned(),
                text: "sk-a-key, sk-a-key".to_owned(),
            }],
            skills: vec![skill("a"), skill("of-sk-a-key")],
            templates: vec![template("b"), template("b sk-a-key")],
            problems: vec!["/sk-a-key: it is not a file".to_owned()],
        };
        let clean = redacted(guidance, &redaction);
        assert!(!format!("{clean:?}").contains("sk-a-key"), "{clean:?}");
        assert_eq!(clean.context_files[0].text, "***, ***");
        assert_eq!((clean.skills.len(), clean.templates.len()), (1, 1));
        assert_eq!(clean.skills[0].content, "say ***");
        assert_eq!(clean.templates[0].content, "$1 ***");
        assert_eq!(
            clean.problems,
            [
                "/***: it is not a file",
                "/***/of-***/SKILL.md: its name holds a secret; rename it",
                "/b ***.md: its name holds a secret; rename it",
            ]
        );
        let same = redacted(clean.clone(), &redaction);
        assert_eq!(same, clean);
    }
}
