//! A workflow read from its journal, and the outcome of its interrupted work.

use std::sync::Arc;

use super::parts::WorkflowParts;
use super::run_end::find;
use super::site::Site;
use crate::blocking;
use crate::conversation::Reading;
use crate::directory::messages::OpenConversation;
use crate::ids::ConversationId;
use crate::journal::{Journal, Record};
use crate::storage::StorageError;
use crate::workflow::facts::SandboxStrength;
use crate::workflow::ledger::WorkflowLedger;
use crate::workflow::machine::{
    FoundRun, RecoveryFindings, StepRefusal, WorkflowEffect, WorkflowMachine,
};
use crate::workflow::record::WorkflowRecord;
use crate::workflow::state::{IterationStep, PauseReason};

/// Reads a workflow back, and what it is to do first.
///
/// # Errors
/// When the storage cannot be read.
pub(in crate::workflow) async fn revive(
    parts: &WorkflowParts,
    journal: &Arc<dyn Journal>,
) -> Result<(WorkflowMachine, Vec<WorkflowEffect>), StorageError> {
    let ledger = ledger(journal).await?;
    let hash = ledger.manifest().map(|manifest| manifest.hash.clone());
    let files = parts.files.clone();
    let id = journal.header().conversation;
    let manifest = match hash {
        None => None,
        Some(hash) => {
            let read = blocking(move || files.manifest(&hash)).await;
            match read {
                Ok(Ok(manifest)) => Some(Arc::new(manifest)),
                Ok(Err(error)) => {
                    log::error!("the manifest of the workflow {id} cannot be read: {error}");
                    None
                }
                Err(error) => {
                    log::error!("the manifest of the workflow {id} cannot be read: {error}");
                    None
                }
            }
        }
    };
    let mut machine = WorkflowMachine::new(ledger, manifest)
        .with_selector(Arc::clone(&parts.hooks.selector))
        .with_patience(parts.patience);
    machine.it_is(parts.clock.unix_millis());
    let ledger = machine.ledger();
    let works = machine.manifest().is_some() && ledger.is_active();
    let found = if works {
        found_run(parts, id.as_str(), ledger).await
    } else {
        FoundRun::NotSent
    };
    let stays = if works {
        stays(parts, journal, ledger).await
    } else {
        None
    };
    let first = if works {
        machine.restarted(RecoveryFindings {
            conversation: found,
            stays,
        })
    } else {
        Vec::new()
    };
    Ok((machine, first))
}

/// The reason why the workflow may not continue by itself, if there is one: the service is configured so, or its
/// sandbox is weaker than when the file was applied.
async fn stays(
    parts: &WorkflowParts,
    journal: &Arc<dyn Journal>,
    ledger: &WorkflowLedger,
) -> Option<StepRefusal> {
    let operator = |detail: String| StepRefusal {
        reason: PauseReason::Operator,
        detail,
    };
    if !parts.auto_resume {
        let detail = "the service came back, and lets none go on by itself (workflow_auto_resume); resume it";
        return Some(operator(detail.to_owned()));
    }
    let before = ledger.manifest()?.sandbox?;
    let folder = journal.header().workspace?.folder;
    let parts = parts.clone();
    let looking = move || Site::new(parts, "", "", &folder).sandbox();
    // What cannot be looked at holds nothing.
    let now = blocking(looking).await.unwrap_or(SandboxStrength::None);
    (now < before).then(|| {
        let word = |sandbox: &SandboxStrength| match sandbox {
            SandboxStrength::None => "nothing",
            SandboxStrength::Partly => "a part",
            SandboxStrength::Held => "all",
        };
        operator(format!(
            "the sandbox held {} of what it promises when the file was applied, and holds {} now; `harness doctor \
             --sandbox` says why; resume it to go on so",
            word(&before),
            word(&now)
        ))
    })
}

async fn ledger(journal: &Arc<dyn Journal>) -> Result<WorkflowLedger, StorageError> {
    let id = journal.header().conversation;
    let mut ledger = WorkflowLedger::default();
    let mut reading = Reading::new(&**journal, 0, journal.end().seq);
    while let Some(entries) = reading.next().await? {
        for entry in entries {
            let Record::Workflow(record) = entry.record else {
                continue;
            };
            // A record of a newer version is unknown to this one.
            match serde_json::from_value::<WorkflowRecord>(record) {
                Ok(record) => ledger.apply(&record),
                Err(error) => {
                    log::warn!("{id}: record {} is unknown: {error}", entry.position.seq);
                }
            }
        }
    }
    Ok(ledger)
}

/// The fate of the prompt of the open attempt.
async fn found_run(parts: &WorkflowParts, id: &str, ledger: &WorkflowLedger) -> FoundRun {
    let Some(open) = ledger
        .step()
        .filter(|open| open.step == IterationStep::Converse)
    else {
        return FoundRun::NotSent;
    };
    let (n, attempt) = (open.at.n, open.at.attempt);
    let conversation = ConversationId::new(&format!("wf-{id}-{n}"));
    let order = OpenConversation { id: conversation };
    let Ok(Ok(conversation)) = parts.directory.open.send(order).await else {
        return FoundRun::NotSent;
    };
    let key = format!("{id}/{n}/{attempt}");
    match find(&*conversation.journal, &key, &*parts.prices).await {
        Ok(found) => found,
        Err(error) => {
            log::warn!("the conversation of {key} cannot be read: {error}");
            FoundRun::NotSent
        }
    }
}
