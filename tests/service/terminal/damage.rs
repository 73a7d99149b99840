//! A loss in a journal is to be seen on the terminal, and nothing else suffers from it.

use std::path::Path;

use harness_standin::{Reply, Script};

use super::{conversation, digest, ended};
use crate::program::Service;
use crate::screen::Screen;

/// Goes to the first row.
const FIRST: &str = "\x1b[H";
/// Goes to the last row.
const LAST: &str = "\x1b[F";

/// Has so many short talks.
async fn talk(service: &Service, script: &Script, times: usize) {
    for time in 1..=times {
        script.push(Reply::text(format!("answer {time}.")));
        service.submit(&format!("question {time}.")).await;
        service.idle("default").await;
    }
}

/// Makes records unreadable.
fn garble(journal: &Path, records: &[u64]) {
    let whole = std::fs::read_to_string(journal).unwrap();
    let mut harmed = 0;
    let lines = whole.lines().map(|line| {
        let is_harmed = |seq: &u64| line.starts_with(&format!("{{\"seq\":{seq},"));
        if records.iter().any(is_harmed) {
            harmed += 1;
            return line.replace('"', "#") + "\n";
        }
        line.to_owned() + "\n"
    });
    let damaged: String = lines.collect();
    std::fs::write(journal, damaged).unwrap();
    assert_eq!(harmed, records.len(), "{whole}");
}

/// Number of occurrences of a text.
fn count(screen: &Screen, words: &str) -> usize {
    conversation(screen).join("\n").matches(words).count()
}

/// Spec: [PART-15] [PART-16]
#[tokio::test]
async fn what_cannot_be_read_is_said_in_its_place_with_the_copy_and_the_rest_goes_on() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    talk(&service, &script, 2).await;
    let home = std::sync::Arc::clone(&service.home);
    let home = home.path();
    let mut open = Screen::attach(home, "open").await;
    ended(&open, "answer 2.").await;
    service.kill();
    garble(&service.journal("default"), &[3, 4]);
    let service = service.restart().await;

    let mut screens = [
        Screen::attach(home, "ana").await,
        Screen::attach(home, "ben").await,
    ];
    let copy = service.get("/v1/conversations/default").await;
    let copy = copy["damage"]["file"].as_str().unwrap().to_owned();
    for screen in &screens {
        ended(screen, "answer 2.").await;
        screen.shows("records 3 to 4 cannot be read").await;
        screen.shows(&copy).await;
        let shown = conversation(screen).join("\n");
        let place = |words: &str| shown.find(words).unwrap();
        assert!(place("question 1.") < place("records 3 to 4"), "{shown}");
        assert!(place("records 3 to 4") < place("question 2."), "{shown}");
        assert!(place("answer 2.") < place(&copy), "{shown}");
        screen.look(|screen| {
            let row = screen.rows(0, screen.size().1.get());
            let row = row.enumerate().find(|(_, row)| row.contains("records 3"));
            let (row, text) = row.unwrap();
            let column = text.find("records").unwrap();
            let at = |place: usize| u16::try_from(place).unwrap();
            let cell = screen.cell(at(row), at(column)).unwrap();
            assert_eq!(cell.fgcolor(), vt100::Color::Rgb(255, 0, 0));
        });
    }

    // Clients that were there go on from where they were, and all see what comes.
    script.push(Reply::text("answer 3."));
    screens[0].keys("question 3.\r");
    for screen in screens.iter().chain([&open]) {
        ended(screen, "answer 3.").await;
    }
    assert_eq!(count(&open, "answer 1."), 1);
    assert_eq!(count(&screens[0], "records 3 to 4"), 1);
    assert_eq!(count(&screens[0], "default.damaged"), 1);
    let [ana, ben] = &mut screens;
    assert_eq!(digest(ana).await, digest(ben).await);
    open.keys("\x04");
    assert_eq!(open.ended().await, 0);
}

/// Spec: [PART-15]
#[tokio::test]
async fn what_is_missing_at_the_beginning_of_a_long_conversation_is_said_at_its_top() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    talk(&service, &script, 40).await;
    service.kill();
    garble(&service.journal("default"), &[1, 2, 3]);
    let service = service.restart().await;
    let summary = service.get("/v1/conversations/default?tail=0").await["summary"].clone();
    assert!(summary["records"].as_u64() > Some(220), "{summary}");
    let mut screen = Screen::attach(service.home.path(), "ana").await;
    ended(&screen, "answer 40.").await;
    assert_eq!(count(&screen, "cannot be read; a copy is in"), 1);
    screen.keys(FIRST);
    screen.shows("records 1 to 3 cannot be read").await;
    let shown = conversation(&screen).join("\n");
    let place = |words: &str| shown.find(words).unwrap();
    assert!(place("records 1 to 3") < place("answer 1."), "{shown}");
    assert!(!shown.contains("question 1."), "{shown}");
    screen.keys(LAST);
    screen.shows("answer 40.").await;
    screen.keys(FIRST);
    screen.shows("records 1 to 3").await;
    assert_eq!(count(&screen, "records 1 to 3"), 1);
}
