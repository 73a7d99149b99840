//! The rules of what tools may change: of a conversation, and of folders.

use std::path::{Path, PathBuf};

use actix_web::{HttpRequest, HttpResponse, web};
use derive_more::{Display, From};
use harness_actors::blocking;
use harness_actors::conversation::messages::{
    ChangeConversationRules as Change, GetOverview, MAX_RULES, RulesChanged, RulesError,
};
use harness_actors::tool::Registry;
use harness_protocol::{ChangeRules, HeldRule, NewRule, RuleAction, Rules, Scope};

use super::ask::{Late, Name, ask_conversation, order_to, refuse_read, refuse_submit};
use super::body;
use super::guard::require_token;
use super::problem::{HandlerResult, Kind, Refusal};
use super::received::Received;
use super::rule_text::check;
use super::said::name_of;
use super::shared::HttpShared;
use super::waiting::waiting;
use super::workspace;
use crate::serve::folder_rules::RulesFileError;

/// The rules of all folders.
pub(super) async fn all(shared: web::Data<HttpShared>) -> HandlerResult {
    let kept = shared.rules.clone();
    let rules = blocking(move || kept.held()).await;
    let rules = rules.map_err(|error| Kind::Overloaded.refuse(error.to_string()))?;
    Ok(HttpResponse::Ok().json(Rules { rules }))
}

/// Changes the rules of folders.
pub(super) async fn change_all(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let ChangeRules { add, remove, by } = body::json(&request, payload).await?;
    require_token(&request, "to change rules")?;
    let by = name_of(by);
    let mut folders: Vec<(PathBuf, Vec<HeldRule>, Vec<HeldRule>)> = Vec::new();
    for (rule, is_added) in in_turn(add, remove) {
        let folder = match &rule.workspace {
            None => shared.workspace.to_path_buf(),
            Some(path) if is_added => workspace::choose(&request, &shared, path).await?,
            // Rules outlive their folder, and can be taken back without it.
            Some(path) => workspace::named(path.clone()).await?,
        };
        let held = checked(&rule, &shared.tools.get(), Some(&folder), by.clone())?;
        let place = match folders.iter().position(|(there, ..)| *there == folder) {
            Some(place) => place,
            None => {
                folders.push((folder, Vec::new(), Vec::new()));
                folders.len() - 1
            }
        };
        let (_, added, removed) = &mut folders[place];
        if is_added { added } else { removed }.push(held);
    }
    for (folder, added, removed) in folders {
        change_folder(&shared, folder, added, removed).await?;
    }
    all(shared).await
}

/// The rules that hold in a conversation: of its run, its own, and those of its folder.
pub(super) async fn list(id: Name, shared: web::Data<HttpShared>) -> HandlerResult {
    let (conversation, overview) = ask_conversation(&shared, &id, GetOverview).await?;
    let overview = overview.map_err(|error| refuse_read(&error))?;
    let folder = workspace::working_folder(&shared, &conversation.journal.header()).to_owned();
    answer(&shared, overview.rules, folder).await
}

/// Changes the rules of a conversation.
pub(super) async fn change(it: Received) -> HandlerResult {
    let ChangeRules { add, remove, by } = body::json(&it.request, it.payload).await?;
    require_token(&it.request, "to change rules")?;
    let by = name_of(by);
    let mut order = Change {
        add: Vec::new(),
        remove: Vec::new(),
        by: by.clone(),
    };
    for (rule, is_added) in in_turn(add, remove) {
        if rule.workspace.is_some() {
            let detail = "the rules of a folder are changed with PATCH /v1/rules";
            return Err(Kind::BadRequest.refuse(detail));
        }
        let held = checked(&rule, &it.shared.tools.get(), None, by.clone())?;
        if is_added {
            order.add.push(held);
        } else {
            order.remove.push(held);
        }
    }
    let (conversation, rules) = order_to(&it.shared, &it.id, order, Late::Order).await?;
    let rules = rules.map_err(|error| refuse(&error))?;
    let folder = workspace::working_folder(&it.shared, &conversation.journal.header()).to_owned();
    answer(&it.shared, rules, folder).await
}

/// Adds the rule that an answer to an approval made for a folder.
///
/// # Errors
/// The answer, if the rule cannot be kept.
pub(super) async fn allow_in_folder(
    shared: &HttpShared,
    folder: &Path,
    rule: String,
    by: Option<String>,
) -> Result<(), Refusal> {
    let held = HeldRule {
        action: RuleAction::Allow,
        rule,
        scope: Scope::Workspace,
        workspace: Some(folder.display().to_string()),
        by,
    };
    change_folder(shared, folder.to_owned(), vec![held], Vec::new()).await
}

fn in_turn(add: Vec<NewRule>, remove: Vec<NewRule>) -> impl Iterator<Item = (NewRule, bool)> {
    let remove = remove.into_iter().map(|rule| (rule, false));
    remove.chain(add.into_iter().map(|rule| (rule, true)))
}

/// The rule to store, if it is valid.
fn checked(
    new: &NewRule,
    tools: &Registry,
    folder: Option<&Path>,
    by: Option<String>,
) -> Result<HeldRule, Refusal> {
    if new.action == RuleAction::Unknown {
        let detail = "the action of a rule is \"allow\", \"ask\" or \"deny\"";
        return Err(Kind::BadRequest.refuse(detail));
    }
    check(&new.rule, new.action, tools)?;
    Ok(HeldRule {
        action: new.action,
        rule: new.rule.clone(),
        scope: folder.map_or(Scope::Conversation, |_| Scope::Workspace),
        workspace: folder.map(|folder| folder.display().to_string()),
        by,
    })
}

async fn answer(shared: &HttpShared, mut rules: Vec<HeldRule>, folder: PathBuf) -> HandlerResult {
    let kept = shared.rules.clone();
    let of_folder = blocking(move || kept.rules_in(&folder)).await;
    rules.extend(of_folder.map_err(|error| Kind::Overloaded.refuse(error.to_string()))?);
    Ok(HttpResponse::Ok().json(Rules { rules }))
}

/// The reason why the rules of a folder were not changed.
#[derive(Debug, Display, From)]
enum Unchanged {
    Refused(RulesError),
    NotKept(RulesFileError),
}

/// Changes the rules of a folder, and re-evaluates the approvals that wait there.
async fn change_folder(
    shared: &HttpShared,
    folder: PathBuf,
    add: Vec<HeldRule>,
    remove: Vec<HeldRule>,
) -> Result<(), Refusal> {
    let (kept, place) = (shared.rules.clone(), folder.clone());
    let changing = blocking(move || {
        kept.change(&place, |rules| {
            for gone in &remove {
                let Some(at) = rules.iter().position(|held| held.is_like(gone)) else {
                    return Err(Unchanged::Refused(RulesError::Unknown(gone.rule.clone())));
                };
                rules.remove(at);
            }
            for new in add {
                if !rules.iter().any(|held| held.is_like(&new)) {
                    rules.push(new);
                }
            }
            if rules.len() > MAX_RULES {
                return Err(Unchanged::Refused(RulesError::TooMany));
            }
            Ok(())
        })
    });
    let changed = changing
        .await
        .map_err(|error| Kind::Overloaded.refuse(error.to_string()))?;
    changed.map_err(|error| match &error {
        Unchanged::Refused(refused) => refuse(refused),
        Unchanged::NotKept(error) => Kind::NotKept.refuse(error.to_string()),
    })?;
    for (header, open) in waiting(shared).await? {
        if workspace::working_folder(shared, &header) == folder {
            order_to(shared, &open.conversation, RulesChanged, Late::Nothing).await?;
        }
    }
    Ok(())
}

fn refuse(error: &RulesError) -> Refusal {
    let kind = match error {
        RulesError::Unknown(_) => Kind::NoRule,
        RulesError::TooMany => Kind::BadRequest,
        RulesError::Order(error) => return refuse_submit(error),
    };
    kind.refuse(error.to_string())
}
