//! The repository "tally": unfinished programs, a protected test for each, and a suite that runs them all.

use std::path::Path;
use std::sync::Arc;

use harness_standin::Reply;
use serde_json::json;
use tempfile::TempDir;

use crate::workflow_ground::{Bench, Turn, repository_with};

/// The content of each program before the work.
const UNFINISHED: &str = "echo unfinished; exit 1\n";
/// The program that adds numbers.
pub(super) const ADD: &str =
    "total=0; for n in \"$@\"; do total=$((total + n)); done; echo $total\n";
/// The program that makes words of a list.
pub(super) const PARSE: &str = "echo \"$1\" | tr , ' '\n";
/// The program that adds up a list, by the others.
pub(super) const REPORT: &str = "echo \"total: $(sh tally/add.sh $(sh tally/parse.sh \"$1\"))\"\n";

/// A test: it runs a program and compares.
fn test(name: &str, arguments: &str, wanted: &str) -> String {
    format!(
        "got=$(sh tally/{name}.sh {arguments})\n\
         if [ \"$got\" = '{wanted}' ]; then echo '{name} ... ok'; exit; fi\n\
         echo \"{name} ... FAILED: got '$got', wanted '{wanted}'\"; exit 1\n"
    )
}

/// The file of a workflow with these features in that mode; `more` comes before them.
pub(super) fn file(mode: &str, more: &str, features: &[&str]) -> String {
    let mut text = format!(
        "[workflow]\nobjective = \"Finish tally\"\nmode = \"{mode}\"\n\n\
         [permissions]\nmode = \"sandbox\"\nasks = \"deny\"\n\n{more}\n"
    );
    for feature in features {
        text += &format!(
            "\n[[feature]]\nid = \"{feature}\"\ndescription = \"tally/{feature}.sh works\"\n\
             [[feature.check]]\ncmd = [\"sh\", \"tests/{feature}.sh\"]\nmust_match = '^{feature} \\.\\.\\. ok$'\n"
        );
    }
    text
}

/// One try for a feature, and no other in the same iteration.
pub(super) const ONCE: &str = "[policy]\nmax_turns_per_run = 1\n";

/// The repository.
pub(super) fn repository(file: &str) -> Arc<TempDir> {
    let suite = "for test in add parse report; do sh tests/$test.sh; done\n".to_owned();
    let tests = [
        ("tests/add.sh", test("add", "1 2 3", "6")),
        ("tests/parse.sh", test("parse", "1,2", "1 2")),
        ("tests/report.sh", test("report", "1,2", "total: 3")),
        ("tests/suite.sh", suite),
    ];
    let mut files = vec![
        ("tally/add.sh", UNFINISHED),
        ("tally/parse.sh", UNFINISHED),
        ("tally/report.sh", UNFINISHED),
        (".gitignore", "*.tmp\n"),
    ];
    files.extend(tests.iter().map(|(path, text)| (*path, text.as_str())));
    Arc::new(repository_with(file, &files))
}

/// A workflow on the repository, initialized.
pub(super) async fn ready(
    file: &str,
    play: impl Fn(&Turn) -> Reply + Send + Sync + 'static,
) -> Bench {
    ready_on(repository(file), play).await
}

/// The same on a repository that a test has besides.
pub(super) async fn ready_on(
    repository: Arc<TempDir>,
    play: impl Fn(&Turn) -> Reply + Send + Sync + 'static,
) -> Bench {
    let bench = Bench::on(repository, &[], play).await;
    bench.initialize().await;
    bench
}

/// Does a feature correctly.
pub(super) fn right(turn: &Turn) -> Reply {
    let program = match &*turn.feature {
        "add" => ADD,
        "parse" => PARSE,
        _ => REPORT,
    };
    leaves(turn, &[(&format!("tally/{}.sh", turn.feature), program)])
}

/// Reads these files, since what is there is only written by who knows it, writes them, and says that it is done.
pub(super) fn leaves(turn: &Turn, files: &[(&str, &str)]) -> Reply {
    let one = |(path, content): &(&str, &str)| {
        let read = ("read", json!({"path": path}));
        [read, ("write", json!({"path": path, "content": content}))]
    };
    let calls: Vec<_> = files.iter().flat_map(one).collect();
    turn.calls(&calls, "done")
}

/// The content of a file in the repository's own tree.
pub(super) fn read(repository: &Path, path: &str) -> String {
    std::fs::read_to_string(repository.join(path)).unwrap()
}
