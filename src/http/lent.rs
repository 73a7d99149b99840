//! Answers of any size: what a client leaves unread of them is bounded for all clients together.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::{HttpResponse, HttpResponseBuilder};
use bytes::Bytes;
use derive_more::{Display, Error};
use harness_actors::broadcast::{Lent, Loan, LoanPart, PIECE, ReadBudget, Turn};
use serde::Serialize;

use super::problem::{Kind, Refusal};
use super::shared::{HANDLER_TIMEOUT, HttpShared};

/// The largest answer that is not counted: about what a connection takes anyway, in bytes.
const SMALL: usize = 64 * 1024;

/// Waits for a turn to make an answer.
///
/// # Errors
/// The answer, if too many others wait before.
pub(super) async fn turn(shared: &HttpShared) -> Result<Turn, Refusal> {
    let turn = tokio::time::timeout(HANDLER_TIMEOUT, shared.answers.turn()).await;
    turn.map_err(|_| Kind::Overloaded.refuse("too many clients do not read their answers"))
}

/// Answers with a value. It was made in that turn, which ends with this.
pub(super) async fn json(budget: &ReadBudget, turn: Turn, value: &impl Serialize) -> HttpResponse {
    let json = match serde_json::to_vec(value) {
        Ok(json) => json,
        Err(error) => {
            log::error!("an answer could not be encoded: {error}");
            return HttpResponse::InternalServerError().finish();
        }
    };
    let mut answer = HttpResponse::Ok();
    answer.content_type("application/json");
    finish(answer, budget, turn, json.into()).await
}

/// Answers with bytes that were read in that turn, which ends with this.
pub(super) async fn finish(
    mut answer: HttpResponseBuilder,
    budget: &ReadBudget,
    turn: Turn,
    bytes: Bytes,
) -> HttpResponse {
    if bytes.len() <= SMALL {
        return answer.body(bytes);
    }
    let length = bytes.len() as u64;
    let loan = lend(budget, turn, bytes).await;
    answer.body(LentBody { loan, length })
}

/// Lends bytes that were read in that turn, which ends with this.
pub(super) async fn lend(budget: &ReadBudget, turn: Turn, bytes: Bytes) -> Loan {
    let loan = budget.lend([LoanPart { upto: 0, bytes }].into()).await;
    drop(turn);
    loan
}

/// The body of an answer that is lent.
struct LentBody {
    loan: Loan,
    length: u64,
}

/// The client did not read for too long, and others needed the room.
#[derive(Debug, Display, Error)]
#[display("the client did not read its answer")]
struct NotRead;

impl MessageBody for LentBody {
    type Error = NotRead;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.length)
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, NotRead>>> {
        Poll::Ready(match self.loan.take(PIECE) {
            Lent::Part(part) | Lent::Piece(part, _) => Some(Ok(part.bytes)),
            Lent::Over => None,
            Lent::TakenBack => Some(Err(NotRead)),
        })
    }
}
