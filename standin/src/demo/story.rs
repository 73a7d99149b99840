//! A text that is long enough to watch it stream and to cancel it.

/// Number of numbered sentences.
const SENTENCES: usize = 60;

const TURNS: &[&str] = &[
    "the lamp on the pier burned through the night",
    "a boat came in with more nets than fish",
    "the keeper counted the waves and lost his place",
    "rain fell on the far side of the bay",
    "a gull walked the wall as if it owned the town",
    "someone closed a shutter and opened it again",
];

/// Returns the story.
pub(super) fn tell() -> String {
    let opening = "This is Harness's built-in demo with no model behind it, so the story is short \
                   on plot and long on words. You can cancel it at any time.";
    let sentences = (1..=SENTENCES).map(|n| format!(" Hour {n}: {}.", TURNS[n % TURNS.len()]));
    std::iter::once(opening.to_owned())
        .chain(sentences)
        .collect()
}
