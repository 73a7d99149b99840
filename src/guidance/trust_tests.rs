//! Tests of what is loaded of folders that others can write to, and of what is secret.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Spec: [GUIDE-63]
#[test]
fn a_repository_shows_nothing_that_lies_outside_of_it() {
    let mut place = Place::new();
    place.write("private/id_rsa", "-----BEGIN KEY-----");
    place.write(
        "private/pack/SKILL.md",
        "---\nname: pack\ndescription: d\n---\n",
    );
    let private = place.path("private").to_str().unwrap().to_owned();
    place.link("../../private/id_rsa", "outer/work/AGENTS.md");
    place.link("../../private/id_rsa", "outer/work/CLAUDE.md");
    place.link(
        &format!("{private}/id_rsa"),
        "outer/work/.claude/commands/fix.md",
    );
    place.link(&private, "outer/work/.agents/skills");
    place.link(
        "/proc/self/environ",
        "outer/work/.claude/skills/environ/SKILL.md",
    );
    place.link(
        "../../../../../private/pack",
        "outer/work/.claude/skills/pack",
    );
    place.link("..", "outer/work/.agents/prompts");
    assert_eq!(place.told(), [""; 0]);
    let guidance = place.refreshed();
    assert_eq!((skills(&guidance), templates(&guidance)), (vec![], vec![]));
    let link = "it is a link that leads out of the working folder";
    let behind = "it lies behind a link that leads out of the working folder";
    let told: BTreeMap<String, String> = place.problems().into_iter().collect();
    let expected = [
        ("outer/work/.agents/skills", link),
        ("outer/work/.claude/commands/fix.md", link),
        ("outer/work/.claude/skills/environ/SKILL.md", link),
        ("outer/work/.claude/skills/pack/SKILL.md", behind),
        ("outer/work/AGENTS.md", link),
    ];
    for (path, reason) in expected {
        assert_eq!(told.get(path).map(String::as_str), Some(reason), "{told:?}");
    }
    assert!(!told.values().any(|reason| reason.contains("BEGIN")));
}

/// Spec: [GUIDE-63]
#[test]
fn links_within_a_repository_and_those_of_the_state_folder_are_followed() {
    let mut place = Place::new();
    place.write("outer/work/docs/rules.md", "rules");
    place.link("docs/rules.md", "outer/work/AGENTS.md");
    place.skill("outer/work/docs/skills", "inner", "d");
    let skills_folder = place.path("outer/work/docs/skills");
    place.link(skills_folder.to_str().unwrap(), "outer/work/.agents/skills");
    place.link("../.agents/skills", "outer/work/.claude/skills");
    place.link(
        "../../docs/rules.md",
        "outer/work/.claude/commands/rules.md",
    );
    place.write("dotfiles/AGENTS.md", "mine");
    place.skill("dotfiles", "own", "d");
    place.link("../dotfiles/AGENTS.md", "home/AGENTS.md");
    place.link("../../dotfiles/own", "home/skills/own");
    assert_eq!(place.told(), ["mine", "rules"]);
    let guidance = place.refreshed();
    assert_eq!(skills(&guidance), [("inner", "d"), ("own", "d")]);
    assert_eq!(templates(&guidance), [("rules", "rules")]);
    assert_eq!(guidance.problems, [""; 0]);
}

/// Spec: [GUIDE-63]
#[test]
fn the_state_folder_in_the_working_folder_is_not_a_part_of_it() {
    let mut place = Place::new();
    let home = place.path("outer/work/.harness");
    place.write("outer/work/.harness/token", "0123456789abcdef");
    place.write("outer/work/.harness/templates/own.md", "own");
    place.loader.home = home;
    place.link(".harness/token", "outer/work/AGENTS.md");
    place.link("../../.harness/token", "outer/work/.claude/commands/fix.md");
    place.link("../.harness", "outer/work/.agents/templates");
    assert_eq!(place.told(), [""; 0]);
    assert_eq!(templates(&place.refreshed()), [("own", "own")]);
    let reasons: Vec<String> = place.problems().into_iter().map(|(_, told)| told).collect();
    let reason = "it leads into the state folder, whose files are used only from there";
    assert_eq!(reasons, [reason; 3]);
}

/// Spec: [GUIDE-64]
#[test]
fn above_the_working_folder_no_link_is_followed() {
    let mut place = Place::new();
    place.write("private", "private");
    place.link("../private", "outer/AGENTS.md");
    assert_eq!(place.told(), [""; 0]);
    let reason = "it is a link, and above the working folder none is followed";
    let expected = ("outer/AGENTS.md".to_owned(), reason.to_owned());
    assert_eq!(place.problems(), [expected]);
    // Not even one that leads to its neighbour.
    fs::remove_file(place.path("outer/AGENTS.md")).unwrap();
    place.write("outer/rules.md", "rules");
    place.link("rules.md", "outer/AGENTS.md");
    assert_eq!(place.told(), [""; 0]);
    fs::remove_file(place.path("outer/AGENTS.md")).unwrap();
    nix::unistd::mkfifo(&place.path("outer/AGENTS.md"), Mode::S_IRWXU).unwrap();
    assert_eq!(place.problems()[0].1, "it is not a file");
}

/// Spec: [GUIDE-64]
#[test]
fn what_strangers_can_write_above_the_working_folder_is_not_used() {
    let mut place = Place::new();
    place.loader.workspace = place.path("outer/mine/work");
    place.write("outer/AGENTS.md", "outer");
    place.write("outer/mine/AGENTS.md", "mine");
    place.write("outer/mine/work/AGENTS.md", "work");
    for name in ["outer/mine", "outer/mine/work"] {
        place.permit(name, 0o755);
    }
    let outer = place.path("outer");
    let told = |reason: &str| reason.replace("OUTER", outer.to_str().unwrap());
    let open = told("others can change what is in OUTER; run `chmod go-w OUTER`");
    let sticky = told("everybody can put files into OUTER; move it into a folder of your own");
    for (mode, texts, reasons) in [
        (0o755, &["outer", "mine", "work"][..], &[][..]),
        (0o700, &["outer", "mine", "work"], &[]),
        (0o775, &["work"], &[&open, &open]),
        (0o757, &["work"], &[&open, &open]),
        // Nobody can exchange the folder of somebody else there.
        (0o1777, &["mine", "work"], &[&sticky]),
    ] {
        place.permit("outer", mode);
        assert_eq!(place.told(), texts, "{mode:o}");
        let told: Vec<String> = place.problems().into_iter().map(|(_, told)| told).collect();
        assert_eq!(told.iter().collect::<Vec<_>>(), reasons, "{mode:o}");
    }
    place.permit("outer", 0o755);
    place.permit("outer/mine/AGENTS.md", 0o664);
    assert_eq!(place.told(), ["outer", "work"]);
    let told = place.problems().remove(0).1;
    assert!(
        told.starts_with("others can write it; run `chmod go-w /"),
        "{told}"
    );
    // In the working folder itself the repository decides.
    place.permit("outer/mine/work/AGENTS.md", 0o666);
    place.permit("outer/mine/work", 0o777);
    assert_eq!(place.told(), ["outer", "work"]);
}

/// Spec: [GUIDE-63] [GUIDE-64]
#[test]
fn an_exchange_while_it_is_loaded_shows_nothing_else() {
    let mut place = Place::new();
    place.write("private", "private");
    for folder in ["outer", "outer/work"] {
        place.write(&format!("{folder}/good"), folder);
        place.link(
            place.path("private").to_str().unwrap(),
            &format!("{folder}/bad"),
        );
    }
    let (stop, at) = (Arc::new(AtomicBool::new(false)), place.path("outer"));
    let stopping = Arc::clone(&stop);
    let exchanging = std::thread::spawn(move || {
        while !stopping.load(Ordering::Relaxed) {
            for folder in [at.clone(), at.join("work")] {
                for name in ["good", "bad"] {
                    let used = folder.join("AGENTS.md");
                    fs::rename(folder.join(name), &used).unwrap();
                    fs::rename(used, folder.join(name)).unwrap();
                }
            }
        }
    });
    for _ in 0..3_000 {
        let told = place.told();
        assert!(told.iter().all(|text| text != "private"), "{told:?}");
    }
    stop.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
}

/// Spec: [GUIDE-66]
#[test]
fn what_is_loaded_shows_no_secret_and_none_that_is_learned_later() {
    fn later() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(4_000_000_000)
    }
    let mut place = Place::at(Clock::new(later));
    place.write("outer/work/AGENTS.md", "with sk-secret and sk-later");
    place.skill(
        "outer/work/.agents/skills",
        "a",
        "for sk-secret and sk-later",
    );
    place.write("outer/work/.agents/templates/sk-secret.md", "text");
    assert_eq!(place.told(), ["with *** and sk-later"]);
    let guidance = place.refreshed();
    assert_eq!(skills(&guidance), [("a", "for *** and sk-later")]);
    assert_eq!(templates(&guidance), []);
    assert!(
        !format!("{guidance:?}").contains("sk-secret"),
        "{guidance:?}"
    );
    place.loader.redaction.add("sk-later".into());
    assert_eq!(place.told(), ["with *** and ***"]);
    assert_eq!(skills(&place.refreshed()), [("a", "for *** and ***")]);
}
