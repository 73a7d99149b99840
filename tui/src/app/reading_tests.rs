use harness_protocol::Event;

use super::testing::*;
use super::*;
use crate::conversation::testing::{call, history, result, snapshot, text, user};
use crate::conversation::{CallOutcome, PartKind};
use crate::link::News;
use crate::terminal::{Button, Key, Mouse, MouseAction};

/// The rows on the screen, by part and row.
fn view(app: &mut App) -> Vec<(i64, usize, u16)> {
    let shown = app.viewport.visible(&app.conversation);
    let place = |shown: &crate::viewport::ShownRows| (shown.part.0, shown.rows.start, shown.y);
    shown.iter().map(place).collect()
}

/// Where the search stands: the record and the place in its text.
fn hit(app: &App) -> Option<(u64, usize)> {
    let Some(Overlay::Search(open)) = &app.overlay else {
        return None;
    };
    let place = open.search.current()?;
    let part = app.conversation.part(place.part)?;
    Some((part.seq?, place.offset))
}

fn said(app: &App) -> &'static str {
    match &app.overlay {
        Some(Overlay::Search(open)) => open.found().leak(),
        other => panic!("{other:?}"),
    }
}

/// Forty records, of which 3, 30 (twice) and 31 have a needle.
fn records() -> Vec<Event> {
    let of = |seq: u64| match seq {
        3 => text("a needle"),
        30 => text("one needle, another needle"),
        31 => text("and a third needle"),
        _ => text("hay"),
    };
    (1..=40).map(of).collect()
}

/// Of the forty records those from 21 on are loaded.
fn searching() -> App {
    let mut app = new();
    let mut begin = snapshot(&records(), 21, 40);
    begin.summary.run_id = None;
    begin.summary.state = harness_protocol::ConversationState::Idle;
    let snapshot = Box::new(begin);
    let reset = None;
    tell(&mut app, News::Snapshot { snapshot, reset });
    app.viewport.resize(78, 5);
    app
}

fn drawn(app: &mut App) -> Vec<AppEffect> {
    let now = app.now;
    app.update(Msg::Drawn, now)
}

fn older(page: Option<(u64, u64)>) -> News {
    let page = page.map(|(first, last)| Box::new(history(&records(), first, last)));
    News::Older {
        conversation: "c".to_owned(),
        before: 21,
        page,
    }
}

/// Spec: [TUI-33] [TUI-303]
#[test]
fn a_search_goes_through_all_hits_loads_what_is_older_and_leads_back() {
    let mut app = searching();
    assert_eq!(drawn(&mut app), []);
    key(&mut app, Key::PageUp);
    let before = view(&mut app);
    control(&mut app, 'f');
    write(&mut app, "needle");
    let mut walked = vec![hit(&app)];
    for _ in 0..2 {
        assert_eq!(key(&mut app, Key::Up), []);
        walked.push(hit(&app));
    }
    assert_eq!(walked, [Some((31, 12)), Some((30, 20)), Some((30, 4))]);
    // Before that nothing is loaded.
    assert_eq!(drawn(&mut app), []);
    key(&mut app, Key::Up);
    assert_eq!(said(&app), "loading what is older…");
    assert_eq!(
        drawn(&mut app),
        [AppEffect::Order(ClientOrder::Older {
            conversation: "c".to_owned(),
            before: 21
        })]
    );
    assert_eq!(drawn(&mut app), []);
    tell(&mut app, older(Some((1, 20))));
    assert_eq!((hit(&app), said(&app)), (Some((3, 2)), "1 of 4"));
    // Round in either direction.
    key(&mut app, Key::Up);
    assert_eq!(
        (hit(&app), said(&app)),
        (Some((31, 12)), "went round, 4 of 4")
    );
    key(&mut app, Key::Enter);
    assert_eq!(
        (hit(&app), said(&app)),
        (Some((3, 2)), "went round, 1 of 4")
    );
    key(&mut app, Key::Enter);
    assert_eq!((hit(&app), said(&app)), (Some((30, 4)), "2 of 4"));
    assert_ne!(view(&mut app), before);
    key(&mut app, Key::Escape);
    assert!(app.overlay.is_none());
    assert_eq!(view(&mut app), before);
}

/// Spec: [TUI-33]
#[test]
fn a_search_says_what_it_does_not_find() {
    let mut app = searching();
    let before = view(&mut app);
    write(&mut app, "/search Needle");
    key(&mut app, Key::Enter);
    assert_eq!(said(&app), "loading what is older…");
    assert_eq!(
        drawn(&mut app),
        [AppEffect::Order(ClientOrder::Older {
            conversation: "c".to_owned(),
            before: 21
        })]
    );
    tell(&mut app, older(None));
    assert_eq!(said(&app), "what is older cannot be had");
    assert_eq!(drawn(&mut app), []);
    // Asked for once more, it is tried once more.
    key(&mut app, Key::Up);
    app.now = OLDER_WAIT;
    assert_eq!(
        drawn(&mut app),
        [AppEffect::Order(ClientOrder::Older {
            conversation: "c".to_owned(),
            before: 21
        })]
    );
    tell(&mut app, older(Some((1, 20))));
    assert_eq!((hit(&app), said(&app)), (None, "not found"));
    // Small letters find capitals too, but not the other way.
    control(&mut app, 'u');
    assert_eq!(said(&app), "");
    app.update(Msg::Paste("third\n need".to_owned()), app.now);
    assert_eq!(hit(&app), Some((31, 6)));
    key(&mut app, Key::Escape);
    assert_eq!(view(&mut app), before);
    assert!(app.viewport.is_following());
    // With Tab one stays at the hit.
    control(&mut app, 'f');
    write(&mut app, "a needle");
    let found = view(&mut app);
    key(&mut app, Key::Tab);
    assert!(app.overlay.is_none() && !app.viewport.is_following());
    assert_eq!(view(&mut app), found);
}

fn whole(app: &mut App, id: &str, seq: u64, lines: &str) {
    let event = Box::new(result(id, lines));
    tell(
        app,
        News::Whole {
            conversation: "c".to_owned(),
            seq,
            event,
        },
    );
}

/// Spec: [TUI-34]
#[test]
fn results_that_were_cut_are_fetched_when_they_are_unfolded_and_on_the_screen() {
    let lines = "line\n".repeat(150);
    let mut events = vec![call("a"), result("a", &lines)];
    events.extend((0..30).map(|_| text("between")));
    events.extend([
        call("b"),
        result("b", &lines),
        call("c"),
        result("c", "short"),
    ]);
    let mut app = attached(&events);
    app.viewport.resize(78, 18);
    let kept = |app: &App| -> Vec<usize> {
        let parts = app.conversation.parts();
        parts
            .filter_map(|part| match &part.kind {
                PartKind::Tool(tool) => match &tool.outcome {
                    CallOutcome::Ended(result) => Some(result.text.lines().count()),
                    other => panic!("{other:?}"),
                },
                _ => None,
            })
            .collect()
    };
    let folded = view(&mut app);
    assert_eq!(drawn(&mut app), []);
    control(&mut app, 'o');
    let cut = view(&mut app);
    assert_eq!(drawn(&mut app), []);
    // Up to 100 lines are there; for the rest it is opened once more.
    let open_whole = |app: &mut App, call: usize| {
        let part = {
            let calls = app.conversation.parts();
            let mut calls = calls.filter(|part| matches!(part.kind, PartKind::Tool(_)));
            calls.nth(call).unwrap().clone()
        };
        app.viewport.folds.toggle(&part);
    };
    open_whole(&mut app, 0);
    open_whole(&mut app, 1);
    assert_eq!(
        drawn(&mut app),
        [AppEffect::Order(ClientOrder::Whole {
            conversation: "c".to_owned(),
            seq: 34
        })]
    );
    assert_eq!(drawn(&mut app), []);
    whole(&mut app, "b", 34, &lines);
    assert_eq!((kept(&app), drawn(&mut app)), (vec![101, 150, 1], vec![]));
    key(&mut app, Key::Home);
    assert_eq!(
        drawn(&mut app),
        [AppEffect::Order(ClientOrder::Whole {
            conversation: "c".to_owned(),
            seq: 2
        })]
    );
    whole(&mut app, "a", 2, &lines);
    assert_eq!((kept(&app), drawn(&mut app)), (vec![150, 150, 1], vec![]));
    // Its head, and then folded again, it looks as it did.
    key(&mut app, Key::End);
    let open = view(&mut app);
    control(&mut app, 'o');
    let head = view(&mut app);
    assert_eq!(toast(&app), "the first 8 lines of results");
    control(&mut app, 'o');
    assert_eq!(toast(&app), "folded: a row for each call");
    assert_eq!(view(&mut app), folded);
    assert!(open != cut && folded != cut && open != folded && head != cut && head != folded);
}

fn copied(app: &mut App, command: &str) -> Result<String, String> {
    write(app, command);
    let effects = key(app, Key::Enter);
    let copied = effects.into_iter().find_map(|effect| match effect {
        AppEffect::Copy(text) => Some(text),
        _ => None,
    });
    copied.ok_or_else(|| toast(app).to_owned())
}

/// Spec: [TUI-35]
#[test]
fn the_last_reply_its_code_and_everything_can_be_copied() {
    let reply = "Do *this*:\n\n```sh\nls\n```\n\nand\n\n```rust\nfn main() {\n}\n```";
    let mut app = attached(&[
        text("an older reply"),
        user("how\nso"),
        call("x"),
        result("x", "fine"),
        text(reply),
        crate::conversation::testing::run_ended("failed", "busy"),
    ]);
    let nothing = || Err("there is nothing like that to copy".to_owned());
    let block = |text: &str| Ok(text.to_owned());
    assert_eq!(copied(&mut app, "/copy"), block(reply));
    assert_eq!(copied(&mut app, "/copy 1"), block("ls\n"));
    assert_eq!(copied(&mut app, "/copy 2"), block("fn main() {\n}\n"));
    for command in ["/copy 0", "/copy 3", "/copy x"] {
        assert_eq!(copied(&mut app, command), nothing(), "{command}");
    }
    let all = copied(&mut app, "/copy all").unwrap();
    let expected =
        format!("an older reply\n\n> how\n> so\n\nread {{\"path\":\"x\"}}\nfine\n\n{reply}\n\n");
    assert!(all.starts_with(&expected), "{all}");
    assert!(all.ends_with("busy"), "{all}");
    assert_eq!(copied(&mut attached(&[]), "/copy"), nothing());
}

/// Spec: [TUI-06] [TUI-15]
#[test]
fn what_comes_does_not_move_the_view_of_who_looks_at_what_is_above() {
    let texts: Vec<Event> = (0..60).map(|_| text("hay")).collect();
    for following in [Key::End, Key::Escape, Key::Enter] {
        let mut app = attached(&texts);
        app.viewport.resize(78, 19);
        key(&mut app, Key::PageUp);
        key(&mut app, Key::PageUp);
        key(&mut app, Key::PageDown);
        let before = view(&mut app);
        for seq in 61..64 {
            tell(&mut app, told(seq, text("new")));
        }
        assert_eq!(view(&mut app), before);
        assert_eq!(app.viewport.unseen(&app.conversation), 3);
        if following == Key::Enter {
            write(&mut app, "x");
            assert_eq!(view(&mut app), before);
        }
        key(&mut app, following);
        assert!(app.viewport.is_following(), "{following:?}");
        assert_eq!(app.viewport.unseen(&app.conversation), 0);
    }
}

/// Spec: [TUI-14] [TUI-30]
#[test]
fn a_command_of_the_past_does_not_stop_the_walk_through_the_past() {
    let mut app = attached(&[]);
    for prompt in ["one", "/help", "three"] {
        app.history.add(prompt);
    }
    let mut walked = Vec::new();
    for pressed in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down] {
        key(&mut app, pressed);
        walked.push(app.composer.text().to_owned());
        assert!(app.completions().is_empty());
    }
    assert_eq!(walked, ["three", "/help", "one", "/help", "three"]);
    key(&mut app, Key::Up);
    key(&mut app, Key::Backspace);
    assert_eq!(app.completions()[0].label, "/help ");
    // Closed with Esc, it is there again for what is written next.
    key(&mut app, Key::Escape);
    assert!(app.completions().is_empty());
    control(&mut app, 'u');
    write(&mut app, "/hel");
    assert_eq!(app.completions()[0].label, "/help ");
    // What is chosen is what is marked, however long the list was before.
    for _ in 0..20 {
        key(&mut app, Key::Down);
    }
    control(&mut app, 'u');
    app.update(Msg::Paste("/hel".to_owned()), Duration::ZERO);
    key(&mut app, Key::Enter);
    assert!(matches!(app.overlay, Some(Overlay::Help { .. })));
}

/// Spec: [TUI-30] [EDIT-16]
#[test]
fn what_is_attached_is_never_a_command_and_keeps_its_slashes() {
    for begin in ["// a comment", "/help"] {
        let mut app = attached(&[]);
        let pasted = format!("{begin}\n{}", "line\n".repeat(30));
        app.update(Msg::Paste(pasted.clone()), Duration::ZERO);
        write(&mut app, "/quit");
        assert!(app.completions().is_empty());
        let sent = key(&mut app, Key::Enter);
        let content = format!("{pasted}\n/quit");
        let key = "k-1".to_owned();
        assert_eq!(
            orders(&sent),
            [&ClientOrder::Submit {
                conversation: "c".to_owned(),
                key,
                content,
                files: Vec::new(),
            }]
        );
    }
}

fn page(before: u64, first: u64) -> News {
    let page = history(&records(), first, before - 1);
    News::Older {
        conversation: "c".to_owned(),
        before,
        page: Some(Box::new(page)),
    }
}

/// Spec: [TUI-36]
#[test]
fn home_leads_to_the_very_beginning_page_by_page_unless_one_goes_elsewhere() {
    let wants = |before: u64| {
        let conversation = "c".to_owned();
        [AppEffect::Order(ClientOrder::Older {
            conversation,
            before,
        })]
    };
    let mut app = searching();
    key(&mut app, Key::Home);
    for before in [21, 14, 7] {
        assert_eq!(drawn(&mut app), wants(before));
        tell(&mut app, page(before, before.saturating_sub(7).max(1)));
    }
    assert_eq!(drawn(&mut app), []);
    assert_eq!(view(&mut app)[0], (view(&mut app)[0].0, 0, 0));
    assert_eq!(app.conversation.parts().next().unwrap().seq, Some(1));
    // Whoever goes elsewhere is not pulled back.
    let mut app = searching();
    key(&mut app, Key::Home);
    assert_eq!(drawn(&mut app), wants(21));
    key(&mut app, Key::PageDown);
    let before = view(&mut app);
    tell(&mut app, page(21, 15));
    assert_eq!(view(&mut app), before);
}

/// Spec: [TUI-37]
#[test]
fn what_is_being_selected_stays_under_the_pointer_and_the_sides_count_as_text() {
    let mut app = searching();
    let talk = Regions::of_screen(&app).talk;
    app.viewport.resize(talk.width, talk.height);
    let point = |app: &mut App, action: MouseAction, column: u16, row: u16| {
        let mouse = Mouse {
            action,
            column,
            row: talk.y + row,
        };
        let now = app.now;
        app.update(Msg::Mouse(mouse), now);
    };
    let row = view(&mut app)[1].2;
    // From the first column, which is free, to the last.
    point(&mut app, MouseAction::Press(Button::Left), 0, row);
    point(&mut app, MouseAction::Drag(Button::Left), 79, row);
    let before = view(&mut app);
    tell(&mut app, told(41, text("something new")));
    assert_eq!(view(&mut app), before);
    point(&mut app, MouseAction::Release(Button::Left), 79, row);
    assert_eq!(view(&mut app), before);
    let copied = control(&mut app, 'c');
    assert_eq!(copied, [AppEffect::Copy("hay".to_owned())]);
    assert_eq!(view(&mut app), before);
    key(&mut app, Key::Escape);
    assert_ne!(view(&mut app), before);
}
