//! `harness rules`: what tools may change without asking, what they are asked about, what they may not.

use clap::Args;
use harness_protocol::{ChangeRules, HeldRule, NewRule, RuleAction, Rules as Held, Scope};

use crate::cli::exit_codes::exits;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::{self, ChangingArgs};
use crate::client::error::CommandError;
use crate::client::fact_lines;
use crate::client::idle_rules;
use crate::client::output::Output;

const RULES_HELP: &str = "\
Examples:
  harness rules                                what holds in this conversation
  harness rules --all                          what holds in all folders
  harness rules --allow 'edit(src/**)'         let the model edit below src in this conversation
  harness rules --folder --deny 'write(**)'    let it write nothing, in all conversations of the folder
  harness rules --allow 'bash(cargo test *)'   let it run cargo test, whatever stands behind it
  harness rules --deny 'bash(git push *)'      let it push nothing
  harness rules --allow 'mcp(git.git_log *)'   let it call the tool git_log of the MCP server git
  harness rules --remove 'edit(src/**)'

A rule is TOOL(PATTERN), of a path below the conversation's folder: * and ? stand for characters of one
name, ** for any number of names. Of commands it is bash(WORDS): * as the last word stands for any further
words, and within a word for any characters of it, and ; separates commands. bash+network(WORDS) may
reach the network, and bash!full(WORDS) is about full access. Of MCP servers it is mcp(SERVER.TOOL): * in
a name stands for any characters of it, and a rule that allows names its server. Deny comes before ask,
ask before allow, and all before the mode.";

/// The name of the list in the answer.
const MEMBER: &str = "rules";

/// The flags of `harness rules`.
#[derive(Debug, Args)]
#[command(after_help = exits(RULES_HELP, "done", "failed, or no service runs", None))]
pub(crate) struct RulesArgs {
    /// Make the changes that this covers without asking; may be given several times
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Ask about the changes that this covers, whatever else allows them; may be given several times
    #[arg(long, value_name = "RULE")]
    ask: Vec<String>,
    /// Refuse the changes that this covers; may be given several times
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Take this rule back; may be given several times
    #[arg(long, value_name = "RULE")]
    remove: Vec<String>,
    /// In all conversations of the folder, in place of this conversation
    #[arg(long)]
    folder: bool,
    /// Show the rules of all folders
    #[arg(long, conflicts_with_all = ["allow", "ask", "deny", "remove", "folder"])]
    all: bool,
    /// The name of the client that changes them, and the conversation.
    #[command(flatten)]
    changing: ChangingArgs,
}

/// Shows or changes rules.
///
/// # Errors
/// If that cannot be done.
pub(super) async fn run(
    rules: &RulesArgs,
    service: &ServiceConnection,
    output: &mut Output,
) -> Result<(), CommandError> {
    let ChangingArgs { caller, common } = &rules.changing;
    if rules.all {
        return common::list(
            (routes::all_rules(), MEMBER),
            common.json,
            service,
            output,
            lines,
        )
        .await;
    }
    let conversation = common.which.find(service).await?;
    let mut order = ChangeRules {
        add: rules.added(),
        remove: Vec::new(),
        by: caller.name(),
    };
    if order.add.is_empty() && rules.remove.is_empty() {
        let route = routes::rules(&conversation);
        return common::list((route, MEMBER), common.json, service, output, lines).await;
    }
    for remark in rules
        .allow
        .iter()
        .filter_map(|rule| idle_rules::remark(rule))
    {
        output.note(&format!("harness: {remark}"));
    }
    if !rules.remove.is_empty() {
        let held: Held = service.ask(&routes::rules(&conversation)).await?;
        order.remove = rules.removed(&held.rules)?;
    }
    if !rules.folder {
        let route = routes::change_rules(&conversation, &order);
        return common::list((route, MEMBER), common.json, service, output, lines).await;
    }
    let snapshot = service.ask(&routes::snapshot(&conversation, 1)).await?;
    for rule in order.add.iter_mut().chain(&mut order.remove) {
        rule.workspace.clone_from(&snapshot.summary.workspace);
    }
    service.ask(&routes::change_all_rules(&order)).await?;
    let route = routes::rules(&conversation);
    common::list((route, MEMBER), common.json, service, output, lines).await
}

impl RulesArgs {
    fn added(&self) -> Vec<NewRule> {
        let rules = [
            (RuleAction::Allow, &self.allow),
            (RuleAction::Ask, &self.ask),
            (RuleAction::Deny, &self.deny),
        ];
        let new = |(action, rules): (RuleAction, &Vec<String>)| {
            let new = rules.iter().map(move |rule| NewRule {
                action,
                rule: rule.clone(),
                workspace: None,
            });
            new.collect::<Vec<_>>()
        };
        rules.into_iter().flat_map(new).collect()
    }

    /// The rules with those texts, whatever they say of what they cover.
    fn removed(&self, held: &[HeldRule]) -> Result<Vec<NewRule>, CommandError> {
        let scope = if self.folder {
            Scope::Workspace
        } else {
            Scope::Conversation
        };
        let mut removed = Vec::new();
        for text in &self.remove {
            let found = held
                .iter()
                .filter(|held| held.rule == *text && held.scope == scope);
            let found: Vec<NewRule> = found
                .map(|held| NewRule {
                    action: held.action,
                    rule: held.rule.clone(),
                    workspace: None,
                })
                .collect();
            if found.is_empty() {
                let place = if self.folder {
                    "folder"
                } else {
                    "conversation"
                };
                return Err(CommandError::Usage {
                    reason: format!(
                        "this {place} has no rule {text:?}; harness rules shows what holds"
                    ),
                });
            }
            removed.extend(found);
        }
        Ok(removed)
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "lists are given to their lines whole"
)]
fn lines(held: Held) -> Vec<String> {
    fact_lines::rules(&held)
}
