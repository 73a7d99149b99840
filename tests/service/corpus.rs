//! Input from other programs is read, or refused in words, whatever it is: kept examples of each
//! kind below `tests/corpus`, and changes of them by chance.
//!
//! `SEED=…` repeats the changes of a run, `HARNESS_CHANGES=…` sets how many there are.

mod guidance;
mod journals;
mod requests;
mod streams;

use std::path::Path;

/// The kept examples of a kind, by name.
pub(crate) fn kept(kind: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(kind);
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    assert!(!found.is_empty());
    found.sort();
    found
}

/// A source of chance whose seed is printed.
pub(crate) fn chance() -> fastrand::Rng {
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// Number of changes to try.
pub(crate) fn changes(usual: usize) -> usize {
    std::env::var("HARNESS_CHANGES").map_or(usual, |count| count.parse().unwrap())
}

/// One of the examples, changed in a few places.
pub(crate) fn changed(random: &mut fastrand::Rng, kept: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = kept[random.usize(..kept.len())].1.clone();
    for _ in 0..random.usize(1..5) {
        if bytes.is_empty() {
            bytes.push(random.u8(..));
        }
        let from = random.usize(..bytes.len());
        let to = (from + random.usize(1..40)).min(bytes.len());
        match random.u8(..7) {
            0 => bytes[from] ^= 1 << random.u8(..8),
            1 => bytes[from] = *random.choice(b"\0\n\r\"{}[]:,-\\\x1b\xff\xed 0").unwrap(),
            2 => drop(bytes.drain(from..to)),
            3 => {
                let piece = bytes[from..to].repeat(random.usize(1..4));
                bytes.splice(from..from, piece);
            }
            4 => bytes.truncate(from),
            5 => {
                let other = &kept[random.usize(..kept.len())].1;
                let at = random.usize(..=other.len());
                let piece = other[at..].iter().copied().take(200).collect::<Vec<_>>();
                bytes.splice(from..to, piece);
            }
            _ => {
                let numbers = ["-1", "18446744073709551616", "1e400", "0.5", "null"];
                let number = numbers[random.usize(..numbers.len())];
                bytes.splice(from..to, number.bytes());
            }
        }
    }
    bytes
}
