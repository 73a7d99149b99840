//! `/v1/skills` and `/v1/templates`, and saying one to a conversation.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use harness_actors::guidance::{Guidance, PromptTemplate, Skill, parse_arguments};
use harness_protocol::{
    RunRules, SkillList, SkillOrder, SkillSummary, TemplateList, TemplateOrder, TemplateSummary,
};
use serde::Deserialize;

use super::ask::{Name, query};
use super::body::{self, MAX_BODY_BYTES};
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::said::{SubmittedText, key_of, name_of, say};
use super::shared::HttpShared;
use super::workspace;

/// The folder that is looked in.
#[derive(Debug, Clone, Default, Deserialize)]
struct InFolder {
    workspace: Option<String>,
}

/// Maximum number of names that a refusal lists.
const MAX_NAMES: usize = 50;

/// Lists the skills.
pub(super) async fn skills(request: HttpRequest, shared: web::Data<HttpShared>) -> HandlerResult {
    let guidance = asked_for(&request, &shared).await?;
    Ok(HttpResponse::Ok().json(SkillList {
        skills: guidance.skills.iter().map(skill_summary).collect(),
        problems: guidance.problems.clone(),
    }))
}

/// Shows one skill.
pub(super) async fn skill(
    request: HttpRequest,
    name: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let skill = find_skill(&*asked_for(&request, &shared).await?, &name)?;
    Ok(HttpResponse::Ok().json(SkillSummary {
        content: Some(skill.content.clone()),
        ..skill_summary(&skill)
    }))
}

/// Lists the templates.
pub(super) async fn templates(
    request: HttpRequest,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let guidance = asked_for(&request, &shared).await?;
    Ok(HttpResponse::Ok().json(TemplateList {
        templates: guidance.templates.iter().map(template_summary).collect(),
        problems: guidance.problems.clone(),
    }))
}

/// Shows one template.
pub(super) async fn template(
    request: HttpRequest,
    name: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let template = find_template(&*asked_for(&request, &shared).await?, &name)?;
    Ok(HttpResponse::Ok().json(TemplateSummary {
        content: Some(template.content.clone()),
        ..template_summary(&template)
    }))
}

/// Starts a run of a conversation with a skill.
pub(super) async fn say_skill(it: Received) -> HandlerResult {
    let order: SkillOrder = body::json(&it.request, it.payload).await?;
    let key = key_of(&it.request, order.key)?;
    let (conversation, folder) = workspace::ready(&it.shared, &it.id).await?;
    let skill = find_skill(&it.shared.guidance.get(&folder), &order.name)?;
    let said = SubmittedText {
        schema: None,
        conversation,
        folder,
        content: skill.invocation(&order.instructions.texts()),
        key,
        by: name_of(order.by),
        files: Vec::new(),
        rules: RunRules::default(),
    };
    say(&it.shared, &it.id, said, order.queue).await
}

/// Starts a run of a conversation with a template.
pub(super) async fn say_template(it: Received) -> HandlerResult {
    let order: TemplateOrder = body::json(&it.request, it.payload).await?;
    let key = key_of(&it.request, order.key)?;
    let arguments = match (order.arguments, order.line) {
        (Some(_), Some(_)) => {
            return Err(Kind::BadRequest.refuse("send either arguments or a line of them"));
        }
        (Some(arguments), None) => arguments,
        (None, line) => parse_arguments(&line.unwrap_or_default()),
    };
    let (conversation, folder) = workspace::ready(&it.shared, &it.id).await?;
    let template = find_template(&it.shared.guidance.get(&folder), &order.name)?;
    // As long as a prompt can be.
    let content = template.expand_within(&arguments, MAX_BODY_BYTES);
    let content = content.ok_or_else(|| {
        let detail = format!("with its arguments the text has more than {MAX_BODY_BYTES} bytes");
        Kind::BadRequest.refuse(detail)
    })?;
    let said = SubmittedText {
        schema: None,
        conversation,
        folder,
        content,
        key,
        by: name_of(order.by),
        files: Vec::new(),
        rules: RunRules::default(),
    };
    say(&it.shared, &it.id, said, order.queue).await
}

/// The guidance of the folder that the query names, or else of the service's own.
async fn asked_for(request: &HttpRequest, shared: &HttpShared) -> Result<Arc<Guidance>, Refusal> {
    let InFolder { workspace } = query(request)?;
    let folder = match workspace {
        None => shared.workspace.to_path_buf(),
        Some(path) => workspace::choose(request, shared, &path).await?,
    };
    shared.guidance.refresh(&folder).await;
    Ok(shared.guidance.get(&folder))
}

fn find_skill(guidance: &Guidance, name: &str) -> Result<Skill, Refusal> {
    let names = || guidance.skills.iter().map(|skill| &*skill.name);
    let found = guidance.skill(name).cloned();
    found.ok_or_else(|| Kind::NoSkill.refuse(missing("skill", name, names())))
}

fn find_template(guidance: &Guidance, name: &str) -> Result<PromptTemplate, Refusal> {
    let names = || guidance.templates.iter().map(|template| &*template.name);
    let found = guidance.template(name).cloned();
    found.ok_or_else(|| Kind::NoTemplate.refuse(missing("template", name, names())))
}

/// The text that a name was not found, with the names that exist.
fn missing<'n>(kind: &str, name: &str, names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let listed: Vec<&str> = names.take(MAX_NAMES).collect();
    let listed = listed.join(", ");
    match (&*listed, more) {
        ("", _) => format!("there is no {kind} {name:?}, and no other"),
        (_, 0) => format!("there is no {kind} {name:?}; there are: {listed}"),
        _ => format!("there is no {kind} {name:?}; there are: {listed}, and {more} more"),
    }
}

fn skill_summary(skill: &Skill) -> SkillSummary {
    SkillSummary {
        name: skill.name.clone(),
        description: skill.description.clone(),
        hidden: skill.hidden,
        path: skill.path.clone(),
        content: None,
    }
}

fn template_summary(template: &PromptTemplate) -> TemplateSummary {
    TemplateSummary {
        name: template.name.clone(),
        description: template.description.clone(),
        path: template.path.clone(),
        content: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [GUIDE-51]
    #[test]
    fn what_there_is_not_is_named_with_what_there_is() {
        let told = |names: &[&str]| missing("skill", "x\n", names.iter().copied());
        assert_eq!(told(&[]), r#"there is no skill "x\n", and no other"#);
        assert_eq!(
            told(&["a", "b"]),
            r#"there is no skill "x\n"; there are: a, b"#
        );
        let told = told(&["a"; MAX_NAMES + 2]);
        assert!(told.ends_with("a, a, and 2 more"), "{told}");
    }
}
