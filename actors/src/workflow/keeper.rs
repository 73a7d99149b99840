//! Keeps the workflows of a service: finds them, makes them, and continues those that an earlier service left.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use futures_util::future::{FutureExt as _, LocalBoxFuture, Shared, join_all};
use harness_protocol::WorkflowSnapshot;

use super::driver::{
    Counts, EndWorkflow, FollowQuery, OrderWorkflow, RestQuery, Site, Where, WorkflowActor,
    WorkflowStateQuery, revive,
};
use super::facts::{Head, SandboxStrength};
use super::ledger::WorkflowLedger;
use super::machine::{NewManifest, OperatorOrder, OrderOutcome, WorkflowMachine};
use super::messages::{
    ApplyFile, AwaitRest, CountingManifest, CreateWorkflow, DiffCandidate, FindManifest,
    FollowWorkflow, Followable, GiveOrder, GivenFile, ListWorkflows, LookAtWorkflow,
    RemoveWorkflow, StopWorkflows, WorkflowError,
};
use crate::blocking;
use crate::broadcast::messages::Closing;
use crate::ids::ConversationId;
use crate::journal::{Header, OpenError, Workspace};
use crate::storage::StorageError;

pub use super::driver::{Directory, WorkSlots, WorkflowFiles, WorkflowParts};

/// Maximum number of workflows that are found at the start of a service.
const MAX_KNOWN: usize = 1000;
/// Maximum length of an id, in bytes: the conversations of a workflow are named after it.
const MAX_ID: usize = 40;

/// A workflow that is there, or about to be.
type OpeningWorkflow = Shared<LocalBoxFuture<'static, Result<Addr<WorkflowActor>, WorkflowError>>>;

/// Keeps the workflows of a service.
pub struct WorkflowsActor {
    parts: WorkflowParts,
    open: HashMap<String, OpeningWorkflow>,
    is_stopping: bool,
}

impl WorkflowsActor {
    /// A keeper of the workflows in that store.
    #[must_use]
    pub fn new(parts: WorkflowParts) -> Self {
        Self {
            parts,
            open: HashMap::new(),
            is_stopping: false,
        }
    }

    fn opening(&mut self, id: &str) -> OpeningWorkflow {
        if self.is_stopping {
            return async { Err(WorkflowError::Stopping) }
                .boxed_local()
                .shared();
        }
        if let Some(opening) = self.open.get(id) {
            let is_usable = match opening.peek() {
                None => true,
                Some(Ok(actor)) => actor.connected(),
                Some(Err(_)) => false,
            };
            if is_usable {
                return opening.clone();
            }
        }
        // A request for an unknown workflow leaves no entry.
        self.open
            .retain(|_, opening| !matches!(opening.peek(), Some(Err(_))));
        let (parts, name) = (self.parts.clone(), id.to_owned());
        let opening = async move { open(parts, &name).await }
            .boxed_local()
            .shared();
        self.open.insert(id.to_owned(), opening.clone());
        opening
    }

    /// Starts all workflows on disk, so that interrupted ones continue.
    fn find_all(&mut self, ctx: &mut Context<Self>) {
        let listed = self.parts.store.list(None, MAX_KNOWN);
        ctx.spawn(listed.into_actor(self).then(|listed, actor, _| {
            let listed = listed.unwrap_or_else(|error| {
                log::error!("the workflows cannot be listed: {error}");
                Vec::new()
            });
            let ids = listed.into_iter().map(|listed| listed.id);
            let openings: Vec<(String, OpeningWorkflow)> =
                ids.map(|id| (id.clone(), actor.opening(&id))).collect();
            async move {
                for (id, opening) in openings {
                    if let Err(error) = opening.await {
                        log::error!("the workflow {id} cannot be opened: {error}");
                    }
                }
            }
            .into_actor(actor)
        }));
    }

    fn create(
        &mut self,
        order: CreateWorkflow,
    ) -> LocalBoxFuture<'static, Result<(WorkflowSnapshot, bool), WorkflowError>> {
        let id = match &order.id {
            Some(id) => id.clone(),
            None => new_id(&order.name),
        };
        if id.len() > MAX_ID || !is_id(&id) {
            let reason = format!(
                "the id {id:?} cannot be: it has 1 to {MAX_ID} of the characters a-z, 0-9, - and _, and no - first"
            );
            return async { Err(WorkflowError::Invalid { reason }) }.boxed_local();
        }
        let known = self.open.contains_key(&id).then(|| self.opening(&id));
        let (parts, name) = (self.parts.clone(), id.clone());
        let making = async move {
            // Another client may have looked for it before it was made.
            if let Some(known) = known {
                match known.await {
                    Err(WorkflowError::NotFound { .. }) => {}
                    opened => return Ok((opened?, false)),
                }
            }
            make(parts, &name, order).await
        };
        let making = making.boxed_local().shared();
        // A client that asks for it meanwhile gets the same one.
        let opening = making.clone().map(|made| made.map(|(actor, _)| actor));
        self.open.insert(id, opening.boxed_local().shared());
        let looking = async move {
            let (actor, created) = making.await?;
            let view = actor.send(WorkflowStateQuery).await;
            Ok((view.map_err(|_| WorkflowError::Stopping)??, created))
        };
        looking.boxed_local()
    }
}

fn is_id(id: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    !id.is_empty() && id.bytes().all(is_allowed) && !id.starts_with('-')
}

/// An id that begins like the name.
fn new_id(name: &str) -> String {
    let letters = name
        .chars()
        .map(|letter| match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => letter,
            _ => '-',
        });
    let start: String = letters.take(24).collect();
    let start = start.trim_matches('-');
    let random = fastrand::u32(..) & 0xff_ffff;
    if start.is_empty() {
        return format!("{random:06x}");
    }
    format!("{start}-{random:06x}")
}

async fn open(parts: WorkflowParts, id: &str) -> Result<Addr<WorkflowActor>, WorkflowError> {
    let none = || WorkflowError::NotFound { id: id.to_owned() };
    if !is_id(id) {
        return Err(none());
    }
    let journal = match parts.store.open(&ConversationId::new(id)).await {
        Ok(journal) => journal,
        Err(OpenError::NotFound { .. }) => return Err(none()),
        Err(error) => return Err(WorkflowError::Open(error)),
    };
    let revived = revive(&parts, &journal).await;
    let (machine, first) = revived.map_err(WorkflowError::Storage)?;
    Ok(WorkflowActor::new(parts, journal, machine, first).start())
}

/// Makes a workflow, unless there is one of that id.
async fn make(
    parts: WorkflowParts,
    id: &str,
    order: CreateWorkflow,
) -> Result<(Addr<WorkflowActor>, bool), WorkflowError> {
    match open(parts.clone(), id).await {
        Err(WorkflowError::NotFound { .. }) => {}
        opened => return Ok((opened?, false)),
    }
    let CreateWorkflow {
        name,
        given,
        folder,
        by,
        ..
    } = order;
    let (base, sandbox) = {
        let (parts, id, name) = (parts.clone(), id.to_owned(), name.clone());
        let (given, folder) = (given.clone(), folder.clone());
        let work = move || {
            let site = Site::new(parts.clone(), &id, &name, &folder);
            let base = site.base(&given.manifest)?;
            keep(&parts.files, &given).map_err(|error| error.to_string())?;
            Ok::<_, String>((base, site.sandbox()))
        };
        let found = blocking(work)
            .await
            .unwrap_or_else(|error| Err(error.to_string()));
        found.map_err(|reason| WorkflowError::Invalid { reason })?
    };
    let header = Header {
        title: Some(name),
        workspace: Some(Workspace {
            folder,
            is_elsewhere: false,
        }),
        ..Header::new(ConversationId::new(id), parts.clock.unix_millis())
    };
    let journal = parts.store.open_or_new(header).await;
    let journal = journal.map_err(WorkflowError::Open)?;
    let machine = WorkflowMachine::new(WorkflowLedger::default(), None);
    let machine = machine
        .with_selector(Arc::clone(&parts.hooks.selector))
        .with_patience(parts.patience);
    let actor = WorkflowActor::new(parts, journal, machine, Vec::new()).start();
    let create = OperatorOrder::Create {
        workflow: id.to_owned(),
        applied: applied(given, base, Some(sandbox)),
    };
    let answer = actor.send(OrderWorkflow { order: create, by }).await;
    match answer.map_err(|_| WorkflowError::Stopping)?? {
        OrderOutcome::Refused { message, .. } => Err(WorkflowError::Invalid { reason: message }),
        OrderOutcome::Created { .. }
        | OrderOutcome::Taken
        | OrderOutcome::Done(_)
        | OrderOutcome::AnsweredBefore(_) => Ok((actor, true)),
    }
}

/// Keeps a file beside the journals. Blocks.
fn keep(files: &WorkflowFiles, given: &GivenFile) -> std::io::Result<()> {
    files.put_manifest(&given.hash, &given.manifest)?;
    files.put_text(&given.hash, &given.text)
}

fn applied(given: GivenFile, base: Head, sandbox: Option<SandboxStrength>) -> NewManifest {
    NewManifest {
        manifest: given.manifest,
        hash: given.hash,
        base,
        approved: given.approved,
        sandbox,
        file: given.file,
    }
}

/// The manifest that counts.
async fn counting(
    id: &str,
    actor: &Addr<WorkflowActor>,
) -> Result<CountingManifest, WorkflowError> {
    let counting = actor.send(Counts).await;
    let counting = counting.map_err(|_| WorkflowError::Stopping)?;
    counting.ok_or_else(|| WorkflowError::Invalid {
        reason: format!("the workflow {id} has no manifest yet"),
    })
}

fn storage(doing: &str, reason: &dyn std::fmt::Display) -> WorkflowError {
    WorkflowError::Storage(StorageError {
        doing: doing.to_owned(),
        path: "workflow-files".to_owned(),
        reason: reason.to_string(),
    })
}

impl Actor for WorkflowsActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.find_all(ctx);
    }
}

impl Handler<CreateWorkflow> for WorkflowsActor {
    type Result = ResponseFuture<Result<(WorkflowSnapshot, bool), WorkflowError>>;

    fn handle(&mut self, order: CreateWorkflow, _: &mut Context<Self>) -> Self::Result {
        if self.is_stopping {
            return Box::pin(async { Err(WorkflowError::Stopping) });
        }
        self.create(order)
    }
}

impl Handler<GiveOrder> for WorkflowsActor {
    type Result = ResponseFuture<Result<OrderOutcome, WorkflowError>>;

    fn handle(&mut self, order: GiveOrder, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        let GiveOrder { order, by, .. } = order;
        Box::pin(async move {
            let told = opening.await?.send(OrderWorkflow { order, by }).await;
            told.map_err(|_| WorkflowError::Stopping)?
        })
    }
}

impl Handler<ApplyFile> for WorkflowsActor {
    type Result = ResponseFuture<Result<OrderOutcome, WorkflowError>>;

    fn handle(&mut self, order: ApplyFile, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        let files = self.parts.files.clone();
        Box::pin(async move {
            let actor = opening.await?;
            let base = counting(&order.id, &actor).await?.head;
            let given = order.given.clone();
            let site = actor.send(Where).await;
            let site = site.map_err(|_| WorkflowError::Stopping)?;
            let keeping = move || keep(&files, &given).map(|()| site.sandbox());
            let sandbox = blocking(keeping).await;
            let sandbox = sandbox
                .map_err(|error| storage("keep the file", &error))?
                .map_err(|error| storage("keep the file", &error))?;
            let apply = OperatorOrder::Apply {
                applied: applied(order.given, base, Some(sandbox)),
                over: order.over,
                allow_remove: order.allow_remove,
            };
            let told = actor.send(OrderWorkflow {
                order: apply,
                by: order.by,
            });
            told.await.map_err(|_| WorkflowError::Stopping)?
        })
    }
}

impl Handler<FindManifest> for WorkflowsActor {
    type Result = ResponseFuture<Result<(CountingManifest, Option<Vec<u8>>), WorkflowError>>;

    fn handle(&mut self, order: FindManifest, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        let files = self.parts.files.clone();
        Box::pin(async move {
            let counting = counting(&order.id, &opening.await?).await?;
            let hash = counting.note.hash.clone();
            let text = blocking(move || files.text(&hash)).await;
            let text = text
                .map_err(|error| storage("read the file", &error))?
                .map_err(|error| storage("read the file", &error))?;
            Ok((counting, text))
        })
    }
}

impl Handler<DiffCandidate> for WorkflowsActor {
    type Result = ResponseFuture<Result<Option<(String, bool)>, WorkflowError>>;

    fn handle(&mut self, order: DiffCandidate, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        Box::pin(async move {
            let site = opening.await?.send(Where).await;
            let site = site.map_err(|_| WorkflowError::Stopping)?;
            let DiffCandidate { base, commit, .. } = order;
            let told = blocking(move || site.diff(&base, &commit)).await;
            told.map_err(|error| storage("compare commits", &error))?
                .map_err(|reason| WorkflowError::Invalid { reason })
        })
    }
}

impl Handler<LookAtWorkflow> for WorkflowsActor {
    type Result = ResponseFuture<Result<WorkflowSnapshot, WorkflowError>>;

    fn handle(&mut self, order: LookAtWorkflow, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        Box::pin(async move {
            let view = opening.await?.send(WorkflowStateQuery).await;
            view.map_err(|_| WorkflowError::Stopping)?
        })
    }
}

impl Handler<AwaitRest> for WorkflowsActor {
    type Result = ResponseFuture<Result<WorkflowSnapshot, WorkflowError>>;

    fn handle(&mut self, order: AwaitRest, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        Box::pin(async move {
            let rested = opening.await?.send(RestQuery).await;
            rested.map_err(|_| WorkflowError::Stopping)?
        })
    }
}

impl Handler<ListWorkflows> for WorkflowsActor {
    type Result = ResponseFuture<Result<Vec<WorkflowSnapshot>, WorkflowError>>;

    fn handle(&mut self, _: ListWorkflows, _: &mut Context<Self>) -> Self::Result {
        let openings: Vec<OpeningWorkflow> = self.open.values().cloned().collect();
        Box::pin(async move {
            let mut views = Vec::new();
            for opening in openings {
                // One that cannot be opened was reported when that was tried.
                if let Ok(actor) = opening.await
                    && let Ok(Ok(view)) = actor.send(WorkflowStateQuery).await
                {
                    views.push(view);
                }
            }
            views.sort_by(|one: &WorkflowSnapshot, other| {
                let made = other.created_at.cmp(&one.created_at);
                made.then_with(|| one.id.cmp(&other.id))
            });
            Ok(views)
        })
    }
}

impl Handler<FollowWorkflow> for WorkflowsActor {
    type Result = ResponseFuture<Result<Followable, WorkflowError>>;

    fn handle(&mut self, order: FollowWorkflow, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        Box::pin(async move {
            let followed = opening.await?.send(FollowQuery).await;
            followed.map_err(|_| WorkflowError::Stopping)
        })
    }
}

impl Handler<RemoveWorkflow> for WorkflowsActor {
    type Result = ResponseActFuture<Self, Result<String, WorkflowError>>;

    fn handle(&mut self, order: RemoveWorkflow, _: &mut Context<Self>) -> Self::Result {
        let opening = self.opening(&order.id);
        let store = Arc::clone(&self.parts.store);
        let id = order.id.clone();
        let removing = async move {
            let actor = opening.await?;
            let view = actor
                .send(WorkflowStateQuery)
                .await
                .map_err(|_| WorkflowError::Stopping)??;
            if ["running", "initializing"].contains(&view.state.as_str()) {
                return Err(WorkflowError::Busy { id });
            }
            // One that was never made whole has nothing besides its journal.
            let counts = actor.send(Counts).await;
            let counts = counts.map_err(|_| WorkflowError::Stopping)?;
            let site = actor.send(Where).await;
            let site = site.map_err(|_| WorkflowError::Stopping)?;
            if let Some(it) = counts {
                let cleared = blocking(move || site.clear(&it.manifest, &it.head)).await;
                cleared
                    .map_err(|error| storage("remove the worktree", &error))?
                    .map_err(|reason| WorkflowError::Kept { reason })?;
            }
            let ended = actor.send(EndWorkflow(Closing::Deleted)).await;
            ended.map_err(|_| WorkflowError::Stopping)?;
            let removed = store.remove(&ConversationId::new(&id)).await;
            removed.map_err(WorkflowError::Open)
        };
        Box::pin(removing.into_actor(self).map(move |removed, actor, _| {
            if removed.is_ok() {
                actor.open.remove(&order.id);
            }
            removed
        }))
    }
}

impl Handler<StopWorkflows> for WorkflowsActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopWorkflows, _: &mut Context<Self>) -> Self::Result {
        self.is_stopping = true;
        let openings: Vec<OpeningWorkflow> =
            self.open.drain().map(|(_, opening)| opening).collect();
        Box::pin(async move {
            let ending = openings.into_iter().map(|opening| async move {
                if let Ok(actor) = opening.await {
                    let ended = actor.send(EndWorkflow(Closing::Stopping)).await;
                    ended.unwrap_or_else(|error| log::debug!("a workflow has ended: {error}"));
                }
            });
            join_all(ending).await;
        })
    }
}
