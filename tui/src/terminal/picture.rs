//! Takes the picture that is on the clipboard of this machine, into a file of the client's own.
//!
//! Invariant: only a program of this machine is asked, for at most [`LIMIT`], and only when an operator wants it. The
//! files are removed when the client ends.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::capabilities::Capabilities;

/// Time limit of a program.
const LIMIT: Duration = Duration::from_secs(5);
/// The largest picture, in bytes.
const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// A program that writes the picture to its standard output, with its arguments.
type PictureHelper = (&'static str, &'static [&'static str]);

const WAYLAND: PictureHelper = ("wl-paste", &["--type", "image/png"]);
const X11: PictureHelper = (
    "xclip",
    &["-selection", "clipboard", "-t", "image/png", "-o"],
);
const MACOS: [PictureHelper; 2] = [
    ("pngpaste", &["-"]),
    ("osascript", &["-e", "get the clipboard as «class PNGf»"]),
];

/// The programs to try, the likeliest first. None on a remote machine: its clipboard is not the operator's.
fn helpers(capabilities: &Capabilities) -> Vec<PictureHelper> {
    if capabilities.is_ssh {
        return Vec::new();
    }
    let mut helpers = Vec::new();
    if capabilities.is_wayland {
        helpers.push(WAYLAND);
    }
    if capabilities.is_x11 {
        helpers.push(X11);
    }
    if capabilities.is_macos {
        helpers.extend(MACOS);
    }
    helpers
}

/// The folder of the pictures that were taken, which is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Pictures {
    folder: PathBuf,
    taken: u32,
}

impl Pictures {
    /// A folder of this process in the state folder; made when the first picture is taken.
    pub(crate) fn in_folder(home: &Path) -> Self {
        Self {
            folder: home.join(format!("pictures-{}", std::process::id())),
            taken: 0,
        }
    }

    /// The path without its ending for the next picture.
    pub(crate) fn next(&mut self) -> PathBuf {
        self.taken += 1;
        self.folder.join(format!("picture-{}", self.taken))
    }
}

impl Drop for Pictures {
    fn drop(&mut self) {
        // There may have been none.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Takes the picture of the clipboard into a file of that name, with the extension that fits its content. `None` if no
/// picture is in reach.
pub(crate) async fn take_picture(capabilities: &Capabilities, path: PathBuf) -> Option<PathBuf> {
    for (program, arguments) in helpers(capabilities) {
        let taken = match read(program, arguments).await {
            Ok(bytes) => keep(&path, &bytes),
            Err(error) => Err(error),
        };
        match taken {
            Ok(path) => return Some(path),
            Err(error) => log::debug!("{program} has no picture: {error}"),
        }
    }
    None
}

/// The output of a program.
async fn read(program: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let output = child.stdout.take();
    let reading = async {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            output.take(MAX_BYTES + 1).read_to_end(&mut bytes).await?;
        }
        Ok::<_, io::Error>(bytes)
    };
    let bytes = tokio::time::timeout(LIMIT, reading).await??;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES) {
        Ok(bytes)
    } else {
        Err(io::Error::other("the picture is larger than 20 MiB"))
    }
}

/// Writes a picture to a file that only its owner reads; where that is.
fn keep(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let written = unwrapped(bytes);
    let bytes = written.as_deref().unwrap_or(bytes);
    let ending = ending(bytes).ok_or_else(|| io::Error::other("that is no picture"))?;
    let path = path.with_extension(ending);
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&path)?.write_all(bytes)?;
    Ok(path)
}

/// The bytes of `«data PNGf89504E47…»`, as AppleScript writes a picture.
fn unwrapped(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let digits = text.trim().strip_prefix("«data PNGf")?.strip_suffix('»')?;
    let digits = digits.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

/// The ending of a file with this content, if it is a picture that can be attached.
fn ending(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpg"),
        [b'G', b'I', b'F', b'8', ..] => Some("gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Spec: [TERM-309]
    #[test]
    fn only_programs_of_this_machine_are_asked() {
        let of = |variables: &[&str]| {
            let read = |name: &str| variables.contains(&name).then(|| "1".to_owned());
            helpers(&Capabilities::new(read, false))
        };
        assert_eq!(of(&[]), []);
        assert_eq!(of(&["DISPLAY", "WAYLAND_DISPLAY"]), [WAYLAND, X11]);
        assert_eq!(of(&["DISPLAY", "SSH_CONNECTION"]), []);
        assert_eq!(helpers(&Capabilities::new(|_| None, true)), MACOS);
    }

    /// Spec: [TERM-309]
    #[tokio::test]
    async fn the_content_decides_whether_it_is_a_picture() {
        let home = tempfile::tempdir().unwrap();
        let mut pictures = Pictures::in_folder(home.path());
        let png = b"\x89PNG\r\n\x1a\nrest";
        let script = "printf '\\211PNG\\r\\n\\032\\nrest'";
        let bytes = read("sh", &["-c", script]).await.unwrap();
        assert_eq!(bytes, png);
        let path = keep(&pictures.next(), &bytes).unwrap();
        assert!(path.ends_with("picture-1.png"), "{path:?}");
        assert_eq!(std::fs::read(&path).unwrap(), png);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        let forms: [(&[u8], Option<&str>); 5] = [
            (b"\xff\xd8\xff\xe0", Some("jpg")),
            (b"GIF89a", Some("gif")),
            (b"RIFF1234WEBPVP8 ", Some("webp")),
            (b"<svg>", None),
            (b"", None),
        ];
        for (bytes, expected) in forms {
            assert_eq!(ending(bytes), expected);
        }
        let script = "«data PNGf89504E470D0A1A0A00»\n";
        assert_eq!(
            unwrapped(script.as_bytes()).unwrap(),
            b"\x89PNG\r\n\x1a\n\0"
        );
        assert!(keep(&pictures.next(), b"text").is_err());
        assert!(read("/no/such/program", &[]).await.is_err());
        drop(pictures);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
