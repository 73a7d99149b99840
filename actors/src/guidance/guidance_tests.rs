//! Tests of system prompts and look-ups.

use super::*;

fn guidance() -> Guidance {
    let file = |path: &str, text: &str| ContextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let skill = |name: &str, hidden| Skill {
        name: name.to_owned(),
        description: "When.".to_owned(),
        content: format!("Of {name}."),
        hidden,
        path: None,
    };
    Guidance {
        context_files: vec![
            file("/home/AGENTS.md", "First.\n"),
            file("/srv/project/AGENTS.md", "\nUse <b> & \"quotes\".\n\n"),
            file("/srv/\"x\"/AGENTS.md", " \n"),
        ],
        skills: vec![skill("b", false), skill("a", false), skill("c", true)],
        templates: vec![PromptTemplate {
            name: "review".to_owned(),
            ..PromptTemplate::default()
        }],
        problems: Vec::new(),
    }
}

/// Spec: [GUIDE-12] [GUIDE-13]
#[test]
fn the_system_prompt_is_the_base_then_the_context_files_then_the_skills() {
    let guidance = guidance();
    let files = "<context_file path=\"/home/AGENTS.md\">\nFirst.\n</context_file>\n\n\
                 <context_file path=\"/srv/project/AGENTS.md\">\nUse <b> & \"quotes\".\n</context_file>";
    let skills = listing(&guidance.skills);
    assert_eq!(
        guidance.system_prompt("Be brief.", true),
        format!("Be brief.\n\n{files}\n\n{skills}")
    );
    assert_eq!(
        guidance.system_prompt("Be brief.", false),
        format!("Be brief.\n\n{skills}")
    );
    assert_eq!(guidance.system_prompt(" ", false), skills);
    assert_eq!(Guidance::default().system_prompt("", true), "");
    assert_eq!(Guidance::default().system_prompt("Be.\n", true), "Be.\n");
}

/// Spec: [GUIDE-12]
#[test]
fn the_order_in_which_skills_were_found_makes_no_difference() {
    let mut guidance = guidance();
    let prompt = guidance.system_prompt("x", true);
    guidance.skills.reverse();
    assert_eq!(guidance.system_prompt("x", true), prompt);
}

/// Spec: [GUIDE-02]
#[test]
fn skills_and_templates_are_found_by_their_whole_name() {
    let guidance = guidance();
    let content = |name| guidance.skill(name).map(|skill| &*skill.content);
    assert_eq!(content("a"), Some("Of a."));
    assert_eq!(content("c"), Some("Of c."));
    assert_eq!(content("C"), None);
    assert_eq!(content(""), None);
    assert!(guidance.template("review").is_some());
    assert!(guidance.template("rev").is_none());
}

/// Spec: [GUIDE-14]
#[test]
fn what_is_in_use_stays_when_another_takes_its_place() {
    let shelf = GuidanceShelf::default();
    let other = shelf.clone();
    let before = shelf.get();
    other.set(guidance());
    assert_eq!(*before, Guidance::default());
    assert_eq!(*shelf.get(), guidance());
}
