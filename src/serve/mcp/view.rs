//! The view that clients have of a server.

use std::collections::BTreeSet;

use harness_actors::mcp::{
    AcceptedServer, LeftOutTool, ToolDefinition, list_digest, offered_tools, tool_names,
};
use harness_protocol::{McpServer, McpState, McpTool, McpToolState};

use super::{KnownServers, McpServers};

/// The remark about a server whose entry says so.
const SWITCHED_OFF: &str = "it is switched off: its entry has \"disabled\": true";

impl McpServers {
    /// The view of a server; none if the configuration has none of that name.
    pub(super) fn view(&self, known: &KnownServers, name: &str) -> Option<McpServer> {
        let entry = known.config.entries.get(name)?;
        let accepted = known.accepted.iter().find(|server| server.name == name);
        let state = match accepted {
            None => McpState::New,
            Some(server) if server.entry.canonical() == entry.canonical() => McpState::Accepted,
            Some(_) => McpState::Changed,
        };
        let tested = known.tested.get(name);
        let tested = tested.filter(|(by, _)| by.canonical() == entry.canonical());
        let tested = tested.map(|(_, tested)| tested);
        let left_out = accepted.map(|server| offered_tools(server, &self.0.pool).left_out);
        let tools = tools(
            name,
            accepted.map(|server| &**server),
            &left_out.unwrap_or_default(),
            tested.map(|tested| &*tested.tools),
            &|tool| entry.admits(tool),
        );
        let facts = self.0.pool.facts(name);
        let apply = |text: String| self.0.redaction.apply(text);
        let command = [entry.command.clone()]
            .into_iter()
            .chain(entry.args.clone());
        Some(McpServer {
            name: name.to_owned(),
            command: command.collect(),
            env: entry.env.keys().cloned().collect(),
            access: entry.access,
            network: entry.network,
            state,
            error: match entry.is_disabled {
                true => Some(SWITCHED_OFF.to_owned()),
                false => facts.error.map(apply),
            },
            running: self.0.pool.running(name),
            version: facts.version.map(apply),
            tools,
            log: facts.log.into_iter().map(apply).collect(),
            digest: tested.map(|tested| list_digest(&entry.canonical(), &tested.tools)),
        })
    }
}

/// The tools of a server: those that were accepted, and those that its last test has shown.
fn tools(
    server: &str,
    accepted: Option<&AcceptedServer>,
    left_out: &[LeftOutTool],
    tested: Option<&[ToolDefinition]>,
    is_admitted: &dyn Fn(&str) -> bool,
) -> Vec<McpTool> {
    let before = accepted.map_or(&[][..], |server| &server.tools);
    let now = tested.unwrap_or(before);
    let names: BTreeSet<&str> = before.iter().chain(now).map(|it| &*it.tool).collect();
    let find = |tools: &[ToolDefinition], tool: &str| -> Option<ToolDefinition> {
        tools.iter().find(|it| it.tool == tool).cloned()
    };
    let names: Vec<&str> = names.into_iter().collect();
    let shown = names.iter().zip(tool_names(server, &names));
    let shown = shown.filter_map(|(tool, name)| {
        let (old, new) = (find(before, tool), find(now, tool));
        let state = match (&old, &new) {
            (Some(_), None) => McpToolState::Gone,
            (None, _) => McpToolState::New,
            (Some(old), Some(new)) if old.digest() != new.digest() => McpToolState::Changed,
            (Some(_), Some(_)) => McpToolState::Accepted,
        };
        let definition = new.or(old)?;
        let kept_out = left_out.iter().find(|it| it.tool == *tool);
        let kept_out = kept_out.map(|it| it.reason.clone());
        let unfit = || match is_admitted(tool) {
            true => definition.offered(&name).err(),
            false => Some("the configuration leaves it out".to_owned()),
        };
        let reason = kept_out
            .filter(|_| state == McpToolState::Accepted)
            .or_else(unfit);
        Some(McpTool {
            tool: (*tool).to_owned(),
            name,
            description: definition.description,
            state: match &reason {
                Some(_) => McpToolState::LeftOut,
                None => state,
            },
            reason,
        })
    });
    shown.collect()
}
