//! The tools that a conversation is offered. Their list goes on record with the first request and
//! stays unchanged to the byte: the API's cache and signed thinking are bound to it.

use std::sync::Arc;

use harness_protocol::{WEB_TOOLS, are_no_tools};
use serde_json::Value;

use crate::conversation::past::Ledger;
use crate::journal::Totals;
use crate::model::is_server_tool;
use crate::tool::{Registry, ToolShelf, defined_name, reading_tools};

/// The tools of one run.
#[derive(Debug, Clone)]
pub(super) struct Offered {
    /// All that the conversation is offered, in the API's format.
    list: Arc<[Value]>,
    /// The definitions of the tools for the web that the API runs itself, as the settings have them now.
    web: Vec<Value>,
    /// The names of those that this run offers, as [`is_active`] reads them.
    active: Vec<String>,
    shelf: ToolShelf,
}

impl Offered {
    /// Of the conversation's list those of these names; all if there are none.
    pub(super) fn new(
        list: Arc<[Value]>,
        web: Vec<Value>,
        active: &[String],
        shelf: &ToolShelf,
    ) -> Self {
        Self {
            list,
            web,
            active: active.to_vec(),
            shelf: shelf.clone(),
        }
    }

    /// Takes other definitions of the tools for the web; true if they were not the same.
    pub(super) fn set_web(&mut self, web: Vec<Value>) -> bool {
        let is_new = self.web != web;
        self.web = web;
        is_new
    }

    /// The list for the record.
    pub(super) fn list(&self) -> &[Value] {
        &self.list
    }

    /// The definitions for the model.
    pub(super) fn definitions(&self) -> Vec<Value> {
        let is_offered = |definition: &&Value| is_active(&self.active, defined_name(definition));
        let own = self.list.iter().filter(|listed| !is_server_tool(listed));
        let offered: Vec<Value> = own.filter(is_offered).cloned().collect();
        let web = without_names(self.web.clone(), &self.list);
        let web = web.into_iter().filter(|web| is_offered(&web));
        [offered, web.collect()].concat()
    }

    /// Those that can be called now.
    pub(super) fn now(&self) -> Registry {
        let is_listed = |name: &str| self.list.iter().any(|listed| defined_name(listed) == name);
        let is_offered = |name: &str| is_active(&self.active, name) && is_listed(name);
        self.shelf.get().only(is_offered)
    }
}

/// The tools for the web without those whose names tools of the service have: names are unique.
pub(super) fn without_names(mut web: Vec<Value>, tools: &[Value]) -> Vec<Value> {
    let is_own = |tool: &&Value| !is_server_tool(tool);
    let own: Vec<&str> = tools.iter().filter(is_own).map(defined_name).collect();
    web.retain(|tool| !own.contains(&defined_name(tool)));
    web
}

/// Whether a name is among those that are active; no names stand for all, and [`NO_TOOLS`] alone for
/// none.
///
/// [`NO_TOOLS`]: harness_protocol::NO_TOOLS
pub(super) fn is_active(active: &[String], name: &str) -> bool {
    if are_no_tools(active) {
        return false;
    }
    active.is_empty() || active.iter().any(|active| active == name)
}

/// The tools that a conversation is offered: the list on record, or before its first request the
/// new one. Requests of versions that kept no list offered those that read.
pub(super) fn list(ledger: &Ledger, new: impl FnOnce() -> Vec<Value>) -> Arc<[Value]> {
    match ledger.tools() {
        Some(list) => Arc::clone(list),
        None if ledger.totals().turns > 0 => reading().definitions().into(),
        None => new().into(),
    }
}

/// The names of what a conversation is offered, of which only the sums are known.
///
/// `searches`: a new one may search the web, where its setting leaves that open.
pub(in crate::conversation) fn listed(
    totals: &Totals,
    shelf: &ToolShelf,
    searches: bool,
) -> Vec<String> {
    let all = |tools: Registry| tools.names().map(str::to_owned).collect();
    match &totals.tools {
        Some(names) => names.clone(),
        None if totals.turns > 0 => all(reading()),
        None => {
            let mut names = all(shelf.get());
            names.extend(searches.then(|| WEB_TOOLS[0].to_owned()));
            names
        }
    }
}

fn reading() -> Registry {
    Registry::new(reading_tools()).unwrap_or_default()
}
