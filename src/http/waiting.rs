//! Finds what waits for an operator's answer.

use harness_actors::directory::messages::ListConversations;
use harness_actors::journal::Header;
use harness_protocol::OpenApproval;

use super::ask::{ask, refuse_read};
use super::problem::Refusal;
use super::shared::HttpShared;
use super::summary::open_approval;

/// Number of conversations that are read at a time.
const PAGE: usize = 200;

/// The approvals that wait in all conversations, the oldest first.
///
/// # Errors
/// The answer, if the conversations cannot be listed.
pub(super) async fn waiting(shared: &HttpShared) -> Result<Vec<(Header, OpenApproval)>, Refusal> {
    let mut waiting = Vec::new();
    let mut after = None;
    loop {
        let list = ListConversations {
            after: after.take(),
            limit: PAGE,
            workspace: None,
        };
        let rows = ask(shared.directory.send(list)).await?;
        let rows = rows.map_err(|error| refuse_read(&error))?;
        let is_last = rows.len() < PAGE;
        after = rows.last().map(|row| row.listed.clone());
        for row in rows {
            // The list of conversations reports one that cannot be read.
            if let Ok((header, overview)) = row.found
                && let Some(open) = open_approval(shared, &header, &overview)
            {
                waiting.push((header, open));
            }
        }
        if is_last {
            break;
        }
    }
    waiting.reverse();
    Ok(waiting)
}
