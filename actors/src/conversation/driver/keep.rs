//! Keeps what of a reply is no record yet before it is shown, a burst of pieces at a time.

use std::time::Duration;

use actix::prelude::*;
use tokio::time::Instant;

use super::actor::ConversationActor;
use super::outbox::{AppendId, Keeping, OutboxStep};
use crate::journal::BlockPiece;
use crate::send::tell;
use crate::storage::StorageError;

/// How long pieces gather behind those that were written last.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

impl ConversationActor {
    /// Shows a piece of a block when it is kept. What grows without being read needs not be.
    pub(super) fn keep(&mut self, piece: BlockPiece, ctx: &mut Context<Self>) {
        if self.is_unkept && piece.offset > 0 {
            return;
        }
        self.is_unkept = false;
        match self.outbox.gathering() {
            Some(pieces) => gather(pieces, piece),
            None => self.outbox.push(OutboxStep::Kept {
                pieces: vec![piece],
                keeping: Keeping::Gathering,
            }),
        }
        if self.keeps == 0 {
            self.hand_pieces_soon(ctx);
        }
    }

    /// Hands the journal what was gathered behind the rest of its burst: actors handle all that
    /// waits for them before another task runs. Writes that follow each other have a pause between
    /// them, so that a fast reply costs few of them.
    fn hand_pieces_soon(&mut self, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.is_gathering, true) {
            return;
        }
        let since = self.kept_at.map(|at| at.elapsed());
        let rest = since.map(|since| PAUSE.saturating_sub(since));
        let to = ctx.address().recipient();
        actix::spawn(async move {
            if let Some(rest) = rest.filter(|rest| !rest.is_zero()) {
                tokio::time::sleep(rest).await;
            }
            tell(&to, Gathered);
        });
    }

    /// Hands the journal what was gathered first: nothing else is under way, or a record follows.
    /// Whether there was anything.
    pub(super) fn hand_pieces(&mut self, ctx: &mut Context<Self>) -> bool {
        let id = self.appends + 1;
        let Some(pieces) = self.outbox.hand(id) else {
            return false;
        };
        self.appends = id;
        self.keeps += 1;
        self.kept_at = Some(Instant::now());
        let keeping = self.downstream.journal.keep(self.handed, pieces);
        let to = ctx.address().recipient();
        actix::spawn(async move {
            let result = keeping.await;
            tell(&to, PiecesPersisted { id, result });
        });
        true
    }

    /// Forgets what is kept: it was discarded, or the run is over.
    pub(super) fn forget_kept(&mut self) {
        self.outbox.drop_gathered();
        self.downstream.journal.forget();
    }
}

/// Adds a piece to others. One that continues the last one becomes a part of it.
fn gather(pieces: &mut Vec<BlockPiece>, piece: BlockPiece) {
    match pieces.last_mut() {
        Some(last) if last.is_continued_by(&piece) => last.text += &piece.text,
        Some(_) | None => pieces.push(piece),
    }
}

/// All pieces of a burst are there. Sent by the actor to itself.
#[derive(Message)]
#[rtype(result = "()")]
struct Gathered;

impl Handler<Gathered> for ConversationActor {
    type Result = ();

    fn handle(&mut self, _: Gathered, ctx: &mut Context<Self>) {
        self.is_gathering = false;
        if self.keeps == 0 {
            self.hand_pieces(ctx);
        }
    }
}

/// Pieces are kept, or not. Sent by the actor to itself.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct PiecesPersisted {
    id: AppendId,
    result: Result<(), StorageError>,
}

impl Handler<PiecesPersisted> for ConversationActor {
    type Result = ();

    fn handle(&mut self, PiecesPersisted { id, result }: PiecesPersisted, ctx: &mut Context<Self>) {
        self.keeps = self.keeps.saturating_sub(1);
        if let Err(error) = &result
            && !std::mem::replace(&mut self.is_unkept, true)
        {
            // Nothing is shown that a crash would take back; the whole block follows.
            log::warn!(
                "conversation {}: {error}; the rest of a block is shown when it is finished",
                self.id
            );
        }
        if self.is_unkept {
            // They would be shown behind a hole.
            self.outbox.drop_gathered();
        }
        self.outbox.kept(id, result.is_ok());
        if self.outbox.has_gathered() {
            self.hand_pieces_soon(ctx);
        }
        self.proceed(ctx);
    }
}
