//! Waiting until a workflow rests.

use actix::prelude::*;
use harness_protocol::WorkflowSnapshot;
use tokio::sync::oneshot;

use super::actor::WorkflowActor;
use crate::workflow::messages::WorkflowError;

/// Asks for the state of a workflow once it can do nothing without an order, and all of that is on record.
#[derive(Debug, Message)]
#[rtype(result = "Result<WorkflowSnapshot, WorkflowError>")]
pub(in crate::workflow) struct RestQuery;

impl Handler<RestQuery> for WorkflowActor {
    type Result = ResponseFuture<Result<WorkflowSnapshot, WorkflowError>>;

    fn handle(&mut self, _: RestQuery, _: &mut Context<Self>) -> Self::Result {
        let (rester, receiver) = oneshot::channel();
        self.resters.push(rester);
        self.show();
        Box::pin(async { receiver.await.map_err(|_| WorkflowError::Stopping) })
    }
}
