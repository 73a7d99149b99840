//! The terminal client on a pseudo terminal, against the running service.

mod board;
mod damage;
mod day;
mod drops;
mod hostile;
mod keys;
mod light;
mod logs;
mod plain;
mod several;
mod stalled;
mod ways_out;

use crate::screen::Screen;

/// Waits until these words are on the screen and no run is going any more.
pub(crate) async fn ended(screen: &Screen, words: &str) {
    let is_over = |text: &str| text.contains(words) && text.contains("? help");
    screen
        .sees(&format!("{words} and the end of the run"), is_over)
        .await;
}

/// The conversation on the screen, row by row: neither the first row, which names the clients, nor
/// the rows below the conversation.
pub(crate) fn conversation(screen: &Screen) -> Vec<String> {
    let rows = screen.rows();
    let seam = rows.iter().rposition(|row| row.starts_with("──"));
    rows[1..seam.unwrap_or(rows.len())].to_vec()
}

/// The digest of all that the client knows of the conversation, as `/debug` tells it.
pub(crate) async fn digest(screen: &mut Screen) -> String {
    screen.keys("/debug\r");
    screen.shows("digest").await;
    let fact = |name: &str, text: &str| {
        let line = text.lines().find_map(|line| line.split_once(name))?.1;
        Some(line.split_whitespace().next()?.to_owned())
    };
    let text = screen.text();
    let found = ["digest ", "position ", "parts "].map(|name| fact(name, &text).unwrap());
    screen.keys("\x1b");
    screen.hides("digest").await;
    found.join(" ")
}
