use futures_util::StreamExt as _;
use futures_util::future::join_all;

use super::super::DEFAULT_CONVERSATION;
use super::super::actor::tests::{World, source};
use super::super::conversation::OpenedConversation;
use crate::broadcast::{EventView, Followed, Follower, FollowerStart};
use crate::journal::OpenError;

fn follow(conversation: &OpenedConversation) -> Follower {
    Follower::new(
        source(conversation),
        EventView::Full,
        None,
        FollowerStart::Live,
    )
}

/// Spec: [CONV-151]
#[actix::test]
async fn a_conversation_that_was_made_takes_no_place_until_it_is_asked_for() {
    let world = World::with_places(0);
    for _ in 0..20 {
        world.make("t").await;
    }
    let made = world.make("t").await;
    let refused = world.open(&made).await.err();
    assert_eq!(refused, Some(OpenError::TooMany { max: 0 }));
    assert_eq!(world.list().await.len(), 10);
}

/// Spec: [CONV-152]
#[actix::test]
async fn the_idle_conversation_that_was_used_longest_ago_makes_way() {
    let mut world = World::with_places(2);
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(world.make("t").await);
    }
    let open = async |world: &World, name: &String| {
        let conversation = world.open(name).await.unwrap();
        conversation.actor
    };
    let first = open(&world, &names[0]).await;
    let second = open(&world, &names[1]).await;
    assert_eq!(open(&world, &names[0]).await, first);
    let third = open(&world, &names[2]).await;
    assert!(first.connected() && third.connected() && !second.connected());
    // It comes back as it was, and a conversation that no client uses is let go for it.
    let again = world.open(&names[1]).await.unwrap();
    assert!(!first.connected() && third.connected());
    world.run(&again).await;
    assert_eq!(again.journal.end().seq, 9);
}

/// Spec: [CONV-153]
#[actix::test]
async fn what_is_in_use_is_not_let_go_and_the_default_conversation_has_a_place() {
    let mut world = World::with_places(3);
    let running = world.create("running").await;
    let order = world.ask(&running).await;
    let running = running.actor;
    let watched = world.create("watched").await;
    let mut client = follow(&watched);
    assert!(matches!(client.next().await, Some(Followed::Live(_))));
    let watched = watched.actor;
    // Somebody is about to ask this one something.
    let held = world.create("held").await;
    let further = world.make("further").await;
    for _ in 0..3 {
        let refused = world.open(&further).await.unwrap_err();
        assert_eq!(refused, OpenError::TooMany { max: 3 });
        assert_eq!(
            refused.to_string(),
            "too many conversations are in use at once: 3; wait for a run to end or detach a client"
        );
    }
    assert!(running.connected() && watched.connected() && held.is_alive());
    let default = world.open(DEFAULT_CONVERSATION).await.unwrap();
    world.run(&default).await;
    drop(held);
    assert!(world.open(&further).await.is_ok());
    drop(client);
    assert!(running.connected());
    drop(order);
}

/// Spec: [CONV-152]
#[actix::test]
async fn many_who_ask_at_once_share_few_places() {
    let world = World::with_places(2);
    let mut names = Vec::new();
    for _ in 0..30 {
        names.push(world.make("t").await);
    }
    let asked = names.iter().map(async |name| {
        // Each lets it go at once, as a request does that was answered.
        world
            .open(name)
            .await
            .map(|conversation| conversation.is_alive())
    });
    for opened in join_all(asked).await {
        // A client that comes while both places are held is told so, and no place is lost.
        assert!(matches!(
            opened,
            Ok(true) | Err(OpenError::TooMany { max: 2 })
        ));
    }
    for name in &names {
        assert!(world.open(name).await.is_ok());
    }
}

/// Spec: [CONV-58]
#[actix::test]
async fn what_is_not_there_takes_no_place() {
    let world = World::with_places(1);
    for number in 0..20 {
        let missing = world.open(&format!("m{number}")).await;
        assert!(matches!(missing, Err(OpenError::NotFound { .. })));
    }
    let made = world.make("t").await;
    assert!(world.open(&made).await.is_ok());
}
