//! The board of workflows: what its keys do, and the way from it into a conversation and back.

use super::{App, Overlay};
use crate::board::{
    Board, BoardNews, BoardOrder, BoardQuestion, Detail, PauseAt, Wants, WorkflowOrder, is_over,
    is_working, room, scroll,
};
use crate::keys::{KeyAction, KeyPlace};
use crate::link::ClientOrder;

/// The way back to the board from a conversation that was opened on it.
#[derive(Debug)]
pub(super) struct WayBack {
    /// The workflow that was chosen.
    workflow: String,
    /// The conversation that was opened.
    conversation: String,
}

impl App {
    /// Opens the board; where one was opened before, with the workflow that was chosen.
    pub(super) fn open_board(&mut self) {
        let folder = self.conversation.status().folder.clone();
        let folder = folder.or_else(|| Some(self.service.as_ref()?.folder.clone()));
        let chosen = self.way_back.take().map(|back| back.workflow);
        self.overlay = Some(Overlay::Board(Box::new(Board::new(
            folder,
            self.home.clone(),
            chosen.clone(),
        ))));
        self.board_order(BoardOrder::List);
        if let Some(workflow) = chosen {
            self.board_order(BoardOrder::Follow { workflow });
        }
    }

    /// Goes back to the board if the conversation on the screen was opened on it and nothing else is meant.
    pub(super) fn goes_back_to_board(&mut self) -> bool {
        let is_from_it = |back: &WayBack| back.conversation == self.open_id();
        let goes = self.way_back.as_ref().is_some_and(is_from_it)
            && self.viewport.is_following()
            && self.composer.is_empty();
        if goes {
            self.open_board();
        }
        goes
    }

    /// The place of the board's keys.
    pub(super) fn board_place(board: &Board) -> KeyPlace {
        match board.asks {
            BoardQuestion::Gate(_) => KeyPlace::BoardGate,
            BoardQuestion::Nothing | BoardQuestion::Cancel => KeyPlace::Board,
        }
    }

    /// The link's news of workflows.
    pub(super) fn board_news(&mut self, news: BoardNews) {
        let said = match &news {
            BoardNews::NotGiven { reason, .. }
            | BoardNews::NoOutput { reason, .. }
            | BoardNews::NotListed { reason } => Some((reason.clone(), true)),
            BoardNews::Given { snapshot, order } => {
                let is_to_come = is_working(snapshot) && matches!(order, WorkflowOrder::Pause(_));
                let come = "it pauses when the iteration has ended".to_owned();
                is_to_come.then_some((come, false))
            }
            _ => None,
        };
        let now = self.now;
        let Some(Overlay::Board(board)) = &mut self.overlay else {
            // It was closed meanwhile. A refused order is reported all the same.
            if let BoardNews::NotGiven { reason, .. } = news {
                self.complain(reason);
            }
            return;
        };
        let wants = board.take(news, now);
        let workflow = board.chosen().map(str::to_owned);
        match said {
            Some((reason, true)) => self.complain(reason),
            Some((said, false)) => self.say(said),
            None => {}
        }
        match (wants, workflow) {
            (Some(Wants::Follow(workflow)), _) => {
                self.board_order(BoardOrder::Follow { workflow });
            }
            (Some(Wants::Output(sha256)), Some(workflow)) => {
                self.board_order(BoardOrder::Output { workflow, sha256 });
            }
            (Some(Wants::Output(_)) | None, _) => {}
        }
    }

    pub(super) fn act_on_board(&mut self, action: KeyAction) {
        let (size, now) = (self.size, self.now);
        let Some(Overlay::Board(board)) = &mut self.overlay else {
            return;
        };
        match action {
            KeyAction::Close if board.back() => {}
            KeyAction::Close | KeyAction::Board => self.close_board(),
            KeyAction::Previous => self.step_on_board(-1),
            KeyAction::Next => self.step_on_board(1),
            KeyAction::PageUp | KeyAction::PageDown => {
                let pages = if action == KeyAction::PageUp { -1 } else { 1 };
                let room = room(board, size);
                scroll(board, pages, room, now);
            }
            KeyAction::Accept => self.open_iteration(),
            KeyAction::Output => self.open_output(),
            KeyAction::Decide => self.ask_gate(),
            KeyAction::Allow => self.answer_gate(true),
            KeyAction::Deny => self.answer_gate(false),
            KeyAction::Pause => self.pause(PauseAt::IterationEnd),
            KeyAction::PauseNow => self.pause(PauseAt::Once),
            KeyAction::Resume => self.resume(false),
            KeyAction::ResumeStuck => self.resume(true),
            KeyAction::Interrupt => self.interrupt_workflow(),
            _ => {}
        }
    }

    pub(super) fn step_on_board(&mut self, by: isize) {
        if let Some(Overlay::Board(board)) = &mut self.overlay
            && let Some(workflow) = board.step(by)
        {
            self.board_order(BoardOrder::Follow { workflow });
        }
    }

    fn close_board(&mut self) {
        self.overlay = None;
        self.board_order(BoardOrder::Leave);
    }

    fn board_order(&mut self, order: BoardOrder) {
        self.order(ClientOrder::Board(order));
    }

    /// The board, if it is open.
    pub(crate) fn board(&self) -> Option<&Board> {
        match &self.overlay {
            Some(Overlay::Board(board)) => Some(board),
            _ => None,
        }
    }

    /// Opens the conversation of the iteration. What is typed there goes to it.
    fn open_iteration(&mut self) {
        let Some(board) = self.board() else { return };
        let conversation = board.detail.as_ref().and_then(Detail::conversation);
        let (Some(conversation), Some(workflow)) = (conversation, board.chosen()) else {
            self.say("no iteration has a conversation yet");
            return;
        };
        let conversation = conversation.to_owned();
        self.way_back = Some(WayBack {
            workflow: workflow.to_owned(),
            conversation: conversation.clone(),
        });
        self.close_board();
        if conversation != self.open_id() {
            self.open(conversation);
        }
        self.say("Esc or /workflows goes back to the board");
    }

    fn open_output(&mut self) {
        let Some(Overlay::Board(board)) = &mut self.overlay else {
            return;
        };
        let has_check = |it: &Detail| it.running.is_some() || !it.checks.is_empty();
        if !board.detail.as_ref().is_some_and(has_check) {
            self.say("no check has run yet");
            return;
        }
        let sha256 = board.shows_output();
        let workflow = board.chosen().map(str::to_owned);
        if let (Some(sha256), Some(workflow)) = (sha256, workflow) {
            self.board_order(BoardOrder::Output { workflow, sha256 });
        }
    }

    /// Asks for the answer of the gate that waits. What a tool asks is answered in its conversation.
    fn ask_gate(&mut self) {
        let Some(Overlay::Board(board)) = &mut self.overlay else {
            return;
        };
        let Some(it) = board.workflow() else { return };
        let gate = it.gate.as_ref().map(|gate| gate.gate.clone());
        match (gate, it.reason.as_deref()) {
            (Some(gate), _) => {
                board.back();
                board.asks = BoardQuestion::Gate(gate);
            }
            (None, Some("ask")) => {
                self.open_iteration();
                self.say("Ctrl+T answers what the tool asks; Esc goes back to the board");
            }
            (None, _) => self.say("nothing waits for an answer"),
        }
    }

    fn answer_gate(&mut self, is_approved: bool) {
        let Some(Overlay::Board(board)) = &mut self.overlay else {
            return;
        };
        let BoardQuestion::Gate(gate) = std::mem::replace(&mut board.asks, BoardQuestion::Nothing)
        else {
            return;
        };
        self.order_workflow(WorkflowOrder::Answer { gate, is_approved });
    }

    fn pause(&mut self, at: PauseAt) {
        match self.board().and_then(Board::workflow) {
            Some(it) if is_working(it) => self.order_workflow(WorkflowOrder::Pause(at)),
            Some(_) => self.say("it does not work now; there is nothing to pause"),
            None => {}
        }
    }

    fn resume(&mut self, retries_stuck: bool) {
        let Some(it) = self.board().and_then(Board::workflow) else {
            return;
        };
        match it.state.as_str() {
            "paused" => self.order_workflow(WorkflowOrder::Resume { retries_stuck }),
            "ready" | "draft" => self.order_workflow(WorkflowOrder::Run),
            "waiting_for_approval" => self.say("a gate waits for a person; a answers it"),
            _ if is_over(it) => self.say("it is over, and nothing comes after that"),
            _ => self.say("it works already"),
        }
    }

    /// Asks for confirmation of the workflow's cancellation, and cancels it when the key is pressed again.
    fn interrupt_workflow(&mut self) {
        let Some(Overlay::Board(board)) = &mut self.overlay else {
            return;
        };
        match board.workflow() {
            Some(it) if !is_over(it) => {}
            _ => return self.close_board(),
        }
        if board.asks == BoardQuestion::Cancel {
            board.asks = BoardQuestion::Nothing;
            self.order_workflow(WorkflowOrder::Cancel);
        } else {
            board.back();
            board.asks = BoardQuestion::Cancel;
        }
    }

    /// Gives an order to the chosen workflow, unless the same one is on its way.
    fn order_workflow(&mut self, order: WorkflowOrder) {
        let Some(Overlay::Board(board)) = &mut self.overlay else {
            return;
        };
        let Some(workflow) = board.chosen().map(str::to_owned) else {
            return;
        };
        if board.sends(&order) {
            board.asks = BoardQuestion::Nothing;
            self.board_order(BoardOrder::Give { workflow, order });
        }
    }
}
