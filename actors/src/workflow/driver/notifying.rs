//! Notifies people by the file's command: one notice after the other, each at least once.

use std::fs;
use std::time::Duration;

use actix::prelude::*;
use harness_protocol::Access;
use serde_json::{Value, json};

use super::actor::WorkflowActor;
use super::parts::WorkflowParts;
use super::view::word;
use crate::blocking;
use crate::tool::{LaunchOrder, TempFolder};
use crate::workflow::StopHandle;
use crate::workflow::check_run::{variables, words};
use crate::workflow::child;
use crate::workflow::ledger::LedgerNotice;
use crate::workflow::machine::WorkflowInput;
use crate::workflow::manifest::ServiceCommand;

/// The script that runs the command: the launcher gives no input, so that it is a file.
const SCRIPT: &str = r#"event=$1; shift; exec "$@" <"$event""#;
/// Maximum size of the command's output in an error, in bytes.
const MAX_SAID: usize = 1024;

impl WorkflowActor {
    /// Tells the next thing, unless one is being told. Called when all that was decided is on record.
    pub(super) fn notify_next(&mut self, ctx: &mut Context<Self>) {
        if self.notifying.is_some() {
            return;
        }
        let ledger = self.machine.ledger();
        // Nothing of an unapproved file runs.
        let is_approved = ledger.manifest().is_some_and(|note| note.is_approved);
        let command = self.machine.manifest().and_then(|own| own.notify.clone());
        let (Some(command), Some((number, notice)), true) = (command, ledger.notice(), is_approved)
        else {
            return;
        };
        let (number, event) = (*number, self.event(*number, notice));
        let (parts, folder) = (self.parts.clone(), self.site.folder().to_owned());
        let stop = StopHandle::default();
        self.notifying = Some(stop.clone());
        let telling = blocking(move || tell(&parts, &folder, &command, &event, &stop));
        ctx.spawn(telling.into_actor(self).map(move |told, actor, ctx| {
            actor.notifying = None;
            let told = told.unwrap_or_else(|error| Err(error.to_string()));
            let failed = told.err();
            if let Some(why) = &failed {
                log::warn!("{}: people could not be told ({number}): {why}", actor.id);
            }
            actor.advance(WorkflowInput::Notified { number, failed }, ctx);
        }));
    }

    /// The event that the command gets. Its id is the same if it comes again.
    fn event(&self, number: u32, notice: &LedgerNotice) -> Value {
        let mut event = json!({
            "id": format!("{}/{number}", self.id),
            "workflow": self.id,
            "name": self.name,
            "folder": self.site.folder(),
            "state": word(&self.machine.ledger().state()),
        });
        let more = match notice {
            LedgerNotice::Completed { commit } => json!({"event": "completed", "commit": commit}),
            LedgerNotice::Paused { reason, detail } => {
                json!({"event": "paused", "reason": reason, "detail": detail})
            }
            LedgerNotice::Gate { gate, asks } => {
                json!({"event": "gate", "gate": gate, "asks": asks})
            }
        };
        if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
            event.extend(more);
        }
        event
    }
}

/// Runs the command with the event as its input. It may write in a separate folder, and nowhere else. Blocks.
fn tell(
    parts: &WorkflowParts,
    folder: &std::path::Path,
    command: &ServiceCommand,
    event: &Value,
    stop: &StopHandle,
) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let folder = fs::canonicalize(folder).map_err(said)?;
    let access = Access::Read;
    parts
        .launcher
        .containment(access, command.network, &folder)?;
    let temp = TempFolder::new().map_err(said)?;
    let input = temp.path().join("event.json");
    fs::write(&input, event.to_string()).map_err(said)?;
    let input = input.to_string_lossy().into_owned();
    let script = ["sh", "-c", SCRIPT, "sh", &input].map(str::to_owned);
    let order = LaunchOrder {
        program: script.into_iter().chain(words(&command.program)?).collect(),
        environment: variables(&command.env, temp.path())?,
        conversation: None,
        folder: folder.clone(),
        workspace: folder,
        temp: temp.path().to_owned(),
        access,
        network: command.network,
        has_pipes: false,
        writable: Vec::new(),
        protected: Vec::new(),
        copies: Vec::new(),
        closed: parts.closed.clone(),
    };
    let limit = Duration::from_secs(command.time_limit_s);
    let mut wrote = Vec::new();
    let done = child::run(&*parts.launcher, &order, limit, stop, &mut |bytes| {
        let room = MAX_SAID.saturating_sub(wrote.len());
        wrote.extend_from_slice(&bytes[..room.min(bytes.len())]);
    });
    let done = done.map_err(said)?;
    let why = match (done.stopped, done.ended.code) {
        (Some(_), _) => format!("it was ended after {} s", done.took.as_secs()),
        (None, Some(0)) => return Ok(()),
        (None, Some(code)) => format!("it ended with code {code}"),
        (None, None) => "it was ended from outside".to_owned(),
    };
    let wrote = String::from_utf8_lossy(&wrote);
    match wrote.trim() {
        "" => Err(why),
        wrote => Err(format!("{why}: {wrote}")),
    }
}
