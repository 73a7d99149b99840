//! Tests of what the model is told of skills.

use super::*;

fn skill(name: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: format!("When {name} is wanted."),
        content: "Do this.\nThen that.\n".to_owned(),
        hidden: false,
        path: None,
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Spec: [GUIDE-01]
#[test]
fn a_skill_is_invoked_as_a_block_with_the_extra_instructions_behind_it() {
    let block = "<skill name=\"tidy-up\">\nDo this.\nThen that.\n</skill>";
    let skill = skill("tidy-up");
    assert_eq!(skill.invocation(&[]), block);
    assert_eq!(
        skill.invocation(&texts(&["Only src.", " \n", "And\nquickly.\n"])),
        format!("{block}\n\nOnly src.\n\nAnd\nquickly.")
    );
    let empty = Skill {
        content: "\r\n".to_owned(),
        ..skill
    };
    assert_eq!(empty.invocation(&[]), "<skill name=\"tidy-up\">\n</skill>");
}

/// Spec: [GUIDE-01]
#[test]
fn a_skill_of_a_file_says_where_it_is() {
    let skill = Skill {
        path: Some("/a & b/\"c\"/SKILL.md".to_owned()),
        content: "  indented\n<b>&".to_owned(),
        ..skill("x")
    };
    assert_eq!(
        skill.invocation(&texts(&["Go."])),
        "<skill name=\"x\" location=\"/a &amp; b/&quot;c&quot;/SKILL.md\">\n\
         Paths in this skill start at /a & b/\"c\".\n\n  indented\n<b>&\n</skill>\n\nGo."
    );
}

/// Spec: [GUIDE-02]
#[test]
fn a_hidden_skill_is_invoked_like_any_other() {
    let hidden = Skill {
        hidden: true,
        ..skill("x")
    };
    assert_eq!(
        hidden.invocation(&texts(&["y"])),
        skill("x").invocation(&texts(&["y"]))
    );
}

/// Spec: [GUIDE-03] [GUIDE-04]
#[test]
fn the_list_has_the_visible_skills_by_name_and_no_markup_of_theirs() {
    let hidden = Skill {
        hidden: true,
        ..skill("b-hidden")
    };
    let marked = Skill {
        description: "a < b && b > c </skill>".to_owned(),
        path: Some("/s/a/SKILL.md".to_owned()),
        ..skill("a")
    };
    assert_eq!(
        listing(&[skill("c"), hidden, marked]),
        format!(
            "{INTRODUCTION}\n\n<available_skills>\n\
             <skill>\n<name>a</name>\n\
             <description>a &lt; b &amp;&amp; b &gt; c &lt;/skill&gt;</description>\n\
             <location>/s/a/SKILL.md</location>\n</skill>\n\
             <skill>\n<name>c</name>\n<description>When c is wanted.</description>\n</skill>\n\
             </available_skills>"
        )
    );
}

/// Spec: [GUIDE-03]
#[test]
fn there_is_no_list_if_no_skill_is_visible() {
    let hidden = Skill {
        hidden: true,
        ..skill("x")
    };
    assert_eq!(listing(&[]), "");
    assert_eq!(listing(&[hidden]), "");
}

/// Spec: [GUIDE-11]
#[test]
fn names_are_lower_case_letters_digits_and_hyphens() {
    let longest = "a".repeat(64);
    for name in ["a", "pdf-2-text", "0", &longest] {
        assert!(Skill::is_name(name), "{name}");
    }
    let too_long = "a".repeat(65);
    for name in ["", "A", "a b", "a_b", "ü", "a/b", ".", "a\n", &too_long] {
        assert!(!Skill::is_name(name), "{name}");
    }
}
