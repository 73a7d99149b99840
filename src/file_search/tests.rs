//! Tests of which files are found, in which order, and which are not.

use std::fs;

use super::*;

fn folder(files: &[&str]) -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    for file in files {
        let path = top.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    top
}

fn found(top: &tempfile::TempDir, query: &str) -> Vec<String> {
    let home = top.path().join("state");
    let listing = PathListing::read(top.path(), &home);
    rank::best(&listing, top.path(), &home, query, 5).files
}

/// Spec: [HTTP-113]
#[test]
fn what_git_ignores_is_not_offered_and_taken_when_it_is_named_in_full() {
    let top = folder(&[
        "src/main.rs",
        "src/maintain.rs",
        "main/other.txt",
        ".github/main.yml",
        ".git/main",
        "target/main.o",
        "state/token",
        "a b.rs",
    ]);
    fs::write(top.path().join(".gitignore"), "target/\n").unwrap();
    std::os::unix::fs::symlink("/etc", top.path().join("main_link")).unwrap();
    assert_eq!(
        found(&top, "main"),
        [
            "src/main.rs",
            "src/maintain.rs",
            ".github/main.yml",
            "main/other.txt"
        ]
    );
    assert_eq!(found(&top, "s mrs"), ["src/main.rs", "src/maintain.rs"]);
    assert_eq!(found(&top, "a b")[0], "a b.rs");
    assert_eq!(found(&top, "target/main.o"), ["target/main.o"]);
    for none in ["state/token", "../x", "main_link/passwd", "target"] {
        assert_eq!(found(&top, none), Vec::<String>::new(), "{none}");
    }
    assert_eq!(found(&top, "").len(), 5);
}

/// Spec: [HTTP-113]
#[test]
fn a_folder_within_one_that_is_ignored_has_files() {
    let top = folder(&["build/work/a.txt", "build/work/b.o"]);
    fs::write(top.path().join(".gitignore"), "build/**\n*.o\n").unwrap();
    let within = top.path().join("build/work");
    let listing = PathListing::read(&within, &top.path().join("state"));
    let mut paths: Vec<&str> = listing.paths().collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a.txt", "b.o"]);
}

/// Spec: [HTTP-114]
#[tokio::test]
async fn a_folder_is_looked_through_again_after_a_while() {
    let local = tokio::task::LocalSet::new();
    let top = folder(&["one.txt"]);
    let search = FileSearch::without(&top.path().join("state"));
    let files = async |query: &str| {
        let found = search.find(top.path().to_owned(), query.to_owned(), 5);
        found.await.unwrap().files
    };
    local
        .run_until(async {
            assert_eq!(files("txt").await, ["one.txt"]);
            fs::write(top.path().join("two.txt"), "").unwrap();
            assert_eq!(files("txt").await, ["one.txt"]);
            for known in search.known.lock().await.iter_mut() {
                known.listed_at -= FRESH;
            }
            assert_eq!(files("txt").await, ["one.txt", "two.txt"]);
        })
        .await;
}

/// Spec: [HTTP-114]
#[tokio::test]
async fn the_files_of_few_folders_are_kept() {
    let local = tokio::task::LocalSet::new();
    let tops: Vec<_> = (0..6).map(|_| folder(&["a"])).collect();
    let search = FileSearch::without(&tops[0].path().join("state"));
    local
        .run_until(async {
            for top in &tops {
                let found = search.find(top.path().to_owned(), String::new(), 5);
                assert_eq!(found.await.unwrap().files, ["a"]);
            }
            assert_eq!(search.known.lock().await.len(), MAX_FOLDERS);
        })
        .await;
}
