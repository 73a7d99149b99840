//! The list of workflows in lines.

use super::tests::{machine, snapshot};
use super::*;
use crate::board::testing::workflow;
use crate::board::{BoardNews, BoardOrder};

/// Spec: [PLAIN-240]
#[test]
fn workflows_are_listed_in_lines_and_what_is_typed_behind_it_waits() {
    let mut machine = machine(true);
    machine.handle(snapshot(None, Vec::new()));
    let line = |text: &str| PlainInput::Line(text.to_owned());
    let news = |news| PlainInput::News(Box::new(News::Board(news)));
    let list = || PlainEffect::Order(ClientOrder::Board(BoardOrder::List));
    assert_eq!(machine.handle(line("/workflows")), [list()]);
    assert_eq!(machine.handle(line("/workflows")), []);
    let mut second = workflow("w2", "paused");
    second.reason = Some("operator".to_owned());
    let listed = BoardNews::Listed(vec![workflow("w1", "running"), second]);
    let shown = |text: &str| PlainEffect::Show(text.to_owned());
    assert_eq!(
        machine.handle(news(listed)),
        [
            shown("1. w1-name (w1) running, 1 of 6 done, /home/ana/src/project"),
            shown("2. w2-name (w2) paused (operator), 1 of 6 done, /home/ana/src/project"),
            list(),
        ]
    );
    let none = BoardNews::Listed(Vec::new());
    assert_eq!(
        machine.handle(news(none)),
        [shown("status: there is no workflow")]
    );
    machine.handle(line("/workflows"));
    let reason = "the service is away".to_owned();
    let refused = machine.handle(news(BoardNews::NotListed { reason }));
    assert_eq!(refused, [shown("error: the service is away")]);
}
