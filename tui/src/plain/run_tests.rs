use harness_protocol::Event;
use tokio::sync::mpsc::{channel, unbounded_channel};

use super::*;

fn options() -> PlainOptions {
    PlainOptions {
        shows_past: true,
        new_key: Box::new(|| "key".to_owned()),
    }
}

fn hostile(text: &str) -> News {
    News::Event {
        event: Event::Text {
            content: text.to_owned(),
            sources: Vec::new(),
            partial: false,
            timestamp: 0,
        },
        position: None,
    }
}

/// The output, and the result, of a link that says this and is over.
async fn written(says: impl IntoIterator<Item = News>) -> (String, i32) {
    let (sender, news) = channel(8);
    let (orders, _orders) = unbounded_channel();
    let (_typing, typed) = channel(1);
    let mut output = Vec::new();
    let saying = async {
        for one in says {
            sender.send(one).await.unwrap();
        }
        drop(sender);
    };
    let running = run(news, orders, typed, &mut output, options());
    let (code, ()) = tokio::join!(running, saying);
    (String::from_utf8(output).unwrap(), code.unwrap())
}

/// Spec: [PLAIN-04]
#[tokio::test]
async fn no_control_character_is_written_whatever_anybody_says() {
    let bad = "a\x1b[2J\x1b]0;x\x07\u{9b}31mb\r\x08\x7f\x00";
    let says = [
        hostile(bad),
        News::Failed {
            reason: bad.to_owned(),
        },
        News::Refused {
            conversation: bad.to_owned(),
            reason: bad.to_owned(),
        },
    ];
    let (text, code) = written(says).await;
    assert_eq!(code, 1);
    assert_eq!(text.lines().count(), 3, "{text:?}");
    let is_bad = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(is_bad), "{text:?}");
}

/// Spec: [PLAIN-02]
#[tokio::test]
async fn lines_are_written_as_they_come_and_a_lost_link_is_an_end() {
    let (text, code) = written([hostile("one\ntwo")]).await;
    let expected = "agent: one\n  two\nerror: the link to the service is over\n";
    assert_eq!((text.as_str(), code), (expected, 1));
}

/// Spec: [PLAIN-05]
#[tokio::test]
async fn what_is_typed_reaches_the_link() {
    let (link, news) = channel(1);
    let (orders, mut ordered) = unbounded_channel();
    let (typing, typed) = channel(4);
    for line in ["/list", "/quit"] {
        typing.send(Typed::Line(line.to_owned())).await.unwrap();
    }
    let PlainInput::News(snapshot) = super::super::machine::tests::snapshot(None, Vec::new())
    else {
        panic!("no news");
    };
    let answering = async {
        link.send(*snapshot).await.unwrap();
        assert_eq!(
            ordered.recv().await,
            Some(ClientOrder::List { folder: None })
        );
        link.send(News::Listed(Vec::new())).await.unwrap();
        assert_eq!(ordered.recv().await, None);
    };
    let running = run(news, orders, typed, Vec::new(), options());
    let (code, ()) = tokio::join!(running, answering);
    assert_eq!(code.unwrap(), 0);
}

/// Spec: [PLAIN-02]
#[tokio::test]
async fn a_reader_that_left_is_no_failure() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let (sender, news) = channel(1);
    let (orders, _orders) = unbounded_channel();
    let (_typing, typed) = channel(1);
    sender.send(hostile("x")).await.unwrap();
    let code = run(news, orders, typed, writer, options()).await;
    assert_eq!(code.unwrap(), 0);
}
