//! A bound for the bytes that are held for all clients together after they were read.
//!
//! Bytes that are read or made for a client are lent to it until it has taken them. A client that
//! does not read holds its part only as long as no other client needs the room: then it is taken
//! back, and a client that reads again has it read once more. So clients that stall cost next to
//! nothing, however many there are, and those that read wait for them for a moment at most.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Maximum number of bytes of journals that are lent to event streams. Enough that hundreds of clients read on side by
/// side, each its page of 64 KiB, and about what the service itself takes.
pub const STREAM_BYTES: usize = 32 * 1024 * 1024;
/// The same for answers, each of which has up to 4 MiB of a journal or a file of 22 MiB.
pub const ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of pages and answers that are read and made at the same time. Their sizes are unknown before, so this
/// bounds the bytes that are not counted yet.
pub const TURNS: usize = 3;
/// For how long a client has not taken anything of a part of an event stream when it is taken back,
/// if others need the room.
pub const STREAM_GRACE: Duration = Duration::from_millis(150);
/// The same of an answer. That cannot be made once more, so its connection ends; a client on a slow
/// line has a little longer.
pub const ANSWER_GRACE: Duration = Duration::from_millis(500);

/// The bytes that may be lent. Clones share it.
#[derive(Debug, Clone)]
pub struct ReadBudget(Arc<BudgetShared>);

#[derive(Debug)]
struct BudgetShared {
    bytes: usize,
    grace: Duration,
    turns: Arc<Semaphore>,
    lent: Mutex<Loans>,
    /// Told when something came back.
    returned: Notify,
}

/// The loans of now.
#[derive(Debug, Default)]
struct Loans {
    bytes: usize,
    next: u64,
    all: BTreeMap<u64, Arc<Mutex<ClientLoan>>>,
}

/// The loan of one client.
#[derive(Debug)]
struct ClientLoan {
    parts: VecDeque<LoanPart>,
    /// Number of bytes that it counts as.
    bytes: usize,
    touched_at: Instant,
    is_taken_back: bool,
}

/// One part of a loan, for example an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoanPart {
    /// The record that a client has reached when it has taken the part.
    pub upto: u64,
    /// The bytes for it.
    pub bytes: Bytes,
}

/// A client's part of its loan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lent {
    /// A whole part, or the rest of one.
    Part(LoanPart),
    /// A piece of a part that has more of them, and the rest of the part before the piece was taken from it.
    Piece(LoanPart, Bytes),
    /// There is nothing more.
    Over,
    /// The rest was taken back.
    TakenBack,
}

/// The right to read or make something, until its size is known and it is lent.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "it is given back when it is dropped")] OwnedPermit);

type OwnedPermit = Option<OwnedSemaphorePermit>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReadBudget {
    /// A budget of so many bytes, in which what a client has not touched for so long may be taken
    /// back.
    #[must_use]
    pub fn new(bytes: usize, grace: Duration) -> Self {
        Self(Arc::new(BudgetShared {
            bytes,
            grace,
            turns: Arc::new(Semaphore::new(TURNS)),
            lent: Mutex::default(),
            returned: Notify::new(),
        }))
    }

    /// Waits for a turn, in the order of those who wait. It is held until what was read is lent,
    /// and must not be held for longer.
    pub async fn turn(&self) -> Turn {
        // It is never closed.
        Turn(Arc::clone(&self.0.turns).acquire_owned().await.ok())
    }

    /// Lends something, as soon as there is room.
    pub async fn lend(&self, parts: VecDeque<LoanPart>) -> Loan {
        let sum: usize = parts.iter().map(|part| part.bytes.len()).sum();
        // What is larger than everything that may be lent counts as half of it, or it would wait
        // until nobody else has anything.
        let bytes = sum.min(self.0.bytes / 2);
        loop {
            let returned = self.0.returned.notified();
            let now = Instant::now();
            let next = match self.0.make_room(bytes, now) {
                Ok(mut lent) => return self.lent(&mut lent, parts, bytes, now),
                Err(next) => next,
            };
            tokio::select! {
                () = returned => {}
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    fn lent(
        &self,
        lent: &mut Loans,
        parts: VecDeque<LoanPart>,
        bytes: usize,
        now: Instant,
    ) -> Loan {
        let held = Arc::new(Mutex::new(ClientLoan {
            parts,
            bytes,
            touched_at: now,
            is_taken_back: false,
        }));
        lent.bytes += bytes;
        lent.next += 1;
        let number = lent.next;
        lent.all.insert(number, Arc::clone(&held));
        Loan {
            number,
            held,
            budget: self.clone(),
        }
    }

    /// Number of bytes that are lent.
    #[must_use]
    pub fn lent_bytes(&self) -> usize {
        lock(&self.0.lent).bytes
    }
}

impl BudgetShared {
    /// Takes back what was not touched for longest until there is room; else tells when more can
    /// be.
    fn make_room(&self, bytes: usize, now: Instant) -> Result<MutexGuard<'_, Loans>, Instant> {
        let mut lent = lock(&self.lent);
        if lent.bytes + bytes <= self.bytes {
            return Ok(lent);
        }
        let mut idle: Vec<(Instant, u64)> = lent
            .all
            .iter()
            .map(|(number, held)| (lock(held).touched_at, *number))
            .collect();
        idle.sort_unstable();
        for (touched_at, number) in idle {
            if touched_at + self.grace > now {
                return Err(touched_at + self.grace);
            }
            lent.take_back(number);
            if lent.bytes + bytes <= self.bytes {
                return Ok(lent);
            }
        }
        Ok(lent)
    }
}

impl Loans {
    fn take_back(&mut self, number: u64) {
        let Some(held) = self.all.remove(&number) else {
            return;
        };
        let mut held = lock(&held);
        self.bytes -= held.bytes;
        held.is_taken_back = true;
        held.parts = VecDeque::new();
    }
}

/// Something that is lent. It is given back when it is dropped.
#[derive(Debug)]
pub struct Loan {
    number: u64,
    held: Arc<Mutex<ClientLoan>>,
    budget: ReadBudget,
}

impl Loan {
    /// The next part, or so many bytes of it.
    pub fn take(&mut self, most: usize) -> Lent {
        let mut held = lock(&self.held);
        if held.is_taken_back {
            return Lent::TakenBack;
        }
        held.touched_at = Instant::now();
        match held.parts.front_mut() {
            None => Lent::Over,
            Some(part) if part.bytes.len() > most => {
                let before = part.bytes.clone();
                let (upto, bytes) = (part.upto, part.bytes.split_to(most));
                Lent::Piece(LoanPart { upto, bytes }, before)
            }
            Some(_) => held.parts.pop_front().map_or(Lent::Over, Lent::Part),
        }
    }

    /// The next part, which stays where it is.
    #[must_use]
    pub fn next(&self) -> Option<LoanPart> {
        lock(&self.held).parts.front().cloned()
    }

    /// Leaves the first bytes of the next part out.
    pub fn skip(&mut self, bytes: usize) {
        if let Some(part) = lock(&self.held).parts.front_mut() {
            drop(part.bytes.split_to(bytes.min(part.bytes.len())));
        }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        lock(&self.budget.0.lent).take_back(self.number);
        self.budget.0.returned.notify_waiters();
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
