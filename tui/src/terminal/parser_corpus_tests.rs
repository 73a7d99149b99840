//! Bytes of terminals, as kept below `tests/corpus/keys`, whole, cut and changed.

use super::*;

fn kept() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus/keys");
    let files = std::fs::read_dir(folder).unwrap();
    let kept: Vec<_> = files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect();
    assert!(!kept.is_empty());
    kept
}

/// The meaning of the bytes in two pieces; a key behind them is a key.
fn read_in_two(bytes: &[u8], cut: usize) -> Vec<TerminalInput> {
    let mut parser = Parser::new(0x7f);
    let (now, later) = bytes.split_at(cut);
    let mut found = parser.feed(now, false);
    found.extend(parser.feed(later, false));
    found.extend(give_up(&mut parser));
    let after = parser.feed(b"x", false);
    let last = after.last().map(|last| format!("{last:?}"));
    assert_eq!(last, Some(format!("{:?}", TerminalInput::Key(char('x')))));
    found
}

/// Spec: [TERM-14] [TUI-95]
#[test]
fn what_terminals_send_means_the_same_wherever_it_is_cut() {
    for bytes in kept() {
        let whole = same(read(&bytes));
        let step = bytes.len() / 200 + 1;
        for cut in (0..=bytes.len()).step_by(step) {
            assert_eq!(same(read_in_two(&bytes, cut)), whole, "{bytes:?} at {cut}");
        }
    }
}

proptest! {
    /// Spec: [TERM-14] [TUI-95]
    #[test]
    fn changes_of_what_terminals_send_mean_the_same_wherever_they_are_cut(
        bytes in prop::sample::select(kept()),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = bytes;
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let cut = cut.index(bytes.len());
        prop_assert_eq!(same(read_in_two(&bytes, cut)), same(read(&bytes)));
    }
}
