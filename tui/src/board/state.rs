//! The board's state, and its questions to the operator.

use std::path::Path;
use std::time::Duration;

use harness_protocol::WorkflowSnapshot;

use super::detail::Detail;
use super::link::{BoardNews, WorkflowOrder};
use super::words;
use crate::conversation::RunningOutput;

/// The board's question before it does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BoardQuestion {
    /// Nothing.
    Nothing,
    /// The confirmation of a cancel, which ends the workflow for good.
    Cancel,
    /// The answer to this gate.
    Gate(String),
}

/// The view below the list.
#[derive(Debug)]
pub(crate) enum Shows {
    /// The progress of the workflow.
    Workflow,
    /// The output of the running check.
    Running,
    /// The output of a check that ended.
    Ended {
        /// The place where it ran and its name.
        name: String,
        /// The SHA-256 of its output.
        sha256: String,
        /// The end of it.
        output: RunningOutput,
    },
}

/// The requests of the board to the service after some news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wants {
    /// To follow this workflow.
    Follow(String),
    /// The output of that SHA-256.
    Output(String),
}

/// The board.
#[derive(Debug)]
pub(crate) struct Board {
    /// The folder whose workflows are listed first, absolute.
    folder: Option<String>,
    /// The user's home folder, which folders are shown without.
    home: Option<String>,
    /// All workflows; none until the service has told.
    list: Option<Vec<WorkflowSnapshot>>,
    /// The reason why the list is not known.
    pub(crate) problem: Option<String>,
    /// The id of the chosen one.
    chosen: Option<String>,
    pub(crate) detail: Option<Detail>,
    pub(crate) asks: BoardQuestion,
    pub(crate) shows: Shows,
    /// Number of features above their window, or of rows of an output below its window. `None` where the window moves
    /// by itself.
    pub(super) scrolled: Option<usize>,
    /// The orders that are on their way.
    sent: Vec<WorkflowOrder>,
}

impl Board {
    /// The board before the service told anything. `chosen` is the workflow to begin with.
    pub(crate) fn new(
        folder: Option<String>,
        home: Option<String>,
        chosen: Option<String>,
    ) -> Self {
        Self {
            folder,
            home,
            list: None,
            problem: None,
            chosen,
            detail: None,
            asks: BoardQuestion::Nothing,
            shows: Shows::Workflow,
            scrolled: None,
            sent: Vec::new(),
        }
    }

    /// The workflows, those of this folder first; none until the service has told.
    pub(crate) fn list(&self) -> Option<&[WorkflowSnapshot]> {
        self.list.as_deref()
    }

    /// The user's home folder.
    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// True if a workflow is of the client's working folder.
    pub(crate) fn is_here(&self, workflow: &WorkflowSnapshot) -> bool {
        let folder = self.folder.as_deref();
        folder.is_some_and(|folder| Path::new(folder).starts_with(&workflow.folder))
    }

    /// Index of the chosen workflow in the list.
    pub(crate) fn place(&self) -> Option<usize> {
        let list = self.list()?;
        list.iter()
            .position(|it| Some(&it.id) == self.chosen.as_ref())
    }

    /// The id of the chosen one.
    pub(crate) fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    /// The chosen workflow, with the latest known state.
    pub(crate) fn workflow(&self) -> Option<&WorkflowSnapshot> {
        match &self.detail {
            Some(detail) => Some(&detail.snapshot),
            None => self.list()?.get(self.place()?),
        }
    }

    /// The order that was given last and is on its way.
    pub(crate) fn sent(&self) -> Option<&WorkflowOrder> {
        self.sent.last()
    }

    /// Notes that an order is on its way; false if the same one is already.
    pub(crate) fn sends(&mut self, order: &WorkflowOrder) -> bool {
        let is_new = !self.sent.contains(order);
        if is_new {
            self.sent.push(order.clone());
        }
        is_new
    }

    /// Chooses another workflow of the list; its id if that is another one.
    pub(crate) fn step(&mut self, by: isize) -> Option<String> {
        let list = self.list.as_ref()?;
        let last = list.len().checked_sub(1)?;
        let at = self.place().unwrap_or(0);
        let next = at.saturating_add_signed(by).min(last);
        let next = list.get(next)?.id.clone();
        self.choose(next)
    }

    fn choose(&mut self, workflow: String) -> Option<String> {
        if self.chosen.as_ref() == Some(&workflow) {
            return None;
        }
        self.chosen = Some(workflow.clone());
        self.detail = None;
        self.sent.clear();
        self.back();
        Some(workflow)
    }

    /// Returns to the progress of the workflow, and asks nothing. True if something else was shown or asked.
    pub(crate) fn back(&mut self) -> bool {
        let was_elsewhere =
            self.asks != BoardQuestion::Nothing || !matches!(self.shows, Shows::Workflow);
        self.asks = BoardQuestion::Nothing;
        self.shows = Shows::Workflow;
        self.scrolled = None;
        was_elsewhere
    }

    /// Takes what the link tells; what is needed then.
    pub(crate) fn take(&mut self, news: BoardNews, now: Duration) -> Option<Wants> {
        let is_other = news.workflow().is_some_and(|id| Some(id) != self.chosen());
        if is_other {
            return None; // It was on its way when another one was chosen.
        }
        match news {
            BoardNews::Listed(list) => return self.listed(list).map(Wants::Follow),
            BoardNews::NotListed { reason } => self.problem = Some(reason),
            BoardNews::Followed { snapshot, recent } => {
                self.enlist(&snapshot);
                self.detail = Some(Detail::new(*snapshot, &recent, now));
            }
            BoardNews::Looked(snapshot) => self.looked(*snapshot, now),
            BoardNews::Given { snapshot, order } => {
                self.sent.retain(|sent| *sent != order);
                self.looked(*snapshot, now);
            }
            BoardNews::NotGiven { order, .. } => self.sent.retain(|sent| *sent != order),
            BoardNews::Happened { event, .. } => {
                if let Some(detail) = &mut self.detail {
                    detail.happened(&event);
                    if detail.running.is_none() && matches!(self.shows, Shows::Running) {
                        return self.shows_ended().map(Wants::Output);
                    }
                }
            }
            BoardNews::Down { reason, .. } => {
                if let Some(detail) = &mut self.detail {
                    detail.lost = Some(reason);
                }
            }
            BoardNews::Up { .. } => {
                if let Some(detail) = &mut self.detail {
                    detail.lost = None;
                }
            }
            BoardNews::Refused { reason, .. } => {
                self.detail = None;
                self.problem = Some(reason);
            }
            BoardNews::Output {
                sha256: told,
                offset,
                text,
                ..
            } => {
                if let Shows::Ended { sha256, output, .. } = &mut self.shows
                    && *sha256 == told
                {
                    *output = RunningOutput::default();
                    output.grow(offset, &text);
                }
            }
            BoardNews::NoOutput { .. } => {}
        }
        None
    }

    fn listed(&mut self, mut list: Vec<WorkflowSnapshot>) -> Option<String> {
        // The order of the service is kept within each half.
        list.sort_by_key(|it| !self.is_here(it));
        self.problem = None;
        let first = list.first().map(|it| it.id.clone());
        self.list = Some(list);
        match (self.place(), first) {
            (Some(_), _) | (None, None) => None,
            (None, Some(first)) => self.choose(first),
        }
    }

    fn looked(&mut self, snapshot: WorkflowSnapshot, now: Duration) {
        self.enlist(&snapshot);
        if let Some(detail) = &mut self.detail {
            detail.looked(snapshot, now);
        }
        let gate = self.workflow().and_then(|it| it.gate.as_ref());
        let is_gone = match &self.asks {
            BoardQuestion::Nothing => false,
            BoardQuestion::Cancel => self.workflow().is_none_or(words::is_over),
            BoardQuestion::Gate(asked) => gate.is_none_or(|gate| gate.gate != *asked),
        };
        if is_gone {
            self.asks = BoardQuestion::Nothing;
        }
    }

    /// Updates the workflow's row in the list, so that it agrees with the details below it.
    fn enlist(&mut self, snapshot: &WorkflowSnapshot) {
        let mut all = self.list.iter_mut().flatten();
        if let Some(known) = all.find(|it| it.id == snapshot.id) {
            known.clone_from(snapshot);
        }
    }

    /// Shows the output of the check that runs, or else of the last one; its SHA-256 if it has to be had.
    pub(crate) fn shows_output(&mut self) -> Option<String> {
        self.scrolled = None;
        let detail = self.detail.as_ref()?;
        if detail.running.is_some() {
            self.shows = Shows::Running;
            return None;
        }
        self.shows_ended()
    }

    fn shows_ended(&mut self) -> Option<String> {
        let check = self.detail.as_ref()?.checks.back()?;
        let sha256 = check.output.clone();
        // The end of it is known already.
        let mut output = RunningOutput::default();
        output.grow(0, &check.tail);
        self.shows = Shows::Ended {
            name: format!("{} {}", check.place, check.check),
            sha256: sha256.clone(),
            output,
        };
        Some(sha256).filter(|hash| !hash.is_empty())
    }

    /// True if something of it changes by itself: the age of a step.
    pub(crate) fn ticks(&self) -> bool {
        self.workflow().is_some_and(|it| it.step.is_some())
    }
}

impl BoardNews {
    /// The workflow of the news. `None` if they are about all.
    fn workflow(&self) -> Option<&str> {
        match self {
            Self::Listed(_) | Self::NotListed { .. } => None,
            Self::Followed { snapshot, .. }
            | Self::Looked(snapshot)
            | Self::Given { snapshot, .. } => Some(&snapshot.id),
            Self::Happened { workflow, .. }
            | Self::Down { workflow, .. }
            | Self::Up { workflow }
            | Self::Refused { workflow, .. }
            | Self::NotGiven { workflow, .. }
            | Self::Output { workflow, .. }
            | Self::NoOutput { workflow, .. } => Some(workflow),
        }
    }
}
