//! Limits the number of connections: many for clients that may use the service, few for strangers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

/// Maximum number of strangers' connections that are no longer new. A further one takes the place of the oldest. A
/// client that may use the service proves it with its first request, and is then known.
const MAX_STRANGERS: usize = 32;
/// Maximum number of strangers' connections, new ones included: many clients that connect at once all get to their
/// first request.
const MAX_NEW_STRANGERS: usize = 256;
/// Time for which a stranger is new.
const NEW: Duration = Duration::from_secs(1);

/// Counts the connections of all workers.
#[derive(Debug)]
pub(crate) struct ConnectionDoor {
    /// Maximum number of connections of clients that may use the service.
    max_known: usize,
    rooms: Mutex<Rooms>,
}

#[derive(Debug, Default)]
struct Rooms {
    known: usize,
    /// The oldest first, each with the time of its arrival.
    strangers: VecDeque<(Instant, Arc<Ticket>)>,
}

/// The place of one connection; released when it is dropped.
#[derive(Debug)]
pub(in crate::http) struct ConnectionPlace {
    door: Arc<ConnectionDoor>,
    ticket: Arc<Ticket>,
    is_known: bool,
}

/// Tells a connection that its place is needed.
#[derive(Debug, Default)]
struct Ticket {
    is_evicted: AtomicBool,
    waker: AtomicWaker,
}

impl ConnectionDoor {
    /// A door for that many connections of those who may use the service.
    pub(crate) fn new(max_known: usize) -> Self {
        Self {
            max_known,
            rooms: Mutex::default(),
        }
    }

    /// A place for a connection of an unknown client.
    pub(in crate::http) fn admit(self: &Arc<Self>, now: Instant) -> ConnectionPlace {
        let ticket = Arc::<Ticket>::default();
        let mut rooms = self.rooms();
        rooms.strangers.push_back((now, Arc::clone(&ticket)));
        let evicted = rooms.evicted(now);
        drop(rooms);
        for ticket in evicted {
            ticket.is_evicted.store(true, Ordering::Release);
            ticket.waker.wake();
        }
        ConnectionPlace {
            door: Arc::clone(self),
            ticket,
            is_known: false,
        }
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPlace {
    /// Moves to the room of those who may use the service; false if that is full.
    pub(in crate::http) fn recognize(&mut self) -> bool {
        if self.is_known {
            return true;
        }
        let mut rooms = self.door.rooms();
        if rooms.known >= self.door.max_known {
            return false;
        }
        rooms.known += 1;
        rooms.remove(&self.ticket);
        self.is_known = true;
        true
    }

    /// True if the connection belongs to a client that may use the service.
    pub(in crate::http) fn is_known(&self) -> bool {
        self.is_known
    }

    /// True if the place was given to another connection. The task is woken when that happens.
    pub(in crate::http) fn is_lost(&self, cx: &Context<'_>) -> bool {
        if self.is_known {
            return false;
        }
        self.ticket.waker.register(cx.waker());
        self.ticket.is_evicted.load(Ordering::Acquire)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut rooms = self.door.rooms();
        if self.is_known {
            rooms.known -= 1;
        } else {
            rooms.remove(&self.ticket);
        }
    }
}

impl Rooms {
    fn remove(&mut self, ticket: &Arc<Ticket>) {
        self.strangers
            .retain(|(_, other)| !Arc::ptr_eq(other, ticket));
    }

    /// Removes the strangers whose places are needed.
    fn evicted(&mut self, now: Instant) -> Vec<Arc<Ticket>> {
        let mut evicted = Vec::new();
        while let Some((since, _)) = self.strangers.front() {
            let is_new = now.saturating_duration_since(*since) < NEW;
            let most = if is_new {
                MAX_NEW_STRANGERS
            } else {
                MAX_STRANGERS
            };
            if self.strangers.len() <= most {
                break;
            }
            evicted.extend(self.strangers.pop_front().map(|(_, ticket)| ticket));
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn is_lost(place: &ConnectionPlace) -> bool {
        place.is_lost(&Context::from_waker(Waker::noop()))
    }

    /// Spec: [SEC-17]
    #[test]
    fn strangers_drive_out_strangers_and_nobody_else() {
        let door = Arc::new(ConnectionDoor::new(2));
        let start = Instant::now();
        let mut owner = door.admit(start);
        assert!(owner.recognize() && owner.is_known());
        let admit = |count: usize, now| -> Vec<ConnectionPlace> {
            (0..count).map(|_| door.admit(now)).collect()
        };
        let lost =
            |places: &[ConnectionPlace]| places.iter().filter(|place| is_lost(place)).count();
        let first = admit(MAX_NEW_STRANGERS, start);
        assert_eq!(lost(&first), 0);
        let second = admit(2, start);
        assert_eq!((lost(&first), lost(&second)), (2, 0));
        assert!(is_lost(&first[0]) && is_lost(&first[1]));
        // A second later few of them may stay.
        let third = admit(1, start + NEW);
        assert_eq!(lost(&first) + lost(&second), MAX_NEW_STRANGERS + 2 - 31);
        assert_eq!(lost(&third), 0);
        assert_eq!(door.rooms().strangers.len(), MAX_STRANGERS);
        assert!(!is_lost(&owner));
        drop((first, second, third));
        assert_eq!(door.rooms().strangers.len(), 0);
        assert_eq!(door.rooms().known, 1);
    }

    /// Spec: [SEC-18]
    #[test]
    fn a_place_of_the_known_is_free_again_when_its_connection_ends() {
        let door = Arc::new(ConnectionDoor::new(1));
        let now = Instant::now();
        let (mut first, mut second) = (door.admit(now), door.admit(now));
        assert!(first.recognize() && first.recognize());
        assert!(!second.recognize() && !second.is_known());
        drop(first);
        assert!(second.recognize());
        drop(second);
        assert_eq!(door.rooms().known, 0);
    }

    /// Spec: [SEC-17]
    #[test]
    fn one_who_loses_the_place_is_woken_up() {
        struct Flag(AtomicBool);

        impl std::task::Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::Relaxed);
            }
        }

        let door = Arc::new(ConnectionDoor::new(1));
        let now = Instant::now();
        let first = door.admit(now);
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&flag));
        assert!(!first.is_lost(&Context::from_waker(&waker)));
        let others: Vec<ConnectionPlace> =
            (0..MAX_NEW_STRANGERS).map(|_| door.admit(now)).collect();
        assert!(flag.0.load(Ordering::Relaxed) && is_lost(&first));
        drop(others);
    }
}
