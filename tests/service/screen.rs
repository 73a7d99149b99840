//! The built program on a terminal: a pseudo terminal, and what a person would see on it.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::eventually::eventually;

/// The terminal's screen, and the sequences that it got.
struct Seen {
    parser: vt100::Parser<Told>,
    /// Every byte that was written to the terminal.
    bytes: Vec<u8>,
    /// True if the terminal was closed.
    is_hung_up: bool,
}

/// A program's messages to a terminal beside the screen.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// The titles that it set.
    pub(crate) titles: Vec<String>,
    /// The clipboard, in base64.
    pub(crate) clipboard: Vec<String>,
    /// Number of times that it rang.
    pub(crate) bells: usize,
}

impl vt100::Callbacks for Told {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.titles
            .push(String::from_utf8_lossy(title).into_owned());
    }

    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.titles.push(String::from_utf8_lossy(name).into_owned());
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.clipboard
            .push(String::from_utf8_lossy(data).into_owned());
    }

    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.bells += 1;
    }
}

/// The program on a terminal.
pub(crate) struct Screen {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    seen: Arc<Mutex<Seen>>,
    /// Reads what is written, to the end.
    reader: std::thread::JoinHandle<()>,
}

/// The size of a terminal that nothing else is said of, in columns and rows.
pub(crate) const SIZE: (u16, u16) = (100, 30);

impl Screen {
    /// Runs the program with nothing from our own environment but these.
    pub(crate) fn start(home: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let (columns, rows) = SIZE;
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_harness"));
        command.args(arguments);
        command.env_clear();
        let usual = [
            ("PATH", "/usr/bin:/bin"),
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("LANG", "C.UTF-8"),
        ];
        command.env("HOME", home);
        for (name, value) in usual.iter().chain(environment) {
            command.env(name, value);
        }
        command.cwd(home);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let (rows, columns) = (nonzero(rows), nonzero(columns));
        let seen = Arc::new(Mutex::new(Seen {
            parser: vt100::Parser::new_with_callbacks(rows, columns, 0, Told::default()),
            bytes: Vec::new(),
            is_hung_up: false,
        }));
        let shared = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let mut seen = shared.lock().unwrap();
                seen.bytes.extend_from_slice(&buffer[..count]);
                seen.parser.process(&buffer[..count]);
                if seen.is_hung_up {
                    return;
                }
            }
        });
        Self {
            child,
            master: Some(pair.master),
            writer: Some(writer),
            seen,
            reader,
        }
    }

    /// Attaches to the default conversation of the service with that home, and waits until the
    /// client shows it.
    pub(crate) async fn attach(home: &Path, name: &str) -> Self {
        let screen = Self::start(home, &["attach", "-c", "default", "--name", name], &[]);
        screen.shows("Enter prompt...").await;
        screen.shows("default").await;
        screen
    }

    /// Types these bytes.
    pub(crate) fn keys(&mut self, bytes: impl AsRef<[u8]>) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(bytes.as_ref()).unwrap();
        writer.flush().unwrap();
    }

    /// The rows as a person sees them, without what is free at their ends.
    pub(crate) fn rows(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let screen = seen.parser.screen();
        let (_, columns) = screen.size();
        let rows = screen.rows(0, columns.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// All rows as one text.
    pub(crate) fn text(&self) -> String {
        self.rows().join("\n")
    }

    /// Every byte that was written so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap().bytes.clone()
    }

    /// The program's messages beside the screen.
    pub(crate) fn told(&self) -> Told {
        self.seen.lock().unwrap().parser.callbacks().clone()
    }

    /// Looks at the screen.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&vt100::Screen) -> R) -> R {
        look(self.seen.lock().unwrap().parser.screen())
    }

    /// Waits until something is to be seen.
    pub(crate) async fn sees(&self, what: &str, mut is_seen: impl FnMut(&str) -> bool) {
        let waiting = async {
            while !is_seen(&self.text()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(crate::client::LIMIT, waiting)
            .await
            .is_err()
        {
            panic!("{what} is not to be seen on\n{}", self.text());
        }
    }

    /// Waits until these words are on the screen.
    pub(crate) async fn shows(&self, words: &str) {
        self.sees(words, |text| text.contains(words)).await;
    }

    /// Waits until these words are not on the screen.
    pub(crate) async fn hides(&self, words: &str) {
        let what = format!("the end of {words}");
        self.sees(&what, |text| !text.contains(words)).await;
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let mut seen = self.seen.lock().unwrap();
        seen.parser.set_size(nonzero(rows), nonzero(columns));
        self.master.as_ref().unwrap().resize(size).unwrap();
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.id()).unwrap());
        kill(id, signal).unwrap();
    }

    /// Takes the terminal away, as when its window is closed.
    pub(crate) fn hang_up(&mut self) {
        // The reader stops at the next byte, and closes its end too.
        self.seen.lock().unwrap().is_hung_up = true;
        self.keys("x");
        self.writer = None;
        self.master = None;
    }

    /// Waits for the program's end, and until all that it wrote was seen; its exit code.
    pub(crate) async fn ended(&mut self) -> u32 {
        let (child, reader) = (&mut self.child, &self.reader);
        let ended = eventually("the end of the client", async || {
            let status = child.try_wait().unwrap();
            status.filter(|_| reader.is_finished())
        });
        ended.await.exit_code()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            println!("the screen:\n{}", self.text());
        }
    }
}

fn nonzero(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}
