//! Several people on one conversation.

use harness_standin::{Gate, Message, Reply};
use serde_json::json;

use super::{conversation, digest};
use crate::client::within;
use crate::program::Service;
use crate::screen::Screen;

/// Spec: [TUI-50] [TUI-51] [TUI-52] [TUI-42]
#[tokio::test]
async fn a_prompt_is_seen_by_all_while_it_streams_and_anybody_cancels_it() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    std::fs::write(service.home.path().join("notes"), "one\ntwo\n").unwrap();
    let gate = Gate::new();
    script.push(Message::new().text("I will look.").tool_use(
        "t1",
        "read",
        json!({"path": "notes"}),
    ));
    script.push(
        Message::new()
            .text("First words. ")
            .text("Never seen.")
            .gate_after_delta(1, &gate),
    );
    let home = service.home.path();
    let mut ana = Screen::attach(home, "ana").await;
    let mut ben = Screen::attach(home, "ben").await;
    ana.shows("2 clients: you, ben").await;
    ben.shows("2 clients: you, ana").await;

    ana.keys("what is in notes?\r");
    for screen in [&ana, &ben] {
        screen.shows("what is in notes?").await;
        screen.shows("I will look.").await;
        screen.shows("read notes · 2 lines").await;
        screen.shows("Writing...").await;
    }
    within("the second request", gate.reached()).await;
    ben.shows("by ana").await;
    for screen in [&ana, &ben] {
        // While the text is not finished.
        screen.shows("First").await;
    }
    ben.keys("\x03");
    for screen in [&ana, &ben] {
        screen.shows("cancelled").await;
        screen.hides("Writing...").await;
    }
    ana.shows("cancelled by ben").await;
    service.idle("default").await;
    assert_eq!(digest(&mut ana).await, digest(&mut ben).await);
    assert_eq!(
        conversation(&ana).join("\n").replace("you\n", "ana\n"),
        conversation(&ben).join("\n"),
    );
}

/// Spec: [TUI-53]
#[tokio::test]
async fn what_is_sent_while_a_run_is_going_waits_on_all_screens_and_is_said_in_it() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(Reply::text("The first answer.").gate_head(&gate));
    script.push(Reply::text("The second answer."));
    let home = service.home.path();
    let mut ana = Screen::attach(home, "ana").await;
    let ben = Screen::attach(home, "ben").await;
    service.submit("first").await;
    ana.shows("Thinking...").await;
    ana.keys("rather this\r");
    ana.shows("you: rather this").await;
    ben.shows("ana: rather this").await;
    gate.open();
    for screen in [&ana, &ben] {
        screen.shows("The second answer.").await;
        screen.hides("queue").await;
    }
}

/// Spec: [TUI-54] [LINK-07]
#[tokio::test]
async fn the_service_dies_in_a_reply_and_both_clients_come_back_with_their_drafts() {
    let (mut service, _standin, script) = Service::scripted(&[]).await;
    let gate = Gate::new();
    script.push(Reply::text("A whole answer."));
    script.push(
        Message::new()
            .text("This is cut off here")
            .gate_after_delta(1, &gate),
    );
    let home = service.home.path().to_owned();
    let mut ana = Screen::attach(&home, "ana").await;
    let mut ben = Screen::attach(&home, "ben").await;
    ana.keys("first\r");
    super::ended(&ben, "A whole answer.").await;
    ben.keys("second\r");
    within("the second request", gate.reached()).await;
    ana.shows("This").await;
    ana.keys("draft of ana");
    ben.keys("draft of ben");
    ana.shows("draft of ana").await;
    ben.shows("draft of ben").await;

    service.kill();
    ana.shows("reconnecting").await;
    ben.shows("reconnecting").await;
    let service = service.restart().await;
    for screen in [&ana, &ben] {
        screen.hides("reconnecting").await;
        screen.shows("interrupted").await;
    }
    script.push(Reply::text("An answer after it."));
    service.submit("third").await;
    for screen in [&ana, &ben] {
        super::ended(screen, "An answer after it.").await;
    }
    ana.shows("│ draft of ana").await;
    ben.shows("│ draft of ben").await;
    ana.keys("\x15");
    ben.keys("\x15");
    let known = digest(&mut ana).await;
    assert_eq!(known, digest(&mut ben).await);
    // A client that knows nothing else than the journal says the same.
    let mut fresh = Screen::attach(&home, "eve").await;
    fresh.shows("An answer after it.").await;
    assert_eq!(digest(&mut fresh).await, known);
}

/// Spec: [TUI-55]
#[tokio::test]
async fn conversations_are_made_chosen_renamed_and_thrown_away() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("Once upon a time."));
    let home = service.home.path();
    let mut ana = Screen::attach(home, "ana").await;
    ana.keys("/new Bedtime\r");
    // In the header, and not only where it was written.
    ana.shows("Bedtime · ").await;
    ana.keys("a story\r");
    super::ended(&ana, "Once upon a time.").await;
    ana.keys("/rename Morning\r");
    ana.shows("Morning").await;
    ana.keys("\x10");
    ana.shows("Conversations").await;
    ana.shows("default").await;
    ana.keys("defa\r");
    ana.shows("Nothing was said yet").await;
    ana.hides("Conversations").await;
    ana.keys("\x10morn");
    ana.shows("› Morning").await;
    ana.keys("\x18");
    ana.shows("Ctrl+X again").await;
    ana.keys("\x18");
    ana.shows("none like that").await;
    ana.keys("\x1b");
    ana.hides("none like that").await;
    let list = service.get("/v1/conversations").await;
    assert_eq!(list["conversations"].as_array().unwrap().len(), 1, "{list}");
}
