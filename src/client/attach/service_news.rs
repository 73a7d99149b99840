//! The news for the terminal client about the service that it is attached to.

use harness_protocol::{ApprovalMode, ServiceInfo, UpstreamKind};
use harness_tui::{Service, ServiceDifference};

use crate::client::folder;
use crate::client::remarks::Remark;

/// The service, in the types of the client, with its differences from the settings of this shell.
pub(super) fn service(info: &ServiceInfo, remarks: Vec<Remark>) -> Service {
    let difference = |Remark { about, line }| ServiceDifference { about, line };
    Service {
        epoch: info.epoch.clone(),
        version: info.version.clone(),
        folder: folder::display_path(&info.workspace),
        is_demo: info.upstream.kind == UpstreamKind::Demo,
        host: info.upstream.host.clone(),
        model: info.model.clone(),
        mode: mode(info),
        pid: info.pid,
        address: info.address.clone(),
        sandbox: info.sandbox.clone(),
        state: folder::display_path(&info.home),
        log: info.log.as_deref().map(folder::display_path),
        differences: remarks.into_iter().map(difference).collect(),
    }
}

/// The mode of a conversation that sets none. `None` if the service does not tell one that this version knows.
fn mode(info: &ServiceInfo) -> Option<ApprovalMode> {
    let set = info.settings.iter().find(|setting| setting.key == "mode")?;
    let value = set.value.clone()?;
    serde_json::from_value(value.into()).ok()
}
