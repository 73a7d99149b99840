//! Each key of the plan, as the bytes that terminals send.

use harness_standin::{Gate, Reply};

use crate::client::within;
use crate::eventually::eventually;
use crate::program::Service;
use crate::screen::Screen;

async fn attached() -> (
    Service,
    harness_standin::Standin,
    harness_standin::Script,
    Screen,
) {
    let (service, standin, script) = Service::scripted(&[]).await;
    let screen = Screen::attach(service.home.path(), "ana").await;
    (service, standin, script, screen)
}

/// The last question to the model.
fn asked(standin: &harness_standin::Standin) -> String {
    let request = standin.requests().pop().unwrap().json();
    let messages = request["messages"].as_array().unwrap();
    let content = messages.last().unwrap()["content"].as_array().unwrap();
    content.last().unwrap()["text"].as_str().unwrap().to_owned()
}

/// Spec: [TUI-11] [TUI-12] [TERM-08]
#[tokio::test]
async fn enter_sends_and_every_form_of_a_new_line_makes_one() {
    let (_service, standin, script, mut screen) = attached().await;
    let forms = [
        "\x1b[13;5u",
        "\x1b[13;2u",
        "\x1b[13;3u",
        "\x1b\r",
        "\n",
        "\x1b[27;5;13~",
        "\x1b\n",
        "\\\r",
    ];
    for (number, form) in (1..).zip(forms) {
        script.push(Reply::text(format!("answer {number}.")));
        screen.keys(format!("one{form}two"));
        screen.shows("│ two").await;
        screen.keys("\r");
        super::ended(&screen, &format!("answer {number}.")).await;
        assert_eq!(asked(&standin), "one\ntwo", "{form:?}");
    }
}

/// Spec: [TUI-13]
#[tokio::test]
async fn ctrl_c_cancels_what_runs_clears_a_draft_and_leaves() {
    let (service, _standin, script, mut screen) = attached().await;
    let gate = Gate::new();
    script.push(Reply::text("never").gate_head(&gate));
    screen.keys("go\r");
    within("the request", gate.reached()).await;
    screen.shows("Thinking...").await;
    screen.keys("a draft");
    screen.shows("a draft").await;
    screen.keys("\x03");
    screen.shows("cancelled").await;
    screen.hides("Cancelling").await;
    screen.hides("Thinking").await;
    service.idle("default").await;
    screen.shows("│ a draft").await;
    screen.keys("\x03");
    screen.hides("a draft").await;
    screen.keys("\x03");
    assert_eq!(screen.ended().await, 0);
}

/// Spec: [TUI-14] [TUI-17] [HIST-03]
#[tokio::test]
async fn prompts_of_the_past_come_back_also_after_a_new_start_and_ctrl_u_clears() {
    let (service, _standin, script, mut screen) = attached().await;
    for prompt in ["first prompt", "second prompt"] {
        script.push(Reply::text(format!("answer to {prompt}.")));
        screen.keys(format!("{prompt}\r"));
        super::ended(&screen, &format!("answer to {prompt}.")).await;
    }
    let file = service.home.path().join(".harness/prompt_history");
    eventually("the file", async || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("second"))
    })
    .await;
    drop(screen);
    let mut screen = Screen::attach(service.home.path(), "ana").await;
    screen.keys("draft\x1b[A\x1b[A");
    screen.shows("│ second prompt").await;
    screen.keys("\x1b[A");
    screen.shows("│ first prompt").await;
    screen.keys("\x1b[B\x1b[B");
    screen.shows("│ draft").await;
    screen.keys("\x15");
    screen.shows("Enter prompt...").await;
}

/// Spec: [TUI-06] [TUI-15] [SCRL-01]
#[tokio::test]
async fn page_keys_scroll_and_what_comes_meanwhile_does_not_move_the_view() {
    let (service, _standin, script, mut screen) = attached().await;
    let lines: Vec<String> = (1..=100).map(|line| format!("line {line}.")).collect();
    script.push(Reply::text(lines.join("\n\n")));
    screen.keys("write\r");
    screen.shows("line 100.").await;
    service.idle("default").await;
    screen.keys("\x1b[5~");
    screen.hides("line 100.").await;
    let before = super::conversation(&screen);
    script.push(Reply::text("news."));
    service.submit("more").await;
    screen.shows("new ─").await;
    assert_eq!(super::conversation(&screen), before);
    screen.keys("\x1b[H");
    screen.shows("line 1.").await;
    screen.keys("\x1b[6~");
    screen.hides("line 1.").await;
    screen.keys("\x1b[F");
    screen.shows("news.").await;
    screen.hides("new ─").await;
    screen.keys("\x1b[<64;5;5M");
    screen.hides("news.").await;
    screen.keys("\x1b[<65;5;5M\x1b[<65;5;5M");
    screen.shows("news.").await;
}

/// Spec: [TUI-05] [TUI-630] [TUI-16] [TUI-18]
#[tokio::test]
async fn help_opens_with_f1_and_with_a_question_mark_on_an_empty_input() {
    let (_service, _standin, _script, mut screen) = attached().await;
    for open in ["?", "\x1bOP", "\x1b[P"] {
        screen.keys(open);
        screen.shows("Help").await;
        screen.keys("x");
        screen.hides("Help").await;
        screen.shows("│ x").await;
        screen.keys("\x15");
        screen.shows("Enter prompt...").await;
    }
    screen.keys("?");
    screen.shows("Help").await;
    screen.keys("\x1b");
    screen.hides("Help").await;
    screen.keys("what");
    screen.shows("│ what").await;
    screen.keys("?");
    screen.shows("│ what?").await;
    screen.keys("\x15");
    screen.shows("Enter prompt...").await;
    screen.keys("\x1b[200~?pasted\x1b[201~");
    screen.shows("│ ?pasted").await;
}

/// Spec: [TUI-630] [TUI-633] [TUI-634] [TUI-635] [TUI-636]
#[tokio::test]
async fn the_mode_is_shown_and_set_and_what_is_typed_after_a_box_arrives_whole() {
    let (_service, _standin, _script, mut screen) = attached().await;
    screen.shows("mode ask").await;
    screen.keys("\x1b[Z");
    screen.shows("mode edits").await;
    screen.keys("/mode sandbox\r");
    screen.shows("mode sandbox").await;
    for (command, shown) in [
        ("/mode\r", "* sandbox"),
        ("/rules\r", "no rules: the mode decides"),
        ("/jobs\r", "nothing runs in the background"),
    ] {
        screen.keys(command);
        screen.shows(shown).await;
        screen.keys("hello");
        screen.shows("│ hello").await;
        screen.keys("\x15");
        screen.shows("Enter prompt...").await;
    }
}

/// Spec: [TUI-19] [TERM-09] [TERM-20] [SCRL-10]
#[tokio::test]
async fn what_is_selected_with_the_mouse_is_copied_as_source() {
    for copy in ["\x03", "\x1b[99;6u", "\x1b[67;5u", "\x1b[67;6u"] {
        let (_service, _standin, script, mut screen) = attached().await;
        script.push(Reply::text("some **bold** words in one line"));
        screen.keys("go\r");
        super::ended(&screen, "some bold words").await;
        let rows = screen.rows();
        let row = rows
            .iter()
            .position(|row| row.contains("some bold"))
            .unwrap()
            + 1;
        let start = rows[row - 1].find("some").unwrap() + 1;
        let end = start + "some bold words".len() - 1;
        screen.keys(format!(
            "\x1b[<0;{start};{row}M\x1b[<32;{end};{row}M\x1b[<0;{end};{row}m"
        ));
        screen.keys(copy);
        screen
            .sees("the copy", |_| !screen.told().clipboard.is_empty())
            .await;
        // `some **bold** words`
        assert_eq!(
            screen.told().clipboard,
            ["c29tZSAqKmJvbGQqKiB3b3Jkcw=="],
            "{copy:?}"
        );
        screen.shows("clipboard").await;
    }
}

/// Spec: [TUI-04] [EDIT-15] [EDIT-16]
#[tokio::test]
async fn the_cursor_of_the_terminal_stands_where_one_writes_and_a_large_paste_is_set_aside() {
    let (service, standin, script, mut screen) = attached().await;
    screen.keys("漢字");
    screen.shows("漢字").await;
    screen
        .sees("the cursor", |_| {
            screen.look(vt100::Screen::cursor_position).1 == 2 + 4
        })
        .await;
    screen.keys("\x15");
    let large = "0123456789abcde\n".repeat(65_536);
    screen.keys(format!("\x1b[200~{large}\x1b[201~"));
    screen.shows("[1] pasted, 65536 lines").await;
    screen.keys("summarize");
    screen.shows("│ summarize").await;
    script.push(Reply::text("ok."));
    screen.keys("\r");
    screen.hides("[1] pasted").await;
    screen.shows("ok.").await;
    service.idle("default").await;
    let request = standin.requests().pop().unwrap().json();
    let asked = request["messages"][0]["content"][0]["text"]
        .as_str()
        .unwrap();
    assert_eq!(asked.trim_end(), format!("{large}\nsummarize").trim_end());
}

/// Spec: [TUI-810]
#[tokio::test]
async fn a_draft_is_edited_with_the_keys_of_vi() {
    let (service, standin, script) = Service::scripted(&[]).await;
    script.push(Reply::text("Yes."));
    let home = service.home.path();
    std::fs::write(home.join(".harness/client.toml"), "editing_mode = \"vi\"\n").unwrap();
    let mut screen = Screen::attach(home, "ana").await;
    screen.shows("INSERT").await;
    screen.keys("one two");
    screen.shows("one two").await;
    screen.keys("\x1b");
    screen.shows("NORMAL").await;
    screen.keys("0dwithree \x1b");
    screen.shows("three two").await;
    screen.shows("NORMAL").await;
    screen.keys("\r");
    screen.shows("Yes.").await;
    screen.shows("INSERT").await;
    let sent = crate::talk::last_texts(&standin.requests().last().unwrap().json());
    assert_eq!(sent, (0, vec!["three two".to_owned()]));
    // The cursor was a block outside of insert mode, and is given back.
    screen.keys("\x04");
    assert_eq!(screen.ended().await, 0);
    let seen = String::from_utf8_lossy(&screen.bytes()).into_owned();
    let shapes: Vec<_> = seen
        .split("\x1b[")
        .filter_map(|part| part.split_once(" q"))
        .map(|(shape, _)| shape)
        .collect();
    assert!(shapes.contains(&"2"), "{shapes:?}");
    assert!(shapes.ends_with(&["6", "0"]), "{shapes:?}");
}
