//! The changes that hold from the next run on: the model, the tools, the guidance, skills and
//! templates.

use harness_protocol::{SettingRow, ThinkingLevel};
use serde_json::json;

use super::testing::*;
use super::*;
use crate::guidance::{PromptTemplate, Skill};
use crate::model::ScriptedReply;

/// Spec: [LIB-21] [CONF-69]
#[actix::test]
async fn settings_hold_from_the_next_run_on() {
    let (model, mut options) = scripted();
    options.tools = named(&["a"]);
    options.config.settings.system_prompt = "old".to_owned();
    let harness = Harness::start(options).unwrap();
    let gate = Gate::default();
    model.push(gate.before(calls(&[("1", "a")])));
    for reply in ["x", "y", "z"] {
        model.push(ScriptedReply::text(reply));
    }
    let prompting = harness.clone();
    let prompting = actix::spawn(async move { prompting.prompt("one").await });
    gate.reached().await;
    harness.set_model("second").await.unwrap();
    harness.set_system_prompt("new").await.unwrap();
    harness
        .set_thinking_level(Some(ThinkingLevel::High))
        .await
        .unwrap();
    harness.set_tools(named(&["b"])).await.unwrap();
    gate.open();
    prompting.await.unwrap().unwrap();
    harness.prompt("two").await.unwrap();
    let requests = model.requests();
    for request in &requests[..2] {
        assert_eq!(request["model"], "first");
        assert_eq!((system(request), offered(request)), ("old", vec!["a"]));
    }
    // The call came when its tool was gone.
    let unknown = r#"user: result {"error":"unknown tool: a"}"#;
    assert!(said(&requests[1]["messages"]).contains(&unknown.to_owned()));
    assert_eq!(requests[2]["model"], "second");
    assert_eq!(
        (system(&requests[2]), offered(&requests[2])),
        ("new", vec!["b"])
    );
    let settings = harness.settings().await.unwrap().settings;
    assert_eq!(settings.thinking, Some(ThinkingLevel::High));

    harness.set_thinking_level(None).await.unwrap();
    let settings = harness.settings().await.unwrap();
    assert_eq!(
        (settings.settings.thinking, settings.effective.thinking),
        (None, None)
    );
    let blank = harness.set_model(" ").await;
    let Err(HarnessError::Invalid(told)) = blank else {
        panic!("{blank:?}");
    };
    let model = SettingRow::named("model").unwrap();
    assert_eq!(told.to_string(), model.refuse(&json!(" ")));
    assert_eq!(harness.settings().await.unwrap(), settings);
}

/// Spec: [LIB-22] [LIB-24]
#[actix::test]
async fn a_name_that_no_tool_has_drops_out_until_one_has_it() {
    let (model, mut options) = scripted();
    options.tools = named(&["a", "b", "c"]);
    let harness = Harness::start(options).unwrap();
    harness.set_active_tools(&["c", "a"]).await.unwrap();
    harness.set_tools(named(&["b", "a"])).await.unwrap();
    assert_eq!(names(&harness.tools()), ["b", "a"]);
    assert_eq!(names(&harness.active_tools().await.unwrap()), ["a"]);
    // What is gone is no reason against another setting.
    harness.set_model("second").await.unwrap();
    model.push(ScriptedReply::text("well"));
    harness.prompt("Hi!").await.unwrap();
    assert_eq!(offered(&model.requests()[0]), ["a"]);
    harness.set_tools(named(&["c", "b", "a"])).await.unwrap();
    assert_eq!(names(&harness.active_tools().await.unwrap()), ["c", "a"]);
    harness.set_tools(named(&["b"])).await.unwrap();
    assert_eq!(names(&harness.active_tools().await.unwrap()), [""; 0]);

    let refused = harness.set_tools(named(&["b", "b"])).await;
    assert!(
        matches!(refused, Err(HarnessError::Tools(_))),
        "{refused:?}"
    );
    assert_eq!(names(&harness.tools()), ["b"]);
}

/// Spec: [CONV-89] [LIB-24]
#[actix::test]
async fn the_model_is_offered_the_tools_that_are_named() {
    let (model, mut options) = scripted();
    options.tools = named(&["a", "b", "c"]);
    options.config.settings.active_tools = vec!["c".to_owned(), "a".to_owned()];
    let harness = Harness::start(options).unwrap();
    let shown = async |expected: &[&str]| {
        assert_eq!(names(&harness.active_tools().await.unwrap()), expected);
        assert_eq!(names(&harness.tools()), ["a", "b", "c"]);
        model.push(ScriptedReply::text("well"));
        harness.prompt("Hi!").await.unwrap();
        assert_eq!(offered(model.requests().last().unwrap()), expected);
    };
    shown(&["a", "c"]).await;
    harness.set_active_tools(&["b"]).await.unwrap();
    shown(&["b"]).await;
    let unknown = HarnessError::UnknownTool {
        name: "d".to_owned(),
        tools: "a, b, c, web_search, web_fetch".to_owned(),
    };
    assert_eq!(harness.set_active_tools(&["a", "d"]).await, Err(unknown));
    shown(&["b"]).await;
    // All of them, not those that it began with.
    harness.set_active_tools(&[]).await.unwrap();
    shown(&["a", "b", "c"]).await;
}

fn skill(name: &str, hidden: bool) -> Skill {
    Skill {
        name: name.to_owned(),
        description: format!("how to {name}"),
        content: format!("Do {name}."),
        hidden,
        path: None,
    }
}

/// Spec: [LIB-35]
#[actix::test]
async fn skills_are_told_and_invoked() {
    let (model, mut options) = scripted();
    options.tools = named(&["a"]);
    options.skills = vec![skill("open", false), skill("secret", true)];
    let harness = Harness::start(options).unwrap();
    let gate = Gate::default();
    model.push(gate.before(calls(&[("1", "a")])));
    for reply in ["x", "y"] {
        model.push(ScriptedReply::text(reply));
    }
    let invoking = harness.clone();
    let invoking = actix::spawn(async move { invoking.skill("secret", &["Now.", "Here."]).await });
    gate.reached().await;
    let mut copy = harness.skills();
    copy.clear();
    assert_eq!(
        harness.skills(),
        [skill("open", false), skill("secret", true)]
    );
    harness.set_skills(vec![skill("other", false)]);
    gate.open();
    invoking.await.unwrap().unwrap();
    harness.prompt("Hi!").await.unwrap();
    let requests = model.requests();
    let invoked = skill("secret", true).invocation(&["Now.".to_owned(), "Here.".to_owned()]);
    assert_eq!(said(&requests[0]["messages"]), [format!("user: {invoked}")]);
    for (number, request) in requests.iter().enumerate() {
        let told = system(request);
        assert_eq!(told.contains("how to open"), number < 2, "{told}");
        assert_eq!(told.contains("how to other"), number == 2, "{told}");
        assert!(!told.contains("how to secret"), "{told}");
    }
    let unknown = HarnessError::UnknownSkill {
        name: "open".to_owned(),
        skills: "other".to_owned(),
    };
    assert_eq!(harness.skill("open", &[]).await, Err(unknown));
    harness.set_skills(vec![]);
    model.push(ScriptedReply::text("z"));
    harness.prompt("Hi!").await.unwrap();
    assert_eq!(model.requests()[3]["system"], json!(null));
}

/// Spec: [LIB-36]
#[actix::test]
async fn templates_are_prompts() {
    let (model, mut options) = scripted();
    let template = |content: &str| PromptTemplate {
        name: "compare".to_owned(),
        content: content.to_owned(),
        ..PromptTemplate::default()
    };
    options.templates = vec![template("$2 or $1? ($@)")];
    let harness = Harness::start(options).unwrap();
    model.push(ScriptedReply::text("x"));
    harness
        .prompt_from_template("compare", &["a b", "c"])
        .await
        .unwrap();
    assert_eq!(requests(&model)[0], ["user: c or a b? (a b c)"]);
    let mut copy = harness.prompt_templates();
    copy.clear();
    assert_eq!(harness.prompt_templates().len(), 1);
    harness.set_prompt_templates(vec![template(" ")]);
    assert_eq!(harness.prompt_templates(), [template(" ")]);
    let blank = harness.prompt_from_template("compare", &[]).await;
    assert_eq!(blank, Err(HarnessError::Blank));
    harness.set_prompt_templates(vec![]);
    let unknown = HarnessError::UnknownTemplate {
        name: "compare".to_owned(),
        templates: "none".to_owned(),
    };
    assert_eq!(
        harness.prompt_from_template("compare", &[]).await,
        Err(unknown)
    );
}
