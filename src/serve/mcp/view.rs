//! The view that clients have of a server.

use std::collections::BTreeSet;

use harness_actors::mcp::{
    AcceptedServer, LeftOutTool, ServerEntry, ServerId, ToolDefinition, list_digest, offered_tools,
    tool_names,
};
use harness_protocol::{McpServer, McpState, McpTool, McpToolState};

use super::{KnownServers, McpServers};

/// The remark about a server whose entry says so.
const SWITCHED_OFF: &str = "it is switched off: its entry has \"disabled\": true";

impl McpServers {
    /// The view of a server; none if the configuration has none of that name.
    pub(super) fn view(&self, known: &KnownServers, id: &ServerId) -> Option<McpServer> {
        let entry = known.entry(id)?;
        let accepted = known.accepted(id);
        let tested = known.test(id);
        let is_same = |server: &AcceptedServer| {
            let files = tested.map_or(&server.files, |tested| &tested.files);
            server.entry.canonical() == entry.canonical() && server.files == *files
        };
        let state = match accepted {
            None => McpState::New,
            Some(server) if is_same(server) => McpState::Accepted,
            Some(_) => McpState::Changed,
        };
        let left_out = accepted.map(|server| offered_tools(server, &self.0.pool).left_out);
        let tools = tools(
            &id.name,
            accepted.map(|server| &**server),
            &left_out.unwrap_or_default(),
            tested.map(|tested| &*tested.tools),
            &|tool| entry.admits(tool),
        );
        let facts = self.0.pool.facts(id);
        let apply = |text: String| self.0.redaction.apply(text);
        let files = tested.map(|tested| &tested.files);
        let files = files.or(accepted.map(|server| &server.files));
        Some(McpServer {
            name: id.name.clone(),
            workspace: id.folder.as_ref().map(|it| it.display().to_string()),
            command: entry.shown_command(),
            files: files.map_or_else(Vec::new, |files| files.keys().cloned().collect()),
            env: variables(entry, id.folder.is_some()),
            access: entry.access,
            network: entry.network,
            state,
            error: match entry.is_disabled {
                true => Some(SWITCHED_OFF.to_owned()),
                false => facts.error.map(apply),
            },
            running: self.0.pool.running(id),
            version: facts.version.map(apply),
            tools,
            log: facts.log.into_iter().map(apply).collect(),
            digest: tested.map(|it| list_digest(&entry.canonical(), &it.files, &it.tools)),
        })
    }
}

/// The variables of an entry: their names, and what a repository would set them to.
fn variables(entry: &ServerEntry, is_of_folder: bool) -> Vec<String> {
    let shown = entry.env.iter().map(|(name, value)| match is_of_folder {
        true => format!("{name}={value}"),
        false => name.clone(),
    });
    shown.collect()
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
            input_schema: definition.input_schema.into(),
            state: match (&reason, state) {
                // Calls of it fail until it is accepted anew.
                (None, _) | (Some(_), McpToolState::Changed | McpToolState::Gone) => state,
                (Some(_), _) => McpToolState::LeftOut,
            },
            reason,
        })
    });
    shown.collect()
}
