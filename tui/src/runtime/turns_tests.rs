use std::fs::File;

use nix::pty::{OpenptyResult, openpty};
use tokio::sync::mpsc::channel;

use super::*;

/// A client on a terminal, the person at it, and whoever hears its orders.
fn client(home: &std::path::Path) -> (Client, File, UnboundedReceiver<ClientOrder>) {
    let OpenptyResult { master, slave } = openpty(None, None).unwrap();
    let tty = Tty::new(slave.try_clone().unwrap(), slave);
    let options = ClientOptions {
        offers_models: false,
        name: "ana".to_owned(),
        client_key: "k".to_owned(),
        home: home.to_owned(),
        conversation: "c".to_owned(),
        theme: None,
        is_plain: false,
        has_colors: None,
    };
    let (orders, ordered) = unbounded_channel();
    let capabilities = Capabilities::new(|_| None, false);
    let scheme = Some(Scheme::Dark);
    let size = (80, 24);
    let client = Client::start(options, scheme, tty, capabilities, orders, size).unwrap();
    (client, File::from(master), ordered)
}

/// Takes the next step, without the frames in between.
async fn step(client: &mut Client, news: &mut Receiver<News>) {
    while client.pace.is_due(client.begun.elapsed()) {
        client.step(news).await.unwrap();
    }
    let limit = Duration::from_secs(20);
    let stepped = tokio::time::timeout(limit, client.step(news)).await;
    assert!(matches!(stepped.unwrap().unwrap(), ClientNext::Go));
}

async fn typed(client: &Client) {
    while !client.reader.as_ref().unwrap().has_waiting() {
        tokio::task::yield_now().await;
    }
}

/// Spec: [TERM-28]
#[tokio::test]
async fn a_key_comes_before_all_that_the_service_says_and_many_keys_do_not() {
    let _others = terminal::SIGNALS.lock().await;
    let home = tempfile::tempdir().unwrap();
    let (mut client, mut person, _ordered) = client(home.path());
    let (service, mut news) = channel(100_000);
    let fill = |count: usize| {
        for _ in 0..count {
            let reason = "flood".to_owned();
            service.try_send(News::Invalid { reason }).unwrap();
        }
    };
    fill(100_000);
    person.write_all(b"a").unwrap();
    typed(&client).await;
    // A step may be for something else, such as a frame that falls due.
    while client.app.composer.text().is_empty() {
        step(&mut client, &mut news).await;
    }
    assert_eq!((client.app.composer.text(), news.len()), ("a", 100_000));
    // Then so much at once, and no more.
    while news.len() == 100_000 {
        step(&mut client, &mut news).await;
    }
    assert_eq!(news.len(), 100_000 - MAX_NEWS);

    person.write_all(&[b'b'; 200]).unwrap();
    typed(&client).await;
    let before = news.len();
    let mut keys = 0;
    while news.len() == before {
        keys = client.app.composer.text().len();
        step(&mut client, &mut news).await;
    }
    assert_eq!(keys, 1 + MAX_INPUTS);
    assert_eq!(news.len(), before - MAX_NEWS);
}

/// Spec: [TERM-06] [TERM-28]
#[tokio::test]
async fn a_terminal_that_is_lost_ends_the_client_however_much_the_service_says() {
    let _others = terminal::SIGNALS.lock().await;
    let home = tempfile::tempdir().unwrap();
    let (mut client, person, _ordered) = client(home.path());
    let (service, mut news) = channel(100_000);
    while service.capacity() > 0 {
        let reason = "flood".to_owned();
        service.try_send(News::Invalid { reason }).unwrap();
    }
    drop(person);
    typed(&client).await;
    let ended = client.step(&mut news).await;
    assert!(ended.is_err(), "{ended:?}");
    assert_eq!(news.len(), 100_000);
}

/// Spec: [TERM-02]
#[tokio::test]
async fn a_panic_elsewhere_and_a_link_that_is_over_end_the_client() {
    let _others = terminal::SIGNALS.lock().await;
    let home = tempfile::tempdir().unwrap();
    let (mut client, _person, _ordered) = client(home.path());
    let (service, mut news) = channel(1);
    client.step(&mut news).await.unwrap();
    client.panics.0.send(()).unwrap();
    let next = client.step(&mut news).await.unwrap();
    assert!(
        matches!(next, ClientNext::End(Err(RunError::Panicked))),
        "{next:?}"
    );
    drop(service);
    let next = client.step(&mut news).await.unwrap();
    assert!(
        matches!(next, ClientNext::End(Err(RunError::Refused { .. }))),
        "{next:?}"
    );
}
