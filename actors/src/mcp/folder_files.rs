//! The code in a folder that a server is started from: its program, and scripts that its arguments name.
//!
//! Everybody who writes in the folder can change it, the model too. So it is accepted with the entry. What such a program
//! loads besides is not known here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::attachment::sha256;
use crate::beneath::{FolderHandle, LinkPolicy};

/// Maximum size of such a file, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// The ends of names of files that interpreters and loaders run.
const CODE: [&str; 20] = [
    "bash", "cjs", "class", "jar", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "ps1", "py",
    "pyc", "pyz", "rb", "sh", "ts", "tsx", "wasm",
];

/// The files with code in a folder that words of a command name, with the SHA-256 of each in hexadecimal digits. Blocks.
///
/// # Errors
/// One that cannot be read, or is too large.
pub(super) fn folder_files(
    program: &[String],
    folder: &Path,
) -> io::Result<BTreeMap<String, String>> {
    let real = fs::canonicalize(folder)?;
    let handle = FolderHandle::open(&real)?;
    let mut files = BTreeMap::new();
    for (place, word) in program.iter().enumerate() {
        // The program is looked for elsewhere if its name has no slash.
        if place == 0 && !word.contains('/') {
            continue;
        }
        // A path may also be the value of a flag.
        let value = word.split_once('=').map(|(_, value)| value);
        for name in [Some(word.as_str()), value].into_iter().flatten() {
            let Ok(found) = fs::canonicalize(real.join(name)) else {
                continue;
            };
            let Ok(below) = found.strip_prefix(&real) else {
                continue;
            };
            if !found.is_file() {
                continue;
            }
            let hash = handle
                .open_file(below, LinkPolicy::Refused)
                .map_err(io::Error::other)
                .and_then(|file| hash_of_code(file, place == 0 || has_name_of_code(name)));
            let hash = hash.map_err(|error| {
                io::Error::other(format!("its file {name} cannot be read: {error}"))
            })?;
            files.extend(hash.map(|hash| (name.to_owned(), hash)));
        }
    }
    Ok(files)
}

fn has_name_of_code(name: &str) -> bool {
    let end = Path::new(name).extension().and_then(|end| end.to_str());
    end.is_some_and(|end| CODE.contains(&&*end.to_ascii_lowercase()))
}

/// The hash of a file if it has code; `None` for data, which changes while the server works.
fn hash_of_code(file: File, is_code: bool) -> io::Result<Option<String>> {
    let may_run = file.metadata()?.permissions().mode() & 0o111 != 0;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if !is_code && !may_run && !bytes.starts_with(b"#!") {
        return Ok(None);
    }
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!(
            "it has more than {MAX_FILE} bytes"
        )));
    }
    Ok(Some(sha256(&bytes)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Spec: [MCP-16]
    #[test]
    fn code_in_the_folder_is_found_and_data_and_what_is_elsewhere_is_not() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("work");
        fs::create_dir_all(folder.join("tools")).unwrap();
        for (name, content) in [
            ("tools/server.js", "code"),
            ("run", "#!/bin/sh\n"),
            ("a.db", "data"),
            ("../outside.py", "other"),
        ] {
            fs::write(folder.join(name), content).unwrap();
        }
        symlink("tools/server.js", folder.join("link.js")).unwrap();
        symlink("../outside.py", folder.join("out.py")).unwrap();
        let found = |words: &[&str]| -> Vec<String> {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let files = folder_files(&words, &folder).unwrap();
            files.into_keys().collect()
        };
        assert_eq!(found(&["node", "tools/server.js"]), ["tools/server.js"]);
        assert_eq!(found(&["node", "./link.js", "x"]), ["./link.js"]);
        assert_eq!(
            found(&["x", "--script=tools/server.js"]),
            ["tools/server.js"]
        );
        let absolute = folder.join("run").display().to_string();
        assert_eq!(found(&["sh", &absolute]), [absolute.as_str()]);
        assert_eq!(found(&["./run"]), ["./run"]);
        for none in [
            &["run"][..],
            &["uvx", "a.db"],
            &["x", "--db=a.db", "tools", ".", "", "no/such.js"],
            &["python", "../outside.py"],
            &["python", "out.py"],
        ] {
            assert_eq!(found(none), [""; 0], "{none:?}");
        }
        let hash = |name: &str| {
            let words = ["node".to_owned(), name.to_owned()];
            folder_files(&words, &folder).unwrap().into_values().next()
        };
        let before = hash("tools/server.js");
        assert_eq!(before, hash("./link.js"));
        fs::write(folder.join("tools/server.js"), "other code").unwrap();
        assert_ne!(before, hash("tools/server.js"));
    }
}
