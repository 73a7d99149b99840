//! The conversation that a name on the command line means: its id, the beginning of it, its title, or
//! the beginning of that.

use harness_protocol::ConversationSummary;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::error::CommandError;
use crate::visible;

/// The conversation that the service always has.
pub(super) const DEFAULT_CONVERSATION: &str = "default";
/// How many digits the ids have that the service makes.
const ID_DIGITS: usize = 21;
/// The shortest beginning of an id that is one.
const MIN_BEGINNING: usize = 4;
/// How many conversations are asked for at once; the most that the service gives.
const PAGE: usize = 200;
/// Maximum number of conversations that an ambiguous name lists.
const MAX_TOLD: usize = 8;
/// How many characters of a title are shown.
const MAX_TITLE: usize = 40;

/// Finds the conversation that a name means.
///
/// # Errors
/// If there is none or several, or the service does not tell.
pub(super) async fn conversation(
    name: &str,
    service: &ServiceConnection,
) -> Result<String, CommandError> {
    if is_whole_id(name) || is_id(name, service).await {
        return Ok(name.to_owned());
    }
    let all = all(service).await?;
    match meant(name, &all)[..] {
        [] => Err(CommandError::NoConversation {
            name: visible::short(name, MAX_TITLE),
        }),
        [one] => Ok(one.id.clone()),
        ref several => Err(several_of(name, several)),
    }
}

fn is_whole_id(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name == DEFAULT_CONVERSATION || (name.len() == ID_DIGITS && name.bytes().all(is_digit))
}

/// Whether the service has a conversation with this id. Where that is not known, the command itself
/// is told why.
async fn is_id(name: &str, service: &ServiceConnection) -> bool {
    match service.ask(&routes::queued(name)).await {
        Ok(_) => true,
        Err(error) => !error.is_of_kind("no-conversation") && !error.is_of_kind("bad-request"),
    }
}

async fn all(service: &ServiceConnection) -> Result<Vec<ConversationSummary>, CommandError> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = routes::conversations(PAGE, cursor.as_deref());
        let page = service.ask(&page).await?;
        all.extend(page.conversations);
        if page.next.is_none() {
            return Ok(all);
        }
        if page.next == cursor {
            return Err(CommandError::SAME_PAGE);
        }
        cursor = page.next;
    }
}

/// The conversations that a name means: by the first of the ways in which it means any.
fn meant<'s>(name: &str, all: &'s [ConversationSummary]) -> Vec<&'s ConversationSummary> {
    let title = |it: &ConversationSummary| it.title.clone().unwrap_or_default();
    let begins = |it: &ConversationSummary| name.len() >= MIN_BEGINNING && it.id.starts_with(name);
    let ways: [&dyn Fn(&ConversationSummary) -> bool; 4] = [
        &|it| it.id == name,
        &begins,
        &|it| title(it) == name,
        &|it| title(it).starts_with(name),
    ];
    let found = ways
        .iter()
        .map(|way| all.iter().filter(|it| way(it)).collect::<Vec<_>>());
    found
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

fn several_of(name: &str, several: &[&ConversationSummary]) -> CommandError {
    let told = several.iter().take(MAX_TOLD).map(|it| {
        let id = visible::line(&it.id);
        match &it.title {
            None => id,
            Some(title) => format!("{id} ({})", visible::short(title, MAX_TITLE)),
        }
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let more = match several.len().saturating_sub(MAX_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let name = visible::short(name, MAX_TITLE);
    CommandError::Usage {
        reason: format!("{name} is the name of several conversations: {told}{more}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::testing::{Server, answer, summary};

    fn titled(id: &str, title: &str) -> Value {
        let mut summary = summary(id);
        summary["title"] = json!(title);
        summary
    }

    /// Spec: [CLI-355]
    #[actix::test]
    async fn a_conversation_is_named_by_its_id_or_title_or_the_beginning_of_one() {
        let page = || {
            let all = [
                titled("1a20323d100000000000a", "Ideas"),
                titled("1a20323d200000000000b", "Bedtime story"),
                titled("1a20444d300000000000c", "Bedtime"),
                titled("1a20555d400000000000d", "Bees"),
            ];
            answer(200, &json!({ "conversations": all }))
        };
        for (name, found) in [
            ("1a20323d1", Ok("1a20323d100000000000a")),
            ("1a205", Ok("1a20555d400000000000d")),
            ("Ideas", Ok("1a20323d100000000000a")),
            ("Bedtime", Ok("1a20444d300000000000c")),
            ("Bedtime s", Ok("1a20323d200000000000b")),
            (
                "1a20323d",
                Err((
                    "1a20323d is the name of several conversations: 1a20323d100000000000a (Ideas), \
                     1a20323d200000000000b (Bedtime story)",
                    2,
                )),
            ),
            (
                "1a2",
                Err((
                    "there is no conversation 1a2: it is no id, no title and the beginning of \
                     neither; `harness conversations` lists them",
                    1,
                )),
            ),
            (
                "limits",
                Err((
                    "there is no conversation limits: it is no id, no title and the beginning of \
                     neither; `harness conversations` lists them",
                    1,
                )),
            ),
        ] {
            let server = Server::start().await;
            let problem = json!({"type": "urn:harness:problem:no-conversation", "title": "none",
                "status": 404, "detail": "there is no conversation", "request_id": "r"});
            let path = format!("/v1/conversations/{}/queue", name.replace(' ', "%20"));
            server.on(&path, vec![answer(404, &problem)]);
            server.on("/v1/conversations", vec![page()]);
            let connection = ServiceConnection::new(server.named(), None);
            let meant = conversation(name, &connection).await;
            let meant = meant.map_err(|error| (error.to_string(), error.exit_code()));
            let found = found.map(str::to_owned);
            assert_eq!(meant, found.map_err(|(told, code)| (told.to_owned(), code)));
        }
    }

    /// Spec: [CLI-355]
    #[actix::test]
    async fn a_whole_id_is_taken_without_a_question() {
        let server = Server::start().await;
        let connection = ServiceConnection::new(server.named(), None);
        for id in ["default", "1a20323d100000000000a"] {
            assert_eq!(conversation(id, &connection).await.unwrap(), id);
        }
        assert!(server.all_requests().is_empty());
        server.on(
            "/v1/conversations/c/queue",
            vec![answer(200, &json!({"items": []}))],
        );
        assert_eq!(conversation("c", &connection).await.unwrap(), "c");
    }
}
