//! A terminal that is not read, and a client whose terminal an editor has.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use harness_standin::{Message, Reply};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::bounds::took_at_most;
use crate::client::within;
use crate::eventually::eventually;
use crate::program::Service;
use crate::screen::Screen;

/// The client on a terminal that is read only when a test says so.
struct Unread {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
}

impl Unread {
    fn attach(home: &Path) -> Self {
        let size = PtySize {
            rows: 60,
            cols: 200,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_harness"));
        command.args(["attach", "--name", "ana"]);
        command.env_clear();
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.cwd(home);
        Self {
            child: pair.slave.spawn_command(command).unwrap(),
            master: pair.master,
        }
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.process_id().unwrap()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
    }

    async fn ended(&mut self) -> u32 {
        let child = &mut self.child;
        let ended = eventually("the end of the client", async || child.try_wait().unwrap());
        ended.await.exit_code()
    }

    /// Waits until the client has seen this event of the conversation: it is attached.
    async fn attached(service: &Service) {
        let path = "/v1/conversations/default?tail=0";
        eventually("the client", async || {
            service.get(path).await["attached"] == 1
        })
        .await;
    }
}

/// Far more than a terminal keeps for who does not read it.
async fn flood(service: &Service, script: &harness_standin::Script) {
    for number in 0..5 {
        let words = format!("**{number}** `code` word ").repeat(400);
        script.push(Reply::text(words));
        service.submit("go").await;
        service.idle("default").await;
    }
}

/// Spec: [TERM-26]
#[tokio::test]
async fn a_client_whose_terminal_nobody_reads_can_be_ended() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut client = Unread::attach(service.home.path());
        Unread::attached(&service).await;
        flood(&service, &script).await;
        client.signal(signal);
        // One that waited for who does not read would never end.
        let code = client.ended().await;
        assert_eq!(code, 128 + u32::try_from(signal as i32).unwrap());
        eventually("the end of the stream", async || {
            service.get("/v1/conversations/default?tail=0").await["attached"] == 0
        })
        .await;
    }
}

/// Spec: [TERM-26]
#[tokio::test]
async fn who_reads_again_sees_everything_and_the_keys_that_were_pressed() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut client = Unread::attach(service.home.path());
    Unread::attached(&service).await;
    flood(&service, &script).await;
    let mut writer = client.master.take_writer().unwrap();
    writer.write_all(b"typed unseen").unwrap();
    let mut reader = client.master.try_clone_reader().unwrap();
    let (seen, mut shown) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if seen.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut parser = vt100::Parser::new(60.try_into().unwrap(), 200.try_into().unwrap(), 0);
    within("the whole screen", async {
        loop {
            parser.process(&shown.recv().await.unwrap());
            let text = parser.screen().contents();
            if text.contains("typed unseen") && text.contains("4 code word") {
                return;
            }
        }
    })
    .await;
    client.signal(Signal::SIGTERM);
    assert_eq!(within("the end", client.ended()).await, 143);
}

/// Spec: [TERM-27]
#[tokio::test]
async fn a_signal_ends_the_editor_and_the_client_and_keys_are_the_editors_own() {
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let home = service.home.path();
    let script = home.join("editor");
    let text = "#!/bin/sh\ntrap 'echo trapped' INT\ntrap 'echo told to end; exit 1' TERM\n\
        echo editing\nwhile :; do sleep 0.05; done\n";
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).unwrap();
    let editor = script.to_str().unwrap();
    let mut screen = Screen::start(home, &["attach"], &[("EDITOR", editor)]);
    screen.shows("default").await;
    screen.keys("a draft");
    screen.shows("a draft").await;
    screen.keys("\x07");
    screen.shows("editing").await;
    screen.keys("\x03");
    screen.shows("trapped").await;
    screen.signal(Signal::SIGTERM);
    assert_eq!(screen.ended().await, 143);
    screen.shows("told to end").await;
    let is_draft = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("draft-");
    let mut left = std::fs::read_dir(home.join(".harness")).unwrap();
    assert!(!left.any(|entry| is_draft(&entry.unwrap().file_name())));
}

/// Spec: [TERM-28]
#[tokio::test]
async fn a_key_is_seen_soon_while_a_reply_of_many_pieces_comes() {
    let (service, _standin, script) = Service::scripted(&[]).await;
    let mut screen = Screen::attach(service.home.path(), "ana").await;
    let words = "some words of a long reply, and ".repeat(20_000);
    script.push(Message::new().text(words).words_per_delta(1));
    service.submit("go").await;
    screen.shows("some words").await;
    let mut slowest = Duration::ZERO;
    for number in 0..20 {
        let pressed = tokio::time::Instant::now();
        let typed = format!("k{number}");
        screen.keys(&typed);
        screen.shows(&typed).await;
        slowest = slowest.max(pressed.elapsed());
    }
    println!("the slowest key took {slowest:?}");
    took_at_most(Duration::from_secs(2), slowest);
}
