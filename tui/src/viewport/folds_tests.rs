use serde_json::json;

use super::*;
use crate::conversation::testing::{call, conversation, event, reasoning, result, text, user};

/// Spec: [SCRL-13]
#[test]
fn a_summary_is_folded_until_it_is_opened() {
    let checkpoint = event(json!({"type": "checkpoint", "summary": "all"}));
    let known = conversation(&[checkpoint]);
    let part = known.parts().next().unwrap();
    let mut folds = Folds::default();
    assert_eq!(folds.fold(part), FoldAmount::Folded);
    folds.toggle(part);
    assert_eq!(folds.fold(part), FoldAmount::Open);
    folds.toggle(part);
    assert_eq!(folds.fold(part), FoldAmount::Folded);
    for (all, of_it) in [
        (FoldAmount::Open, FoldAmount::Open),
        (FoldAmount::Cut, FoldAmount::Open),
        (FoldAmount::Head(8), FoldAmount::Folded),
        (FoldAmount::Folded, FoldAmount::Folded),
    ] {
        folds.set_all(all);
        assert_eq!(folds.fold(part), of_it);
    }
    folds.peek(Some(part.id));
    assert_eq!(folds.fold(part), FoldAmount::Open);
}

/// Spec: [SCRL-08]
#[test]
fn tools_open_one_by_one_or_all_at_once() {
    let known = conversation(&[
        call("a"),
        call("b"),
        result("a", "x"),
        result("b", "y"),
        text("t"),
    ]);
    let parts: Vec<&Part> = known.parts().collect();
    let mut folds = Folds::default();
    let all =
        |folds: &Folds| -> Vec<FoldAmount> { parts.iter().map(|part| folds.fold(part)).collect() };
    let open = FoldAmount::Open;
    assert_eq!(all(&folds), [FoldAmount::Folded, FoldAmount::Folded, open]);
    folds.toggle(parts[0]);
    assert_eq!(all(&folds), [FoldAmount::Cut, FoldAmount::Folded, open]);
    // All of it is shown: there is nothing more to open.
    folds.toggle(parts[0]);
    assert_eq!(all(&folds), [FoldAmount::Folded, FoldAmount::Folded, open]);
    folds.toggle(parts[2]);
    for fold in [FoldAmount::Cut, FoldAmount::Head(8), FoldAmount::Folded] {
        assert_eq!(folds.toggle_all(), fold);
        assert_eq!(all(&folds), [fold, fold, open]);
    }
    let long = "line\n".repeat(101);
    let long = conversation(&[call("a"), result("a", &long)]);
    let long = long.parts().next().unwrap();
    for fold in [FoldAmount::Cut, FoldAmount::Open, FoldAmount::Folded] {
        folds.toggle(long);
        assert_eq!(folds.fold(long), fold);
    }
    folds.set_all(FoldAmount::Folded);
    folds.peek(Some(parts[1].id));
    assert_eq!(all(&folds), [FoldAmount::Folded, open, open]);
    folds.peek(None);
    folds.toggle(parts[1]);
    let other = folds.of_all();
    assert_eq!(all(&other), [FoldAmount::Folded, FoldAmount::Folded, open]);
    folds.set_all(FoldAmount::Head(3));
    folds.toggle_all();
    folds.toggle_all();
    assert_eq!(folds.toggle_all(), FoldAmount::Head(3));
}

/// Spec: [SCRL-08] [VIEW-263] [VIEW-264] [TUI-102]
#[test]
fn what_runs_shows_its_end_and_thinking_and_pastes_are_folded() {
    let paste = user(&"line\n".repeat(31));
    let known = conversation(&[call("a"), reasoning("so"), paste, user("short")]);
    let parts: Vec<&Part> = known.parts().collect();
    let mut folds = Folds::default();
    let mut all = |change: &mut dyn FnMut(&mut Folds)| -> Vec<FoldAmount> {
        change(&mut folds);
        parts.iter().map(|part| folds.fold(part)).collect()
    };
    let (folded, open) = (FoldAmount::Folded, FoldAmount::Open);
    assert_eq!(
        all(&mut |_| {}),
        [FoldAmount::Head(8), folded, folded, open]
    );
    // By itself it is folded, too.
    assert_eq!(
        all(&mut |folds| {
            folds.toggle(parts[0]);
            folds.toggle(parts[0]);
            folds.toggle(parts[1]);
        }),
        [folded, open, folded, open]
    );
    assert_eq!(
        all(&mut |folds| folds.set_all(FoldAmount::Cut)),
        [FoldAmount::Cut, open, open, open]
    );
}
