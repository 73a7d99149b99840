//! How many files the system lets the service have open, and who gets how many of them.

use harness_actors::directory::MAX_OPEN_CONVERSATIONS;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// How many the service keeps for everything but event streams and journals: other connections,
/// tools, attachments, and journals that are made or looked at.
const RESERVED: u64 = 512;
/// Where the system grants few, conversations get one of so many.
const SHARE: u64 = 4;

/// Every client takes an open file, and the usual limit is far below what the system grants.
pub(crate) fn raise_limit(max_subscribers: usize) {
    let wanted = max_subscribers as u64 + MAX_OPEN_CONVERSATIONS as u64 + RESERVED;
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(now, most)| {
        setrlimit(Resource::RLIMIT_NOFILE, now.max(wanted.min(most)), most)?;
        Ok(now.max(most))
    });
    match raised {
        Ok(limit) if limit >= wanted => {}
        Ok(limit) => log::warn!(
            "the system grants {limit} open files, which is too few for {max_subscribers} clients; \
             lower max_subscribers or raise the limit"
        ),
        Err(error) => log::warn!("the limit of open files could not be raised: {error}"),
    }
}

/// How many conversations may be open at once.
pub(crate) fn max_open_conversations() -> usize {
    // A limit that cannot be told is the usual one.
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(now, _)| now);
    share_of(limit)
}

fn share_of(limit: u64) -> usize {
    let share = usize::try_from(limit / SHARE).unwrap_or(usize::MAX);
    share.clamp(1, MAX_OPEN_CONVERSATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CONV-152]
    #[test]
    fn few_open_files_leave_a_quarter_to_conversations() {
        for (limit, share) in [
            (0, 1),
            (64, 16),
            (1024, 256),
            (4608, MAX_OPEN_CONVERSATIONS),
            (u64::MAX, MAX_OPEN_CONVERSATIONS),
        ] {
            assert_eq!(share_of(limit), share, "{limit}");
        }
    }
}
