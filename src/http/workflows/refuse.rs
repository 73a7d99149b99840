//! HTTP answers for orders that a workflow refused.

use harness_actors::journal::OpenError;
use harness_actors::workflow::machine::{OrderOutcome, Refused};
use harness_actors::workflow::messages::WorkflowError;
use serde_json::json;

use crate::http::ask::refuse_open;
use crate::http::problem::{Kind, Refusal};

/// The answer in place of that of the keeper.
pub(super) fn refuse(error: &WorkflowError) -> Refusal {
    let kind = match error {
        WorkflowError::NotFound { .. } | WorkflowError::Open(OpenError::NotFound { .. }) => {
            Kind::NoWorkflow
        }
        WorkflowError::Invalid { .. } => Kind::InvalidOrder,
        WorkflowError::Busy { .. } => Kind::WorkflowBusy,
        WorkflowError::Kept { .. } => Kind::WorkflowConflict,
        WorkflowError::Stopping => Kind::Stopping,
        WorkflowError::Open(error) => return refuse_open(error, Kind::NotKept),
        WorkflowError::Storage(error) if error.is_passing() => Kind::Overloaded,
        WorkflowError::Storage(_) => Kind::NotKept,
    };
    kind.refuse(error.to_string())
}

/// Checks that an order was accepted.
///
/// # Errors
/// The answer, if it was not. If another client answered the gate before, it contains that answer.
pub(super) fn taken(answer: OrderOutcome) -> Result<(), Refusal> {
    match answer {
        OrderOutcome::Created { .. } | OrderOutcome::Taken | OrderOutcome::Done(_) => Ok(()),
        OrderOutcome::AnsweredBefore(first) => {
            let said = if first.approved {
                "approved"
            } else {
                "rejected"
            };
            let by = harness_protocol::words::by(first.by.as_deref());
            let detail = format!("the gate was {said}{by} before, and the first answer counts");
            Err(Kind::GateAnswered
                .refuse(detail)
                .with("answer", json!(first)))
        }
        OrderOutcome::Refused { kind, message } => {
            let kind = match kind {
                Refused::InvalidRequest => Kind::InvalidOrder,
                Refused::NotReady => Kind::WorkflowNotReady,
                Refused::Conflict => Kind::WorkflowConflict,
                Refused::Stale => Kind::ManifestChanged,
            };
            Err(kind.refuse(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError as _;
    use harness_actors::storage::StorageError;
    use harness_actors::workflow::record::GateAnswer;
    use serde_json::Value;

    use super::*;

    async fn problem(refusal: &Refusal) -> (u16, Value) {
        let answer = refusal.error_response();
        let status = answer.status().as_u16();
        let body = actix_web::body::to_bytes(answer.into_body()).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// Spec: [FLOW-86]
    #[test]
    fn what_the_keeper_does_not_do_is_told_by_the_status() {
        let id = || "w1".to_owned();
        let storage = StorageError {
            doing: "write".to_owned(),
            path: "w1.jsonl".to_owned(),
            reason: "no space".to_owned(),
        };
        let gone = OpenError::NotFound { id: "w1".into() };
        for (error, status) in [
            (WorkflowError::NotFound { id: id() }, 404),
            (WorkflowError::Open(gone), 404),
            (WorkflowError::Invalid { reason: id() }, 422),
            (WorkflowError::Busy { id: id() }, 409),
            (WorkflowError::Kept { reason: id() }, 409),
            (WorkflowError::Stopping, 503),
            (WorkflowError::Open(OpenError::Stopping), 503),
            (WorkflowError::Storage(storage), 507),
        ] {
            let refusal = refuse(&error);
            assert_eq!(refusal.status_code().as_u16(), status, "{refusal}");
            assert_eq!(refusal.to_string(), error.to_string());
        }
    }

    /// Spec: [FLOW-86]
    #[test]
    fn what_the_machine_refuses_is_told_by_the_status() {
        assert_eq!(taken(OrderOutcome::Taken), Ok(()));
        for (kind, status) in [
            (Refused::InvalidRequest, 422),
            (Refused::NotReady, 409),
            (Refused::Conflict, 409),
            (Refused::Stale, 412),
        ] {
            let message = "not now".to_owned();
            let refusal = taken(OrderOutcome::Refused { kind, message }).unwrap_err();
            assert_eq!(refusal.status_code().as_u16(), status);
            assert_eq!(refusal.to_string(), "not now");
        }
    }

    /// Spec: [FLOW-87]
    #[actix::test]
    async fn who_answers_a_gate_second_is_told_the_first_answer() {
        let first = GateAnswer {
            approved: true,
            comment: Some("go".to_owned()),
            by: Some("ana".to_owned()),
        };
        let refusal = taken(OrderOutcome::AnsweredBefore(first)).unwrap_err();
        let (status, problem) = problem(&refusal).await;
        assert_eq!((status, &problem["status"]), (409, &json!(409)));
        assert_eq!(problem["type"], "urn:harness:problem:gate-answered");
        let answer = json!({"approved": true, "comment": "go", "by": "ana"});
        assert_eq!(problem["answer"], answer);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("approved by ana before"), "{detail}");
    }
}
