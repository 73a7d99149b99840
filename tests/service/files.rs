//! The effects of tools on files, and their refusals, over HTTP.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use serde_json::{Value, json};

use crate::changing::{Changing, edit_of, left_in};

/// Spec: [TOOL-55]
#[tokio::test]
async fn f01_an_edit_of_a_file_of_any_bytes_changes_nothing_else() {
    let here = Changing::in_mode("edits").await;
    let before = b"\xef\xbb\xbfcaf\xe9\r\none\ntwo\r\n\xff\xc3";
    here.file("f", before);
    let (told, is_error) = here.edit("f", "one", "1\n1").await;
    assert!(!is_error, "{told}");
    assert_eq!(
        here.read("f"),
        b"\xef\xbb\xbfcaf\xe9\r\n1\n1\ntwo\r\n\xff\xc3"
    );
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [TOOL-621] [TOOL-622]
#[tokio::test]
async fn f01_a_file_gets_no_second_encoding_and_a_new_line_the_end_of_its_own() {
    let here = Changing::in_mode("edits").await;
    let before = b"caf\xe9\none\r\ntwo\n";
    here.file("f", before);
    let (told, is_error) = here.edit("f", "one", "eins\u{e4}").await;
    assert!(is_error && told.contains("/f is not UTF-8"), "{told}");
    assert!(told.contains("or convert the file first"), "{told}");
    assert_eq!(here.read("f"), before);
    let (told, is_error) = here.edit("f", "one", "one\n1").await;
    assert!(!is_error, "{told}");
    assert_eq!(here.read("f"), b"caf\xe9\none\r\n1\r\ntwo\n");
    let (_, is_error) = here.call("read", json!({"path": "f"})).await;
    assert!(!is_error);
    let (told, is_error) = here.write("f", "caf\u{e9}\n").await;
    assert!(is_error && told.contains("is not UTF-8"), "{told}");
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [TOOL-620]
#[tokio::test]
async fn a_folder_that_becomes_a_link_again_and_again_leads_no_new_folder_outside() {
    let here = Changing::in_mode("edits").await;
    let outside = here.service.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(here.at("d")).unwrap();
    symlink(&outside, here.at("link")).unwrap();
    let (folder, link) = (here.at("d"), here.at("link"));
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let exchanging = std::thread::spawn(move || {
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            renameat2(
                AT_FDCWD,
                &folder,
                AT_FDCWD,
                &link,
                RenameFlags::RENAME_EXCHANGE,
            )
            .unwrap();
        }
    });
    for number in 0..40 {
        let input = json!({"path": format!("d/new{number}/deep/f"), "content": "x"});
        here.begin("write", input).await;
        while let Some(approval) = here.asked().await {
            here.answer(&approval, "deny").await;
        }
    }
    drop(stop);
    exchanging.join().unwrap();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [TOOL-54] [TOOL-55]
#[tokio::test]
async fn f03_a_text_with_lf_is_found_where_the_file_has_crlf() {
    let here = Changing::in_mode("edits").await;
    for (before, old, new, after) in [
        (
            "a\r\nb\r\nc\r\n",
            "a\nb\n",
            "x\ny\nz\n",
            "x\r\ny\r\nz\r\nc\r\n",
        ),
        ("a\r\nb\r\nc", "\nb", "\nb\nB", "a\r\nb\r\nB\r\nc"),
        ("a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"),
        ("a\r\nb\r\n", "b", "1\n2", "a\r\n1\r\n2\r\n"),
    ] {
        here.file("f", before);
        let (told, is_error) = here.edit("f", old, new).await;
        assert!(!is_error, "{told}");
        assert_eq!(here.read("f"), after.as_bytes(), "{old:?} in {before:?}");
    }
}

/// Spec: [TOOL-56]
#[tokio::test]
async fn f04_no_match_and_many_are_refused_with_where_they_are() {
    let here = Changing::in_mode("edits").await;
    let before = "one\ntwo\none\nthree\none\nfour four\n";
    here.file("f", before);
    for (old, new, reason) in [
        ("five", "5", "no match found for old_string"),
        ("\ttwo", "2", r#"line 2: line 2 is \"two\", not \"\\ttwo\""#),
        ("four", "4", "found 2 matches, in lines 6, 6;"),
        ("one", "1", "found 3 matches, in lines 1, 3, 5;"),
        ("two", "two", "are the same"),
        ("", "x", "old_string is empty"),
    ] {
        let (told, is_error) = here.edit("f", old, new).await;
        assert!(is_error && told.contains(reason), "{old:?}: {told}");
        assert_eq!(here.read("f"), before.as_bytes(), "{old:?}");
    }
    let all = json!({"path": "f", "old_string": "one", "new_string": "1", "replace_all": true});
    let (told, is_error) = here.call("edit", all).await;
    assert!(!is_error && told.contains("in 3 places"), "{told}");
    assert_eq!(here.read("f"), b"1\ntwo\n1\nthree\n1\nfour four\n");
}

/// Spec: [TOOL-62] [TOOL-444]
#[tokio::test]
async fn f06_what_is_written_over_was_seen_whole_as_it_is_also_after_a_restart() {
    let mut here = Changing::in_mode("edits").await;
    let large = "a line of thirty-two characters\n".repeat(5000);
    for round in ["alive", "killed"] {
        for (name, content) in [
            ("part", "one\ntwo\n"),
            ("cut", &large),
            ("parts", &large),
            ("whole", "one\n"),
            ("changed", "one\n"),
        ] {
            here.file(name, content);
        }
        let read = async |here: &Changing, input: Value| {
            let (told, is_error) = here.call("read", input).await;
            assert!(!is_error, "{told}");
        };
        read(
            &here,
            json!({"path": "part", "start_line": 1, "end_line": 1}),
        )
        .await;
        read(&here, json!({"path": "cut"})).await;
        read(&here, json!({"path": "parts"})).await;
        read(&here, json!({"path": "parts", "start_line": 4000})).await;
        read(&here, json!({"path": "whole"})).await;
        read(&here, json!({"path": "changed"})).await;
        let own = format!("own {round}");
        let (told, is_error) = here.write(&own, "mine\n").await;
        assert!(!is_error, "{told}");
        here.file("never", "unread\n");
        if round == "killed" {
            here = here.restarted().await;
        }
        here.file("changed", "by somebody else\n");
        for (name, is_taken) in [
            ("never", false),
            ("part", false),
            ("cut", false),
            ("parts", true),
            ("changed", false),
            ("whole", true),
            (own.as_str(), true),
        ] {
            let before = here.read(name);
            let (told, is_error) = here.write(name, "new\n").await;
            assert_eq!(!is_error, is_taken, "{name}, {round}: {told}");
            let expected = if is_taken { b"new\n".to_vec() } else { before };
            assert_eq!(here.read(name), expected, "{name}, {round}");
        }
    }
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// A change of a file between the asking and the answer.
type Meanwhile = fn(&Changing);

/// Spec: [APPR-01] [TOOL-58]
#[tokio::test]
async fn f07_what_changes_between_the_asking_and_the_answer_is_not_lost() {
    let cases: [(&str, Value, Meanwhile); 8] = [
        ("changed", edit_of("d/f", "two", "2"), |here| {
            here.file("d/f", "zero\ntwo\n");
        }),
        ("removed", edit_of("d/f", "two", "2"), |here| {
            std::fs::remove_file(here.at("d/f")).unwrap();
        }),
        ("a link", edit_of("d/f", "two", "2"), |here| {
            std::fs::remove_file(here.at("d/f")).unwrap();
            symlink("../target", here.at("d/f")).unwrap();
        }),
        ("a folder", edit_of("d/f", "two", "2"), |here| {
            std::fs::remove_file(here.at("d/f")).unwrap();
            std::fs::create_dir(here.at("d/f")).unwrap();
        }),
        ("mode", edit_of("d/f", "two", "2"), |here| {
            std::fs::set_permissions(here.at("d/f"), std::fs::Permissions::from_mode(0o755))
                .unwrap();
        }),
        ("another folder", edit_of("d/f", "two", "2"), |here| {
            std::fs::rename(here.at("d"), here.at("moved")).unwrap();
            symlink("moved", here.at("d")).unwrap();
        }),
        ("made", edit_of("d/new", "", "mine\n"), |here| {
            here.file("d/new", "theirs\n");
        }),
        ("a folder made", edit_of("e/new", "", "mine\n"), |here| {
            std::fs::create_dir(here.at("e")).unwrap();
        }),
    ];
    for (name, input, meanwhile) in cases {
        let here = Changing::in_mode("ask").await;
        here.file("d/f", "one\ntwo\n");
        here.file("target", "one\ntwo\n");
        let call = here.begin("edit", input).await;
        let first = here.asked().await.unwrap();
        meanwhile(&here);
        let state = |here: &Changing| {
            let files = ["d/f", "d/new", "target", "moved/f", "e/new"];
            files.map(|file| std::fs::read(here.at(file)).ok())
        };
        let before = state(&here);
        assert_eq!(here.answer(&first, "allow").await.status, 200, "{name}");
        // Nothing is done but after another approval, or not at all. A mode is no part of what is asked.
        let second = here.asked().await;
        assert_eq!(state(&here) == before, name != "mode", "{name}");
        if let Some(second) = second {
            assert_ne!(second["id"], first["id"], "{name}");
            assert_eq!(here.answer(&second, "allow").await.status, 200, "{name}");
        }
        let (told, is_error) = here.result(&call).await;
        let is_done = [
            "changed",
            "mode",
            "another folder",
            "a link",
            "a folder made",
        ]
        .contains(&name);
        assert_eq!(!is_error, is_done, "{name}: {told}");
        assert_eq!(state(&here) != before, is_done, "{name}");
        let mode = |file: &str| std::fs::metadata(here.at(file)).map(|found| found.mode() & 0o777);
        if name == "mode" {
            assert_eq!(mode("d/f").unwrap(), 0o755);
        }
        assert_eq!(left_in(&here.at("")), [""; 0], "{name}");
        assert_eq!(here.standin.violations(), [""; 0]);
    }
}

/// Spec: [TOOL-58] [TOOL-60]
#[tokio::test]
async fn f10_a_link_stays_and_is_judged_by_where_it_leads() {
    let here = Changing::in_mode("edits").await;
    let outside = here.service.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "one\n").unwrap();
    here.file("real/f", "one\n");
    for (link, to) in [
        ("file", "real/f"),
        ("again", "file"),
        ("folder", "real"),
        ("out", "../outside/f"),
        ("out_folder", "../outside"),
        ("dangling", "nowhere"),
        ("ring", "ring"),
    ] {
        symlink(to, here.at(link)).unwrap();
    }
    for (number, path) in ["file", "again", "folder/f"].into_iter().enumerate() {
        let old = ["one", "1", "2"][number];
        let new = (number + 1).to_string();
        let (told, is_error) = here.edit(path, old, &new).await;
        assert!(!is_error, "{path}: {told}");
        assert_eq!(here.read("real/f"), format!("{new}\n").as_bytes());
    }
    let (told, is_error) = here.edit("folder/made", "", "new").await;
    assert!(!is_error && here.at("real/made").exists(), "{told}");
    for (path, asked) in [("out", "out"), ("out_folder/f", "out_folder/f")] {
        let call = here.begin("edit", edit_of(path, "one", "1")).await;
        let approval = here.asked().await.unwrap();
        let change = &approval["change"];
        assert_eq!(change["place"], "outside", "{path}");
        assert_eq!(change["path"], outside.join("f").to_str().unwrap());
        assert_eq!(change["asked"], here.at(asked).to_str().unwrap());
        here.answer(&approval, "deny").await;
        assert!(here.result(&call).await.1);
    }
    let call = here
        .begin("write", json!({"path": "out_folder/new", "content": "x"}))
        .await;
    let approval = here.asked().await.unwrap();
    assert_eq!(approval["change"]["place"], "outside");
    here.answer(&approval, "deny").await;
    assert!(here.result(&call).await.1);
    for path in ["dangling", "ring"] {
        assert!(here.write(path, "x").await.1, "{path}");
    }
    assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"one\n");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    let links = [
        "file",
        "again",
        "folder",
        "out",
        "out_folder",
        "dangling",
        "ring",
    ];
    for link in links {
        assert!(here.at(link).is_symlink(), "{link}");
    }
}

/// Spec: [TOOL-58]
#[tokio::test]
async fn f11_a_hard_link_keeps_the_old_content_and_that_is_said() {
    let here = Changing::in_mode("edits").await;
    let file = here.file("f", "one\n");
    std::fs::hard_link(&file, here.at("other")).unwrap();
    let (told, is_error) = here.edit("f", "one", "1").await;
    assert!(!is_error && told.contains("hard links"), "{told}");
    assert_eq!(
        (here.read("f"), here.read("other")),
        (b"1\n".into(), b"one\n".into())
    );
}

/// Spec: [TOOL-59] [TOOL-60]
#[tokio::test]
async fn f12_what_is_no_text_file_to_change_is_refused_by_name() {
    let here = Changing::in_mode("edits").await;
    let read_only = here.file("read_only", "one\n");
    std::fs::set_permissions(&read_only, std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::create_dir(here.at("folder")).unwrap();
    nix::unistd::mkfifo(&here.at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(here.at("socket")).unwrap();
    here.file("large", vec![b'x'; 9 * 1024 * 1024]);
    here.file("nul", b"one\0two");
    here.file("utf16", b"\xff\xfeo\0n\0e\0");
    for (path, reason) in [
        ("read_only", "read-only"),
        ("folder", "directory"),
        ("fifo", "not a regular file"),
        ("socket", ""),
        ("/dev/null", "not a regular file"),
        ("/proc/self/comm", ""),
        ("large", "9437184 bytes"),
        ("nul", "NUL"),
        ("utf16", "UTF-16"),
        ("", "path is required"),
        ("a\0b", "NUL"),
        ("none/../../x", "goes up from a folder that is not there"),
        ("read_only/x", "no directory"),
        (".", "directory"),
        ("..", "directory"),
    ] {
        for (tool, input) in [
            ("edit", edit_of(path, "one", "1")),
            ("write", json!({"path": path, "content": "new"})),
        ] {
            let (told, is_error) = here.call(tool, input).await;
            assert!(is_error && told.contains(reason), "{tool} {path:?}: {told}");
        }
    }
    assert_eq!(std::fs::read(&read_only).unwrap(), b"one\n");
    assert_eq!(std::fs::metadata(&read_only).unwrap().mode() & 0o777, 0o444);
    // Up and out of the folder is a place that is asked about.
    for path in ["../x", "folder/../../x", "./.././x"] {
        let call = here
            .begin("write", json!({"path": path, "content": "new"}))
            .await;
        let approval = here.asked().await.unwrap();
        assert_eq!(approval["change"]["place"], "outside", "{path}");
        here.answer(&approval, "deny").await;
        assert!(here.result(&call).await.1);
    }
    assert!(!here.service.home.path().join("x").exists());
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [TOOL-442] [TOOL-443]
#[tokio::test]
async fn a_file_keeps_its_byte_order_mark_and_its_line_ends() {
    let here = Changing::in_mode("edits").await;
    here.file("a.cs", "\u{feff}class A {\r\n}\r\n");
    let (told, is_error) = here.call("read", json!({"path": "a.cs"})).await;
    assert!(!is_error, "{told}");
    let (told, is_error) = here.write("a.cs", "class A {\n  int x;\n}\n").await;
    assert!(!is_error && told.contains("CR LF line ends"), "{told}");
    assert!(told.contains("byte order mark"), "{told}");
    let kept = "\u{feff}class A {\r\n  int x;\r\n}\r\n";
    assert_eq!(here.read("a.cs"), kept.as_bytes());
    // The same with its own marks is the same, and without them as well.
    for again in [kept, "class A {\n  int x;\n}\n"] {
        let (told, is_error) = here.write("a.cs", again).await;
        assert!(is_error && told.contains("has that content"), "{told}");
    }
    here.file("mac", "a\rb\rc\r");
    let (told, is_error) = here.edit("mac", "a\nb", "A\nx\nB").await;
    assert!(!is_error, "{told}");
    assert_eq!(here.read("mac"), b"A\rx\rB\rc\r");
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [TOOL-446]
#[tokio::test]
async fn an_edit_leaves_the_attributes_of_a_file() {
    let here = Changing::in_mode("edits").await;
    let file = here.file("f", "one\n");
    let set = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&file, "user.note", b"keep me", set).unwrap();
    let (told, is_error) = here.edit("f", "one", "1").await;
    assert!(!is_error, "{told}");
    let mut value = [0_u8; 16];
    let length = rustix::fs::getxattr(&file, "user.note", &mut value).unwrap();
    assert_eq!(&value[..length], b"keep me");
    assert_eq!(here.read("f"), b"1\n");
}

/// Spec: [TOOL-440]
#[tokio::test]
async fn a_picture_costs_the_model_a_line_and_not_its_bytes() {
    let here = Changing::in_mode("edits").await;
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
    here.file("shot.png", [head.as_slice(), &[7; 100_000]].concat());
    let (told, is_error) = here.call("read", json!({"path": "shot.png"})).await;
    assert!(!is_error && told.len() < 300, "{told}");
    assert!(told.contains("image/png, 100016 bytes"), "{told}");
    assert_eq!(here.standin.violations(), [""; 0]);
}

/// Spec: [TOOL-441]
#[tokio::test]
async fn a_search_that_finds_nothing_says_how_its_signs_are_written() {
    let here = Changing::in_mode("edits").await;
    here.file("log", "an error\na warning\n");
    for (pattern, has_note) in [("error|warning", true), ("fatal", false)] {
        let input = json!({"pattern": pattern, "path": "log"});
        let (told, is_error) = here.call("grep", input).await;
        let told: Value = serde_json::from_str(&told).unwrap();
        assert!(!is_error && told["matches"] == "", "{told}");
        assert_eq!(told["note"].is_string(), has_note, "{pattern}: {told}");
    }
}

/// Paths that tell other programs what to do.
const PROTECTED: &[&str] = &[
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/modules/sub/hooks/post-checkout",
    "sub/.git",
    "sub/.git/hooks/pre-push",
    ".gitmodules",
    "src/.gitattributes",
    ".envrc",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".husky/pre-commit",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".cargo/config",
    "src/.cargo/config.toml",
    ".npmrc",
    ".yarnrc.yml",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook-local.yml",
    ".bashrc",
    ".zshenv",
    ".profile",
    "AGENTS.md",
    "src/CLAUDE.md",
    ".agents/skills/x/SKILL.md",
    ".claude/settings.json",
    ".mcp.json",
    "HEAD",
    "hooks/update",
];
/// Other spellings of `.git/config` in the folder that the test makes; `~` is the folder's path.
const SPELLINGS: &[&str] = &[
    "./.git/config",
    ".//.git///config",
    "src/../.git/config",
    "src/./../src/../.git/config",
    "../work/.git/config",
    ".GIT/config",
    ".Git/CONFIG",
    "~/.git/config",
    "~/src/../.git/config",
    "folder_link/config",
    "folder_link/../.git/config",
    "file_link",
    "src/deep_link/hooks/new",
    "~/../alias/.git/config",
];

/// Spec: [TOOL-60] [APPR-07]
#[tokio::test]
async fn f13_protected_places_ask_or_are_refused_in_every_mode_by_every_spelling() {
    let mut here = Changing::in_mode("ask").await;
    here.file(".git/config", "one\n");
    std::fs::create_dir_all(here.at(".git/hooks")).unwrap();
    std::fs::create_dir(here.at("src")).unwrap();
    symlink(".git", here.at("folder_link")).unwrap();
    symlink(".git/config", here.at("file_link")).unwrap();
    symlink("../.git", here.at("src/deep_link")).unwrap();
    symlink("work", here.service.home.path().join("alias")).unwrap();
    let folder = here.at("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    for mode in ["ask", "edits", "sandbox", "plan", "locked"] {
        here.begin_another(mode).await;
        let asks = !["plan", "locked"].contains(&mode);
        for path in PROTECTED.iter().chain(SPELLINGS) {
            let path = path.replace('~', folder);
            // What is there is edited, what is not is written.
            let (tool, input) = match Path::new(folder).join(&path).is_file() {
                true => ("edit", edit_of(&path, "one", "1")),
                false => ("write", json!({"path": path, "content": "new"})),
            };
            let call = here.begin(tool, input).await;
            let approval = here.asked().await;
            assert_eq!(approval.is_some(), asks, "{mode} {path}");
            if let Some(approval) = approval {
                assert_eq!(approval["change"]["place"], "protected", "{mode} {path}");
                assert_eq!(approval["scopes"], json!(["once"]), "{mode} {path}");
                assert_eq!(approval["rule"], Value::Null, "{mode} {path}");
                here.answer(&approval, "deny").await;
            }
            let (told, is_error) = here.result(&call).await;
            assert!(
                is_error && told.contains("not done"),
                "{mode} {path}: {told}"
            );
        }
    }
    assert_eq!(here.read(".git/config"), b"one\n");
    let hooks = std::fs::read_dir(here.at(".git/hooks")).unwrap();
    assert_eq!(hooks.count(), 0);
    assert!(!here.at("AGENTS.md").exists() && !here.at(".vscode").exists());
    assert_eq!(here.standin.violations(), [""; 0]);
}
