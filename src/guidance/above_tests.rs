//! Tests of whose folders and files are used above the working folder.

use super::*;

const OWNERS: Owners = Owners {
    own: 7,
    of_workspace: Some(8),
};

/// Spec: [GUIDE-33] [GUIDE-64]
#[test]
fn files_of_others_are_not_used() {
    let fault = |owner, mode| OWNERS.fault_of_file(Path::new("/a b/AGENTS.md"), owner, mode);
    for owner in [0, 7, 8] {
        assert_eq!(fault(owner, 0o644), None, "{owner}");
        let told = fault(owner, 0o664).unwrap();
        assert_eq!(
            told,
            "others can write it; run `chmod go-w '/a b/AGENTS.md'`"
        );
    }
    assert_eq!(
        fault(9, 0o600).unwrap(),
        "it belongs to another user (uid 9)"
    );
    let alone = Owners {
        of_workspace: None,
        ..OWNERS
    };
    assert!(alone.fault_of_file(Path::new("/x"), 8, 0o644).is_some());
}

/// Spec: [GUIDE-64]
#[test]
fn folders_that_others_can_change_are_not_gone_through() {
    let fault = |owner, mode, use_as| OWNERS.fault(Path::new("/x"), owner, mode, use_as);
    for (owner, mode, is_passage, is_holder) in [
        (0, 0o40755, true, true),
        (7, 0o40700, true, true),
        (8, 0o40711, true, true),
        (0, 0o41777, true, false),
        (7, 0o41770, true, false),
        (7, 0o40775, false, false),
        (7, 0o40757, false, false),
        (9, 0o40755, false, false),
        (9, 0o41777, false, false),
    ] {
        let passage = fault(owner, mode, Use::Passage);
        let holder = fault(owner, mode, Use::Holder);
        assert_eq!(
            passage.is_none(),
            is_passage,
            "{owner} {mode:o} {passage:?}"
        );
        assert_eq!(holder.is_none(), is_holder, "{owner} {mode:o} {holder:?}");
    }
    let told = fault(9, 0o40755, Use::Passage).unwrap();
    assert_eq!(told, "its folder /x belongs to another user (uid 9)");
}

/// Spec: [GUIDE-65]
#[test]
fn an_id_that_stands_for_several_users_owns_nothing() {
    let nobody = Owners {
        own: 65_534,
        of_workspace: Some(65_534),
    };
    let is_told = |uid| uid != 65_534;
    assert_eq!(nobody.stranger_if(0, is_told), None);
    let told = nobody.stranger_if(65_534, is_told).unwrap();
    assert_eq!(told, "a user who cannot be told from others (uid 65534)");
    assert_eq!(nobody.stranger_if(65_534, |_| true), None);
    assert!(nobody.stranger_if(7, |_| true).is_some());
}
