//! The present state of a conversation, with its last events.

use actix_web::{HttpRequest, web};
use harness_actors::broadcast::Turn;
use harness_actors::conversation::messages::{GetOverview, Overview};
use harness_actors::conversation::{INTERRUPTED, state};
use harness_actors::directory::OpenedConversation;
use harness_actors::guidance::Guidance;
use harness_actors::journal::BlockPiece;
use harness_protocol::{ActivityState, ContextFileEntry, ConversationSnapshot, Damage, Event};
use serde::Deserialize;

use super::ask::{Name, ask_conversation, query, refuse_read};
use super::history::{TAIL, page_up_to};
use super::problem::{HandlerResult, Refusal};
use super::queue::in_order;
use super::shared::HttpShared;
use super::summary::summary;
use super::{lent, workspace};

/// The requested part of the past.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct SnapshotQuery {
    /// Number of events.
    tail: Option<usize>,
}

/// Returns the present state of the conversation, with the last events.
pub(super) async fn read(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let SnapshotQuery { tail } = query(&request)?;
    let (conversation, overview) = ask_conversation(&shared, &id, GetOverview).await?;
    let overview = overview.map_err(|error| refuse_read(&error))?;
    let folder = workspace::working_folder(&shared, &conversation.journal.header()).to_owned();
    shared.guidance.refresh(&folder).await;
    let (turn, snapshot) =
        snapshot(&shared, &conversation, &overview, tail.unwrap_or(TAIL)).await?;
    Ok(lent::json(&shared.answers, turn, &snapshot).await)
}

/// The snapshot of an overview, and the turn in which it was made. The turn must end when the answer is made.
///
/// # Errors
/// The answer, if it cannot be read.
pub(super) async fn snapshot(
    shared: &HttpShared,
    conversation: &OpenedConversation,
    overview: &Overview,
    tail: usize,
) -> Result<(Turn, ConversationSnapshot), Refusal> {
    let journal = &conversation.journal;
    let damage = journal.check().await;
    let damage = damage.map_err(|error| refuse_read(&error))?;
    let turn = lent::turn(shared).await?;
    let seq = overview.position.seq;
    let header = journal.header();
    let is_interrupted = overview.run.is_some() && !overview.is_running;
    let (state, message) = if let Some(approval) = &overview.approval {
        (ActivityState::WaitingApproval, approval.tool.clone())
    } else if is_interrupted {
        (ActivityState::Error, INTERRUPTED.to_owned())
    } else {
        let status = &overview.status;
        (state(status.activity), status.message.clone())
    };
    let changed = overview.totals.settings.as_deref().cloned();
    let settings = changed.unwrap_or_else(|| header.settings.clone());
    let is_told = settings.context_files.unwrap_or(shared.tells_context_files);
    let snapshot = ConversationSnapshot {
        summary: summary(shared, &header, overview),
        state,
        message,
        settings,
        queue: in_order(&overview.totals),
        context_files: if is_told {
            context_files(
                &shared
                    .guidance
                    .get(workspace::working_folder(shared, &header)),
            )
        } else {
            Vec::new()
        },
        forked_from: header.forked_from.map(|from| (from.conversation, from.seq)),
        attached: conversation.attendance.count(),
        history: page_up_to(&**journal, seq, tail).await?,
        unfinished: overview.unfinished.iter().cloned().map(delta).collect(),
        approvals: overview
            .approval
            .iter()
            .map(|open| (**open).clone())
            .collect(),
        jobs: shared.jobs.running(&journal.header().conversation),
        position: overview.position.to_string(),
        damage: (!damage.is_none()).then_some(Damage {
            parts: damage.parts,
            bytes: damage.bytes,
            file: damage.file,
        }),
    };
    Ok((turn, snapshot))
}

fn delta(block: BlockPiece) -> Event {
    Event::Delta {
        index: block.index,
        kind: block.kind,
        offset: block.offset,
        text: block.text,
    }
}

/// The files whose instructions the model receives.
fn context_files(guidance: &Guidance) -> Vec<ContextFileEntry> {
    let files = guidance.context_files.iter();
    files
        .map(|file| ContextFileEntry {
            path: file.path.clone(),
            bytes: file.text.len() as u64,
        })
        .collect()
}
