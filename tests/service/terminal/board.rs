//! The board of workflows, on several terminals.

use std::time::Duration;

use harness_standin::{Gate, Message};

use super::drops::Cutter;
use crate::client::{LIMIT, within};
use crate::screen::Screen;
use crate::workflow_ground::{Bench, Turn, file};

/// The rows of a board that say how the workflow is: what it has, and neither its age nor who looks.
fn facts(screen: &Screen) -> Vec<String> {
    let is_fact = |row: &String| {
        let row = row.trim_start_matches(['│', ' ']);
        [
            "state", "to do", "used", "branch", "done", "pending", "green", "red",
        ]
        .iter()
        .any(|name| row.starts_with(name))
    };
    screen.rows().into_iter().filter(is_fact).collect()
}

/// Waits until both boards say the same, and these words. A board whose stream was cut waits for up to five seconds by
/// itself, and no key ends the wait.
async fn agree(ana: &Screen, ben: &Screen, words: &str) {
    let is_so = || {
        let says = |screen: &Screen| screen.text().contains(words);
        says(ana) && says(ben) && facts(ana) == facts(ben) && !facts(ana).is_empty()
    };
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let came = tokio::time::timeout(8 * LIMIT, waiting).await;
    assert!(came.is_ok(), "not {words:?} and the same on both boards");
}

/// A workflow of two features whose model waits at the gate before it does the first.
async fn bench(gate: &Gate) -> Bench {
    let held = gate.clone();
    let play = move |turn: &Turn| match (turn.feature.as_str(), turn.done) {
        ("one", 0) => turn.write("one.txt", "right\n").into(),
        ("one", _) => Message::new().text("all done").gate(&held).into(),
        _ => turn.right(),
    };
    let text = file("bounded", "[budget]\ntokens = 900000\n", &["one", "two"]);
    Bench::ready(&text, &[], play).await
}

/// Spec: [TUI-243] [TUI-246] [TUI-249]
#[tokio::test]
async fn one_pauses_and_another_resumes_and_both_boards_agree() {
    let gate = Gate::new();
    let bench = bench(&gate).await;
    let home = bench.service.home.path();
    let mut ana = Screen::attach(home, "ana").await;
    let mut ben = Screen::attach(home, "ben").await;
    for screen in [&mut ana, &mut ben] {
        screen.keys("/workflows\r");
        screen.shows("0 of 2 done").await;
    }
    ana.keys("r");
    within("the reply", gate.reached()).await;
    for screen in [&ana, &ben] {
        screen
            .shows("iteration 1, attempt 1 of one: the model works")
            .await;
        screen.shows("of 900000 tokens").await;
    }
    // At once: the attempt is rolled back.
    ben.keys("P");
    agree(&ana, &ben, "paused (operator): a person wanted it").await;
    assert_eq!(bench.past("paused").await[0]["by"], "ben");
    // The conversation of the iteration, and back.
    ana.keys("\r");
    ana.hides("Features,").await;
    ana.shows("wf-w1-1").await;
    ana.keys("\x1b");
    ana.shows("Features, 0 of 2 done").await;

    gate.open();
    ana.keys("r");
    agree(&ana, &ben, "Features, 1 of 2 done").await;
    agree(&ana, &ben, "green").await;
    ben.shows("Commits on the branch").await;
    bench.until("ready").await;
    agree(&ana, &ben, "ready").await;
    ben.keys("o");
    ben.shows("output of check").await;
    ben.keys("\x1b");
    ben.hides("output of check").await;
    ben.keys("\x03");
    ben.shows("Ctrl+C again cancels").await;
    ben.keys("\x03");
    bench.until("cancelled").await;
    agree(&ana, &ben, "cancelled").await;
}

/// Spec: [TUI-249] [LINK-240]
#[tokio::test]
async fn a_board_whose_stream_is_cut_again_and_again_says_what_the_service_says() {
    let gate = Gate::new();
    let bench = bench(&gate).await;
    let cutter = Cutter::start(bench.service.address, 7, 20).await;
    let home = cutter.home(&bench.service);
    let mut ana = Screen::attach(home.path(), "ana").await;
    let mut ben = Screen::attach(bench.service.home.path(), "ben").await;
    for screen in [&mut ana, &mut ben] {
        screen.keys("/workflows\r");
        screen.shows("0 of 2 done").await;
    }
    gate.open();
    for (state, done) in [("ready", "1 of 2 done"), ("completed", "2 of 2 done")] {
        bench.run().await;
        bench.until(state).await;
        for words in [done, state] {
            agree(&ana, &ben, words).await;
        }
    }
}
