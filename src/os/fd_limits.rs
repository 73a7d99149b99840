//! How many files the system lets the service have open, and who gets how many of them.

use harness_actors::directory::MAX_OPEN_CONVERSATIONS;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// How many the service keeps for everything but clients and journals of conversations that are
/// open: strangers, tools, attachments, calls of the model, and journals that are made or looked at.
const RESERVED: u64 = 512;
/// How many connections there may be besides those of the event streams that the settings allow.
const OTHER_CONNECTIONS: usize = 256;
/// The limit that systems usually have, where it cannot be told.
const USUAL: u64 = 1024;
/// Where the system grants few, conversations get one of so many.
const SHARE: u64 = 4;

/// Every client takes an open file, and the usual limit is far below what the system grants: raises
/// it to the highest one allowed; the limit that counts now.
pub(crate) fn raise_limit(max_subscribers: usize) -> u64 {
    let clients = (max_subscribers + OTHER_CONNECTIONS) as u64;
    let wanted = clients + MAX_OPEN_CONVERSATIONS as u64 + RESERVED;
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(now, most)| {
        let limit = now.max(wanted.min(most));
        setrlimit(Resource::RLIMIT_NOFILE, limit, most)?;
        Ok(limit)
    });
    match raised {
        Ok(limit) if limit >= wanted => limit,
        Ok(limit) => {
            log::warn!(
                "the system grants {limit} open files, which is too few for {max_subscribers} \
                 clients; lower max_subscribers or raise the limit"
            );
            limit
        }
        Err(error) => {
            log::warn!("the limit of open files could not be raised: {error}");
            USUAL
        }
    }
}

/// How many connections there may be of those who may use the service, when so many files may be
/// open; half of the files where there are few.
pub(crate) fn max_connections(max_subscribers: usize, open_files: u64) -> usize {
    let others = MAX_OPEN_CONVERSATIONS as u64 + RESERVED;
    let left = open_files.saturating_sub(others).max(open_files / 2);
    let most = usize::try_from(left).unwrap_or(usize::MAX);
    most.min(max_subscribers + OTHER_CONNECTIONS)
}

/// How many conversations may be open at once.
pub(crate) fn max_open_conversations() -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(USUAL, |(now, _)| now);
    share_of(limit)
}

fn share_of(limit: u64) -> usize {
    let share = usize::try_from(limit / SHARE).unwrap_or(usize::MAX);
    share.clamp(1, MAX_OPEN_CONVERSATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-18]
    #[test]
    fn connections_leave_files_for_everything_else() {
        assert_eq!(max_connections(4096, 5376), 4352);
        assert_eq!(max_connections(4096, 1_000_000), 4352);
        assert_eq!(max_connections(4096, 4096), 3072);
        assert_eq!(max_connections(4096, 1024), 512);
        assert_eq!(max_connections(4096, 64), 32);
        assert_eq!(max_connections(1, 5376), 257);
    }

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
