//! Which prompts are remembered.

use super::*;

fn of(prompts: &[&str]) -> PromptHistory {
    let mut history = PromptHistory::default();
    for prompt in prompts {
        history.add(prompt);
    }
    history
}

/// Spec: [HIST-01]
#[test]
fn the_oldest_of_101_prompts_is_forgotten() {
    let prompts: Vec<String> = (0..=MAX_ENTRIES)
        .map(|number| format!("p{number}"))
        .collect();
    let mut history = PromptHistory::default();
    for prompt in &prompts {
        assert!(history.add(prompt));
    }
    assert_eq!(history.entries().len(), 100);
    assert_eq!(history.entries(), &prompts[1..]);
    assert_eq!(prompts.into_iter().collect::<PromptHistory>(), history);
}

/// Spec: [HIST-02]
#[test]
fn only_what_is_worth_it_is_remembered() {
    let table: &[(&[&str], &[&str])] = &[
        (&["a", "a", "b", "a"], &["a", "b", "a"]),
        (&["", "  ", "\n"], &[]),
        (&[" secret", "a"], &["a"]),
        (&["two\nlines", "two\nlines"], &["two\nlines"]),
    ];
    for (prompts, expected) in table {
        assert_eq!(of(prompts).entries(), *expected);
    }
}

/// Spec: [HIST-07]
#[test]
fn a_huge_prompt_is_cut_with_a_note() {
    let whole = "漢".repeat(MAX_BYTES / 3);
    assert_eq!(of(&[&whole]).entries(), [&*whole]);

    let huge = "漢".repeat(100_000);
    let history = of(&[&huge, &huge]);
    let [entry] = history.entries() else {
        panic!("{} entries", history.entries().len());
    };
    assert!(entry.len() <= MAX_BYTES && entry.len() > MAX_BYTES - 3);
    let begin = entry.strip_suffix("\n[cut: 300000 bytes in all]").unwrap();
    assert!(huge.starts_with(begin));
}
