//! Reads the past event by event, so that one that is no event costs no other.

use harness_protocol::PastEvent;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::api::connection::RequestError;

/// The events that were read, and the faults in those that were left out.
#[derive(Debug)]
pub(crate) struct ReadEvents<A> {
    pub(crate) answer: A,
    pub(crate) invalid: Vec<String>,
}

/// Reads an answer that has past events at that JSON pointer.
///
/// # Errors
/// If it is of another shape, whatever its events are.
pub(crate) fn read<A: DeserializeOwned>(
    mut answer: Value,
    events: &str,
) -> Result<ReadEvents<A>, RequestError> {
    let mut invalid = Vec::new();
    if A::deserialize(&answer).is_err()
        && let Some(Value::Array(events)) = answer.pointer_mut(events)
    {
        events.retain(|event| match PastEvent::deserialize(event) {
            Ok(_) => true,
            Err(error) => {
                invalid.push(error.to_string());
                false
            }
        });
    }
    match A::deserialize(answer) {
        Ok(answer) => Ok(ReadEvents { answer, invalid }),
        Err(error) => Err(RequestError::Malformed {
            reason: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use harness_protocol::{ConversationSnapshot, HistoryPage};
    use serde_json::json;

    use super::*;
    use crate::client::attach::testing::{snapshot, status};

    /// Spec: [LINK-20]
    #[test]
    fn what_is_no_event_is_left_out_of_the_past() {
        let past = |seq: u64, event: Value| json!({"seq": seq, "id": "e", "event": event});
        let events = json!([
            past(1, status("a")),
            past(2, json!({"type": "text", "content": 1, "timestamp": 1})),
            json!("none"),
            past(3, json!({"type": "invented_later"})),
        ]);
        let page = json!({"events": events, "before": 1});
        let page = read::<HistoryPage>(page, "/events").unwrap();
        let seqs: Vec<u64> = page.answer.events.iter().map(|past| past.seq).collect();
        assert_eq!((seqs, page.answer.before), (vec![1, 3], Some(1)));
        assert_eq!(page.invalid.len(), 2);

        let mut whole = snapshot("c", "e-4-0");
        whole["history"]["events"] = events;
        let whole = read::<ConversationSnapshot>(whole, "/history/events").unwrap();
        assert_eq!(whole.answer.history.events.len(), 2);
        assert_eq!(whole.invalid.len(), 2);

        let good = read::<ConversationSnapshot>(snapshot("c", "e-4-0"), "/history/events").unwrap();
        assert!(good.invalid.is_empty());
        for answer in [json!({"events": 1}), json!([]), json!({})] {
            assert!(read::<HistoryPage>(answer, "/events").is_err());
        }
    }
}
