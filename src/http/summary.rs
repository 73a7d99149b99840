//! A conversation as a list shows it.

use harness_actors::conversation::messages::{GetOverview, Overview};
use harness_actors::conversation::usage;
use harness_actors::directory::OpenedConversation;
use harness_actors::journal::{Activity, Header};
use harness_protocol::{ConversationState, ConversationSummary, OpenApproval};

use super::ask::{Late, ask_late, refuse_read};
use super::problem::Refusal;
use super::shared::HttpShared;
use super::workspace;

/// The present state of the conversation, after it has carried out an order.
pub(super) async fn overview(conversation: &OpenedConversation) -> Result<Overview, Refusal> {
    let overview = ask_late(conversation.actor.send(GetOverview), Late::Order).await?;
    overview.map_err(|error| refuse_read(&error))
}

/// The conversation as a list shows it.
pub(super) fn summary(
    shared: &HttpShared,
    header: &Header,
    overview: &Overview,
) -> ConversationSummary {
    let state = match overview.run {
        Some(_) if overview.approval.is_some() => ConversationState::WaitingApproval,
        Some(_) if overview.is_running => ConversationState::Running,
        Some(_) => ConversationState::Interrupted,
        None => ConversationState::Idle,
    };
    let totals = &overview.totals;
    ConversationSummary {
        id: header.conversation.to_string(),
        title: overview.title(header),
        workspace: Some(
            workspace::working_folder(shared, header)
                .display()
                .to_string(),
        ),
        state,
        run_id: overview.run.map(|run| run.0),
        prompts: totals.prompts,
        turns: totals.turns,
        records: overview.position.seq,
        usage: usage(totals),
        created_at: header.created_at / 1000,
        active_at: overview.active_at.max(header.created_at) / 1000,
        jobs: shared.jobs.running(&header.conversation).len() as u64,
        error: None,
        failure: failure(overview),
    }
}

/// The approval that waits in a conversation, with what tells the conversation from others.
pub(super) fn open_approval(
    shared: &HttpShared,
    header: &Header,
    overview: &Overview,
) -> Option<OpenApproval> {
    let approval = overview.approval.as_deref()?;
    Some(OpenApproval {
        conversation: header.conversation.to_string(),
        title: overview.title(header),
        workspace: Some(
            workspace::working_folder(shared, header)
                .display()
                .to_string(),
        ),
        active_at: Some(overview.active_at.max(header.created_at) / 1000),
        approval: approval.clone(),
    })
}

/// The reason for which the last run failed; an interrupted one has a state of its own.
fn failure(overview: &Overview) -> Option<String> {
    let has_failed = overview.run.is_none() && overview.status.activity == Activity::Error;
    has_failed.then(|| overview.status.message.clone())
}
