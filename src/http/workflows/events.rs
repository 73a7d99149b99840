//! The event stream of a workflow.

use actix_web::{HttpRequest, web};
use harness_actors::broadcast::{EventView, Follower, FollowerSource, FollowerStart};
use harness_actors::workflow::messages::Followable;

use super::read::followable;
use crate::http::ask::Name;
use crate::http::events::{StreamOpening, admit, open_at, stream};
use crate::http::problem::{HandlerResult, Refusal};
use crate::http::said::name_of;
use crate::http::shared::HttpShared;
use crate::http::start::{self, EventsQuery};

/// Attaches a client to a workflow.
pub(in crate::http) async fn events(
    request: HttpRequest,
    id: Name,
    shared: web::Data<HttpShared>,
) -> HandlerResult {
    let (query, place) = admit(&request, &shared)?;
    let followed = followable(&shared, &id).await?;
    let (from, words) = begin(&request, &query, &followed).await?;
    let source = FollowerSource {
        journal: followed.journal,
        broadcast: followed.broadcast,
        attendance: followed.attendance,
        budget: shared.streams.clone(),
    };
    let follower = Follower::new(source, EventView::Full, name_of(query.name), from);
    let opening = StreamOpening {
        words,
        snapshot: None,
    };
    Ok(stream(follower, opening, &shared, place))
}

/// The beginning of the stream, and its first frame. If the client's position cannot be served, the stream begins after
/// the newest record: a client that reconnects asks for the snapshot.
async fn begin(
    request: &HttpRequest,
    query: &EventsQuery,
    followed: &Followable,
) -> Result<(FollowerStart, String), Refusal> {
    let resumed = request.headers().get("last-event-id");
    let journal = &*followed.journal;
    Ok(match start::start(journal, resumed, query).await? {
        Ok((FollowerStart::Live, _)) => (FollowerStart::Live, String::new()),
        Ok((from, position)) => (from, open_at(&position.to_string())),
        Err(reason) => {
            let end = journal.end();
            let reason = reason.escape_debug();
            let said = format!(": reset: {reason}; what came before is not repeated\n");
            (
                FollowerStart::Behind(end),
                said + &open_at(&end.to_string()),
            )
        }
    })
}
