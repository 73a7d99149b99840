//! Conversations of several folders.

use super::testing::*;
use super::*;
use crate::link::{News, Offer, OfferKind};
use crate::terminal::Key;

const A: &str = "/home/ana/src/a";
const B: &str = "/home/ana/src/b";

fn folder(path: &str) -> Option<String> {
    Some(path.to_owned())
}

/// The ids that the list of conversations shows.
fn shown(app: &App) -> Vec<&str> {
    let Some(Overlay::Picker(picker)) = &app.overlay else {
        panic!("{:?}", app.overlay);
    };
    picker.matches().iter().map(|it| it.id.as_str()).collect()
}

/// Spec: [TUI-90]
#[test]
fn the_list_begins_with_one_folder_and_a_key_shows_all() {
    let mut app = attached_in(Some(A), &[]);
    let here = ClientOrder::List { folder: folder(A) };
    let all = ClientOrder::List { folder: None };
    assert_eq!(orders(&control(&mut app, 'p')), [&here]);
    let [c, d, e] = summaries_in([A, B, A]).try_into().unwrap();
    tell(&mut app, News::Listed(vec![c.clone(), e.clone()]));
    assert_eq!(shown(&app), ["c", "e"]);
    control(&mut app, 'x');
    assert_eq!(orders(&control(&mut app, 'a')), [&all]);
    // What was begun with one is not done with another.
    assert_eq!(control(&mut app, 'x'), []);
    assert_eq!(shown(&app), ["c", "e"]);
    tell(&mut app, News::Listed(vec![c, d, e]));
    assert_eq!(shown(&app), ["c", "d", "e"]);
    // A folder is found as it is shown.
    write(&mut app, "~/SRC/B");
    assert_eq!(shown(&app), ["d"]);
    control(&mut app, 'u');
    assert_eq!(orders(&control(&mut app, 'a'))[0], &here);
    // What is known already is not waited for.
    assert_eq!(shown(&app), ["c", "e"]);
    write(&mut app, "src");
    assert!(shown(&app).is_empty());
    key(&mut app, Key::Escape);
    assert!(app.overlay.is_none());
}

/// Spec: [TUI-90]
#[test]
fn after_one_was_thrown_away_the_same_folders_are_listed() {
    let mut app = attached_in(Some(A), &[]);
    control(&mut app, 'p');
    let deleted = |app: &mut App| {
        let (conversation, trash) = ("d".to_owned(), "/t".to_owned());
        tell(
            app,
            News::Deleted {
                conversation,
                trash,
            },
        )
    };
    let listed = deleted(&mut app);
    assert_eq!(orders(&listed), [&ClientOrder::List { folder: folder(A) }]);
    control(&mut app, 'a');
    let listed = deleted(&mut app);
    assert_eq!(orders(&listed), [&ClientOrder::List { folder: None }]);
    // While a title is written, it is not changed what is listed.
    tell(&mut app, News::Listed(summaries_in([A, A, A])));
    key(&mut app, Key::Tab);
    assert_eq!(control(&mut app, 'a'), []);
}

/// Spec: [TUI-90]
#[test]
fn a_service_that_tells_no_folders_has_one_list() {
    let mut app = picking();
    assert_eq!(shown(&app), ["c", "d", "e"]);
    let all = ClientOrder::List { folder: None };
    assert_eq!(orders(&control(&mut app, 'a')), [&all]);
    assert_eq!(shown(&app), ["c", "d", "e"]);
}

/// Spec: [TUI-91]
#[test]
fn a_conversation_is_made_in_the_folder_of_the_one_that_is_shown() {
    for path in [Some(A), None] {
        let folder = path.map(str::to_owned);
        let mut app = attached_in(path, &[]);
        write(&mut app, "/new");
        let made = key(&mut app, Key::Enter);
        let create = ClientOrder::Create {
            title: None,
            folder: folder.clone(),
        };
        assert_eq!(orders(&made), [&create]);
        let mut app = attached_in(path, &[]);
        control(&mut app, 'p');
        write(&mut app, "x");
        let made = control(&mut app, 'n');
        let title = Some("x".to_owned());
        assert_eq!(orders(&made), [&ClientOrder::Create { title, folder }]);
    }
}

/// Spec: [TUI-92]
#[test]
fn skills_and_templates_are_those_of_the_folder_and_models_those_of_the_service() {
    let offer = |name: &str| Offer {
        name: name.to_owned(),
        description: String::new(),
    };
    let offered = |kind, folder: Option<&str>, name: &str| News::Offered {
        kind,
        folder: folder.map(str::to_owned),
        offers: vec![offer(name)],
        problems: Vec::new(),
    };
    let mut app = attached_in(Some(A), &[]);
    let ask = |app: &mut App, command: &str| {
        control(app, 'u');
        write(app, command);
        let asked = key(app, Key::Char(' '));
        orders(&asked).into_iter().cloned().collect::<Vec<_>>()
    };
    let order = |kind, folder: Option<&str>| ClientOrder::Offers {
        kind,
        folder: folder.map(str::to_owned),
    };
    let (models, skills) = (OfferKind::Models, OfferKind::Skills);
    assert_eq!(ask(&mut app, "/model"), [order(models, None)]);
    tell(&mut app, offered(models, None, "m"));
    let templates = order(OfferKind::Templates, Some(A));
    assert_eq!(ask(&mut app, "/template"), [templates]);
    assert_eq!(ask(&mut app, "/skill"), [order(skills, Some(A))]);
    // Another folder is worked in, and then comes what was found in the one before.
    let opened = open_in(&mut app, "d", Some(B));
    assert_eq!(orders(&opened), [&order(skills, Some(B))]);
    tell(&mut app, offered(skills, Some(A), "of-a"));
    assert!(app.completions().is_empty());
    assert_eq!(ask(&mut app, "/model"), []);
    assert_eq!(ask(&mut app, "/skill"), []);
    tell(&mut app, offered(skills, Some(B), "of-b"));
    assert_eq!(app.completions()[0].label, "of-b");
    // In another conversation of the same folder they are known.
    open_in(&mut app, "e", Some(B));
    assert_eq!(ask(&mut app, "/skill"), []);
    assert_eq!(app.completions()[0].label, "of-b");
    // A list that is open is that of the folder.
    control(&mut app, 'u');
    write(&mut app, "/skill");
    assert!(orders(&key(&mut app, Key::Enter)).is_empty());
    let opened = open_in(&mut app, "c", Some(A));
    assert_eq!(orders(&opened), [&order(skills, Some(A))]);
}

/// Spec: [TUI-94]
#[test]
fn who_leaves_is_told_the_way_back() {
    for (id, path, way) in [
        ("c", None, "harness attach -c c"),
        ("default", None, "harness attach"),
        ("default", Some(A), "harness attach -c default"),
    ] {
        let mut app = attached(&[]);
        open_in(&mut app, id, path);
        if id != "c" {
            app.open(id.to_owned());
            open_in(&mut app, id, path);
        }
        let told = app.farewell().unwrap();
        assert!(told.ends_with(&format!("to come back: {way}")), "{told}");
    }
    assert_eq!(new().farewell(), None);
}
