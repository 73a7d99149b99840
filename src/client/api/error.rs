//! Why a client gets nothing from the service.

use derive_more::{Display, Error, From};

use crate::client::api::connection::RequestError;
use crate::client::api::discovery::DiscoveryError;
use crate::client::api::stream::Break;

/// The status by which the service says that it does not know whether it took an order.
const NOT_KNOWN: u16 = 504;

/// Why a client gets nothing from the service.
#[derive(Debug, Display, Error, From)]
pub(crate) enum ApiError {
    /// There is no service to talk to.
    Discovery(DiscoveryError),
    /// The service did not answer, or refused.
    Request(RequestError),
    /// The event stream ended.
    Broken(Break),
}

impl ApiError {
    /// Whether a run is going, which does not let another begin.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_of_kind("busy"))
    }

    /// Whether an order that has a key may be sent again: it is not known whether it was taken.
    /// A request that the service refuses is not sent again.
    pub(crate) fn may_send_again(&self) -> bool {
        match self {
            // Nothing was sent yet.
            Self::Discovery(error) => error.is_passing(),
            Self::Request(RequestError::Refused { status, .. }) => *status == NOT_KNOWN,
            Self::Broken(_) => false,
            Self::Request(error) => error.is_passing(),
        }
    }
}
