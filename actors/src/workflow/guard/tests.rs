//! Which scripts are protected, and which new files take the place of a runner.

use super::*;
use crate::workflow::file::{FeatureList, FileFormat, read};

fn guard(more: &str, command: &str) -> PathGuard {
    let text = format!(
        "[workflow]\nobjective = \"x\"\n{more}\n[[feature]]\nid = \"a\"\ndescription = \"a\"\n\
         [[feature.check]]\n{command}\n"
    );
    PathGuard::for_manifest(&read(text.as_bytes(), FileFormat::Toml, FeatureList::Needed).unwrap())
}

fn scripts(command: &str) -> Vec<String> {
    guard("", command).scripts().iter().cloned().collect()
}

/// Spec: [FLOW-149]
#[test]
fn the_script_that_a_check_runs_is_protected_and_no_other_argument() {
    for (command, expected) in [
        (
            r#"cmd = ["sh", "-eu", "tools/check.sh", "src/a.c"]"#,
            &["tools/check.sh"][..],
        ),
        (r#"cmd = ["./run", "a.txt"]"#, &["run"]),
        (
            r#"cmd = ["python3", "-B", "-W", "error", "tools/run.py", "a.py"]"#,
            &["tools/run.py"],
        ),
        (
            r#"cmd = ["python3.11", "-m", "unittest", "tests.test_a"]"#,
            &[],
        ),
        (r#"cmd = ["node", "--test", "t.mjs"]"#, &["t.mjs"]),
        (
            r#"cmd = ["make", "-C", "x", "test"]"#,
            &["GNUmakefile", "Makefile", "makefile"],
        ),
        (r#"cmd = ["make", "-f", "ci.mk", "test"]"#, &["ci.mk"]),
        (r#"cmd = ["npm", "test"]"#, &["package.json"]),
        (r#"cmd = ["npm", "ci"]"#, &[]),
        (r#"cmd = ["npx", "node", "--test", "t.mjs"]"#, &["t.mjs"]),
        (r#"cmd = ["sh", "tests/t.sh"]"#, &[]),
        (r#"cmd = ["grep", "right", "a.txt"]"#, &[]),
        (r#"cmd = ["/bin/sh", "/opt/check.sh"]"#, &[]),
        (
            r#"cmd = ["bash", "-c", "cd tools && ./a && bash ../b.sh"]"#,
            &["b.sh", "tools/a"],
        ),
        (
            r#"shell = "X=1 timeout 5 python3 'my tools/run.py' | tail; $HOME/x; . ./env.sh""#,
            &["env.sh", "my tools/run.py"],
        ),
        ("cmd = [\"sh\", \"t.sh\"]\ncwd = \"sub\"", &["sub/t.sh"]),
        ("cmd = [\"sh\", \"../../t.sh\"]\ncwd = \"sub\"", &[]),
    ] {
        assert_eq!(scripts(command), expected, "{command}");
    }
    let command = r#"cmd = ["sh", "a*b.sh"]"#;
    assert_eq!(scripts(command), [""; 0], "nobody knows which");
    let off = guard("[protect]\nscripts = false\n", r#"cmd = ["sh", "t.sh"]"#);
    assert_eq!(off.scripts().len(), 0);
}

/// Spec: [FLOW-150]
#[test]
fn a_new_file_that_takes_the_place_of_a_runner_is_known() {
    let unittest = r#"cmd = ["python3", "-m", "unittest", "discover", "-s", "tests"]"#;
    let pytest = r#"cmd = ["pytest", "-q"]"#;
    for (command, path, expected) in [
        (unittest, "unittest.py", Some("unittest")),
        (unittest, "unittest/__main__.py", Some("unittest")),
        (unittest, "tests/unittest.py", Some("tests/unittest")),
        (unittest, "re.py", Some("re")),
        (unittest, "tests/re.py", Some("tests/re")),
        (unittest, "tally/re.py", None),
        (unittest, "tally/unittest/a.py", Some("tally/unittest")),
        (unittest, "sitecustomize.py", Some("sitecustomize")),
        (unittest, "conftest.py", None),
        (unittest, "tally/add.py", None),
        (unittest, "re.txt", None),
        (pytest, "tests/conftest.py", Some("tests/conftest")),
        (pytest, "pytest.ini", Some("pytest.ini")),
        (pytest, "src/pytest.py", Some("src/pytest")),
        (
            r#"cmd = ["python3", "-m", "runner.all"]"#,
            "runner/all.py",
            Some("runner"),
        ),
        (
            r#"cmd = ["python3", "-m", "runner.all"]"#,
            "other/runner.py",
            None,
        ),
        (
            r#"cmd = ["npm", "test"]"#,
            "node_modules/.bin/jest",
            Some("node_modules"),
        ),
        (
            r#"cmd = ["cargo", "test"]"#,
            ".cargo/config.toml",
            Some(".cargo"),
        ),
        (r#"cmd = ["grep", "x", "y"]"#, "unittest.py", None),
    ] {
        let found = guard("", command).shadowed(path);
        assert_eq!(found.as_deref(), expected, "{command}: {path}");
    }
}
