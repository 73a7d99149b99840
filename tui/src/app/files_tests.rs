//! Files that go with prompts.

use harness_protocol::FoundFiles;
use serde_json::json;

use super::testing::*;
use super::*;
use crate::composer::ComposerEdit;
use crate::conversation::PartKind;
use crate::conversation::testing::event;
use crate::link::{News, PromptFile};
use crate::terminal::Key;

const FOLDER: &str = "/home/ana/project";

fn told_files(query: &str, files: &[&str]) -> News {
    News::Files {
        conversation: "c".to_owned(),
        found: FoundFiles {
            query: query.to_owned(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            known: 200_000,
            is_whole: true,
        },
    }
}

fn labels(app: &App) -> Vec<String> {
    let completions = app.completions();
    completions.into_iter().map(|it| it.label).collect()
}

fn sent_files(effects: &[AppEffect]) -> (String, Vec<PromptFile>) {
    match orders(effects)[..] {
        [ClientOrder::Submit { content, files, .. }] => (content.clone(), files.clone()),
        ref other => panic!("{other:?}"),
    }
}

fn chips(app: &App) -> Vec<String> {
    let chips = app.composer.live_chips();
    chips.map(|chip| chip.text.to_string()).collect()
}

fn looked(app: &mut App, files: &[&str]) {
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    let missing = Missing::Text(String::new());
    let now = app.now;
    app.update(
        Msg::Looked {
            files: Some(files),
            missing,
        },
        now,
    );
}

/// Spec: [TUI-162] [TUI-163]
#[test]
fn files_are_offered_while_a_name_is_written_and_go_along() {
    let mut app = attached_in(Some(FOLDER), &[]);
    write(&mut app, "see ");
    let asked = |query: &str| {
        vec![AppEffect::Order(ClientOrder::Files {
            conversation: "c".to_owned(),
            query: query.to_owned(),
        })]
    };
    assert_eq!(key(&mut app, Key::Char('@')), asked(""));
    // One question is on its way at a time, and the last one is asked then.
    assert_eq!(key(&mut app, Key::Char('m')), []);
    assert_eq!(key(&mut app, Key::Char('a')), []);
    assert_eq!(tell(&mut app, told_files("", &["x.rs"])), asked("ma"));
    assert_eq!(labels(&app), [""; 0]);
    tell(&mut app, told_files("ma", &["src/main.rs", "a map.txt"]));
    assert_eq!(labels(&app), ["src/main.rs", "a map.txt"]);
    key(&mut app, Key::Down);
    // Enter takes the name and sends nothing.
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(app.composer.text(), "see @\"a map.txt\" ");
    assert_eq!(chips(&app), ["a map.txt"]);
    write(&mut app, "now");
    let (content, files) = sent_files(&key(&mut app, Key::Enter));
    assert_eq!(content, "see @\"a map.txt\" now");
    assert_eq!(files, [PromptFile::Below("a map.txt".to_owned())]);
    let shown = last(&app).unwrap();
    assert!(
        matches!(&shown.kind, PartKind::User { files, is_pending: true, .. } if *files == ["a map.txt"]),
        "{shown:?}"
    );
}

/// Spec: [TUI-163]
#[test]
fn a_file_that_the_text_names_no_more_does_not_go_along() {
    let mut app = attached_in(Some(FOLDER), &[]);
    key(&mut app, Key::Char('@'));
    tell(&mut app, told_files("", &["a.rs"]));
    key(&mut app, Key::Tab);
    assert_eq!(app.composer.text(), "@a.rs ");
    assert_eq!(chips(&app), ["a.rs"]);
    key(&mut app, Key::Backspace);
    key(&mut app, Key::Backspace);
    assert_eq!(chips(&app), [""; 0]);
    app.composer.edit(ComposerEdit::Undo, 40);
    assert_eq!(chips(&app), ["a.rs"]);
    // Written as text, a name is text.
    control(&mut app, 'u');
    write_mention(&mut app, "me@host @none");
    let (content, files) = sent_files(&key(&mut app, Key::Enter));
    assert_eq!((&*content, files), ("me@host @none", vec![]));
}

/// Writes what may begin the name of a file, for which the service knows none.
fn write_mention(app: &mut App, text: &str) {
    for letter in text.chars() {
        key(app, Key::Char(letter));
        tell(app, told_files("", &[]));
        tell(app, told_files("none", &[]));
    }
}

/// Spec: [TUI-164] [TUI-165]
#[test]
fn a_file_is_attached_by_its_path_and_a_paste_of_paths_is_looked_for() {
    let mut app = attached_in(Some(FOLDER), &[]);
    write(&mut app, "/attach docs/a b.pdf");
    let effects = key(&mut app, Key::Enter);
    let path = format!("{FOLDER}/docs/a b.pdf");
    let look = AppEffect::Look {
        lists: vec![vec![path.clone()]],
        missing: Missing::Path(path.clone()),
    };
    assert!(effects.contains(&look), "{effects:?}");
    looked(&mut app, &[&path]);
    let now = app.now;
    let paste = "/tmp/plan.png\n".to_owned();
    let effects = app.update(Msg::Paste(paste.clone()), now);
    let missing = Missing::Text(paste.clone());
    let lists = vec![vec!["/tmp/plan.png".to_owned()]];
    assert_eq!(
        effects,
        [AppEffect::Look {
            lists,
            missing: missing.clone()
        }]
    );
    looked(&mut app, &["/tmp/plan.png"]);
    looked(&mut app, &["/tmp/plan.png"]);
    assert_eq!(chips(&app), ["docs/a b.pdf", "/tmp/plan.png"]);
    // A command leaves them where they are, and without a word they are not sent.
    write(&mut app, "/clients");
    key(&mut app, Key::Enter);
    key(&mut app, Key::Escape);
    assert_eq!(key(&mut app, Key::Enter), []);
    assert_eq!(toast(&app), "say what is to be done with it");
    write(&mut app, "look");
    let (_, files) = sent_files(&key(&mut app, Key::Enter));
    let expected = [
        PromptFile::Below("docs/a b.pdf".to_owned()),
        PromptFile::Here("/tmp/plan.png".to_owned()),
    ];
    assert_eq!(files, expected);
    assert!(app.composer.is_empty());
    // Refused, they come back with the text.
    let refused = News::NotAccepted {
        key: "k-1".to_owned(),
        reason: "too large".to_owned(),
    };
    tell(&mut app, refused);
    assert_eq!(app.composer.text(), "look");
    assert_eq!(chips(&app), ["docs/a b.pdf", "/tmp/plan.png"]);
    // What is no file is text.
    let (files, missing) = (None, Missing::Text("/tmp/x".to_owned()));
    app.update(Msg::Looked { files, missing }, now);
    assert_eq!(app.composer.text(), "look/tmp/x");
    let (files, missing) = (None, Missing::Path("/tmp/x".to_owned()));
    app.update(Msg::Looked { files, missing }, now);
    assert_eq!(toast(&app), "there is no file /tmp/x on this machine");
}

/// Spec: [TUI-166]
#[test]
fn what_goes_with_a_prompt_is_shown_to_everybody() {
    let file = json!({"sha256": "0", "media_type": "image/png", "bytes": 12_345, "name": "plan\u{1b}[31m.png"});
    let prompt =
        json!({"type": "user", "content": "look", "by": "ben", "run_id": 1, "attachments": [file]});
    let app = attached(&[event(prompt)]);
    let part = last(&app).unwrap();
    let block = crate::part_view::layout(part, 40, crate::part_view::FoldAmount::Cut);
    let rows = block.rows.iter().map(|row| {
        let pieces = row.pieces.iter();
        pieces
            .map(|piece| piece.text(&block.source).0)
            .collect::<String>()
    });
    let rows: Vec<String> = rows.collect();
    assert_eq!(rows[..2], ["┃ ben", "┃ look"]);
    assert!(rows[2].starts_with("┃ [plan"), "{rows:?}");
    assert!(rows[2].ends_with(".png · image/png · 12 kB]"), "{rows:?}");
    assert!(!rows[2].contains('\u{1b}'), "{rows:?}");
}

/// Spec: [TERM-309] [TERM-310]
#[test]
fn a_picture_of_the_clipboard_goes_along_and_a_path_from_afar_is_remarked() {
    let mut app = attached(&[]);
    assert_eq!(control(&mut app, 'v'), [AppEffect::TakePicture]);
    let now = app.now;
    let pasted = app.update(Msg::Paste(String::new()), now);
    assert_eq!(pasted, [AppEffect::TakePicture]);
    app.update(Msg::Picture(None), now);
    let said = "no picture in reach; save it and use /attach PATH";
    assert_eq!(toast(&app), said);
    let path = "/s/pictures-1/picture-1.png".to_owned();
    app.update(Msg::Picture(Some(path.clone())), now);
    write(&mut app, "look");
    let (_, files) = sent_files(&key(&mut app, Key::Enter));
    assert_eq!(files, [PromptFile::Here(path)]);

    let missing = || Missing::Text("/there/x.png".to_owned());
    for is_remote in [false, true] {
        let mut app = attached(&[]);
        app.is_remote = is_remote;
        let (files, missing) = (None, missing());
        app.update(Msg::Looked { files, missing }, now);
        assert_eq!(app.composer.text(), "/there/x.png");
        assert_eq!(app.toast.is_some(), is_remote);
    }
}
