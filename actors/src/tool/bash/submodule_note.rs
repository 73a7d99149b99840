//! The note about a submodule that a command has added, moved or removed only in part.

use super::reach::has_word;

/// Commands of git that change the configuration and `.gitmodules` for a submodule.
const ALWAYS: [&str; 2] = ["mv", "rm"];
/// Commands of `git submodule` that do.
const OF_SUBMODULE: [&str; 5] = ["add", "deinit", "absorbgitdirs", "set-url", "set-branch"];
/// Texts by which git tells that it could not change its configuration.
const REFUSALS: [&str; 2] = ["could not write config file", "could not lock config file"];
const GITMODULES: &str = ".gitmodules";

const NOTE: &str = "a submodule is added, moved or removed only in part, because a place that it changes is \
                    protected; undo what is left of it and run that command alone with access full";

/// The note, if a command's text names such work and a protected place was in its way: by what it wrote, or by what was
/// put back.
pub(super) fn submodule_note(command: &str, output: &str, put_back: &[String]) -> Option<String> {
    let is_meant = has_word(command, &ALWAYS)
        || has_word(command, &["submodule"]) && has_word(command, &OF_SUBMODULE);
    let is_named = put_back.iter().any(|note| note.contains(GITMODULES));
    let is_refused = || REFUSALS.iter().any(|refusal| output.contains(refusal));
    let is_half_done = has_word(command, &["git"]) && is_meant && (is_named || is_refused());
    is_half_done.then(|| NOTE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [BASH-585]
    #[test]
    fn work_on_submodules_that_is_half_done_is_explained_once() {
        let busy = "error: could not write config file .git/config: Device or resource busy";
        let put_back = ["/folder/.gitmodules is protected and was put back".to_owned()];
        for (command, output, notes, wanted) in [
            ("git submodule add ../lib new", busy, &[][..], true),
            ("git submodule add ../lib new", "", &put_back, true),
            ("git submodule deinit sub", busy, &[], true),
            ("git mv sub other", busy, &put_back, true),
            ("git rm -q sub", "", &put_back, true),
            ("git mv a b", "", &[], false),
            ("git submodule update --init", busy, &[], false),
            ("git add .gitmodules", "", &put_back, false),
            ("git remote add o x", busy, &[], false),
        ] {
            let note = submodule_note(command, output, notes);
            assert_eq!(note.is_some(), wanted, "{command}");
        }
    }
}
