//! `harness conversations list`: every conversation, page by page.

use clap::Args;
use harness_actors::Clock;
use harness_protocol::{ConversationSummary, words};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::parsed;
use crate::client::commands::table::table;
use crate::client::error::CommandError;
use crate::client::folder;
use crate::client::output::Output;
use crate::visible;

/// How many conversations are asked for at once.
const PAGE: usize = 100;
/// How many characters of a folder the table shows.
const MAX_FOLDER: usize = 48;
/// How many characters of a title the table shows.
const MAX_TITLE: usize = 72;

/// A page as the service sent it, with what this version does not know.
#[derive(Deserialize)]
struct ListPage {
    conversations: Vec<Value>,
    #[serde(default)]
    next: Option<String>,
}

/// The flags of `harness conversations list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List only the conversations of this folder
    #[arg(long)]
    pub(crate) here: bool,
    /// Print a JSON object with `items`, a conversation each
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints all conversations.
///
/// # Errors
/// If they cannot be had or printed.
pub(crate) async fn run(
    list: &ListArgs,
    service: &ServiceConnection,
    clock: Clock,
    output: &mut Output,
) -> Result<(), CommandError> {
    let here = list.here.then(folder::here).transpose()?;
    let mut cursor: Option<String> = None;
    let mut summaries: Vec<ConversationSummary> = Vec::new();
    let mut items: Vec<Value> = Vec::new();
    loop {
        let page = match &here {
            None => routes::conversations(PAGE, cursor.as_deref()),
            Some(folder) => routes::conversations_in(folder, PAGE, cursor.as_deref()),
        };
        let page = page.answered_as();
        let page: ListPage = service.ask(&page).await?;
        for conversation in page.conversations {
            if list.json {
                items.push(conversation);
            } else {
                summaries.push(parsed(conversation)?);
            }
        }
        if page.next.is_none() {
            break;
        }
        if page.next == cursor {
            return Err(CommandError::SAME_PAGE);
        }
        cursor = page.next;
    }
    if list.json {
        return Ok(output.json(&json!({ "items": items }))?);
    }
    for line in lines(&summaries, clock.unix_seconds()) {
        output.line(&line)?;
    }
    Ok(())
}

/// The conversations in columns.
fn lines(summaries: &[ConversationSummary], now: u64) -> Vec<String> {
    let header = ["ID", "STATE", "PROMPTS", "ACTIVE", "FOLDER", "TITLE"].map(str::to_owned);
    let rows = summaries.iter().map(|summary| {
        let folder = summary.workspace.as_deref().map(folder::display_path);
        let title = summary.error.as_ref().or(summary.title.as_ref());
        [
            visible::line(&summary.id),
            words::conversation_state(summary).to_owned(),
            summary.prompts.to_string(),
            ago(now, summary.active_at),
            folder.map_or_else(String::new, |folder| visible::short(&folder, MAX_FOLDER)),
            title.map_or_else(String::new, |title| visible::short(title, MAX_TITLE)),
        ]
    });
    let rows: Vec<_> = [header].into_iter().chain(rows).collect();
    table(&rows, &[2])
}

/// How long ago something was; both in Unix seconds.
pub(crate) fn ago(now: u64, then: u64) -> String {
    let seconds = now.saturating_sub(then);
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "min"),
        3600..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::{Server, answer, clock, recorded, summary};

    /// Spec: [CLI-772]
    #[test]
    fn a_conversation_whose_last_run_failed_is_not_called_idle() {
        let mut failed = summary("c-2");
        failed["failure"] = "no credit".into();
        let told = [summary("c-1"), failed].map(|it| serde_json::from_value(it).unwrap());
        let lines = lines(&told, 0);
        assert!(lines[1].contains(" idle "), "{lines:?}");
        assert!(lines[2].contains(" failed "), "{lines:?}");
    }

    /// Spec: [CLI-20]
    #[test]
    fn the_time_that_has_passed_is_told_roughly() {
        for (passed, told) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (3_599, "59 min ago"),
            (3_600, "1 h ago"),
            (172_799, "47 h ago"),
            (172_800, "2 days ago"),
        ] {
            assert_eq!(ago(1_000_000, 1_000_000 - passed), told);
        }
        assert_eq!(ago(0, 5), "just now");
    }

    fn page(ids: &[&str], next: Option<&str>) -> Vec<u8> {
        let mut conversations: Vec<Value> = ids.iter().map(|id| summary(id)).collect();
        for conversation in conversations.iter_mut().filter(|it| it["id"] == "c") {
            conversation["workspace"] = json!("/srv/src");
        }
        let mut page = json!({ "conversations": conversations });
        if let Some(next) = next {
            page["next"] = json!(next);
        }
        answer(200, &page)
    }

    async fn list(json: bool, pages: Vec<Vec<u8>>) -> (Result<(), CommandError>, String, Server) {
        let server = Server::start().await;
        server.on("/v1/conversations", pages);
        let connection = ServiceConnection::new(server.named(), None);
        let (mut output, record) = recorded();
        let list = ListArgs { here: false, json };
        let result = run(&list, &connection, clock(), &mut output).await;
        (result, record.out(), server)
    }

    /// Spec: [CLI-20] [CLI-10]
    #[actix::test]
    async fn all_pages_make_one_table() {
        let pages = vec![page(&["default", "a\x1b"], Some("x&y")), page(&["c"], None)];
        let (result, out, server) = list(false, pages).await;
        result.unwrap();
        assert_eq!(
            out,
            "ID       STATE  PROMPTS  ACTIVE     FOLDER    TITLE\n\
             default  idle         2  5 min ago            Title\n\
             a\\u{1b}  idle         2  5 min ago            Title\n\
             c        idle         2  5 min ago  /srv/src  Title\n"
        );
        let second = server.requests().remove(1);
        assert!(
            second.starts_with("GET /v1/conversations?limit=100&cursor=x%26y "),
            "{second}"
        );
    }

    /// Spec: [CLI-21]
    #[actix::test]
    async fn json_keeps_what_this_version_does_not_know_and_an_empty_list_is_one() {
        let mut newer = summary("a");
        newer["later"] = json!({"x": 1});
        let pages = vec![answer(200, &json!({"conversations": [newer]}))];
        let (result, out, _) = list(true, pages).await;
        result.unwrap();
        let items = |items: Value| format!("{}\n", json!({ "items": items }));
        assert_eq!(out, items(json!([newer])));
        let (_, out, _) = list(true, vec![page(&[], None)]).await;
        assert_eq!(out, items(json!([])));
    }

    /// Spec: [CLI-20]
    #[actix::test]
    async fn a_service_that_turns_in_circles_is_left() {
        let (result, _, _) = list(false, vec![page(&["a"], Some("x")); 3]).await;
        assert!(matches!(result, Err(CommandError::Contradiction { .. })));
    }
}
