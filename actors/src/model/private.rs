//! Addresses that no stranger reaches.

use std::net::IpAddr;

/// True if an address is one of a private network: of RFC 1918, unique local or link-local.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    }
}
