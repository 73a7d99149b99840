//! Paths as people write them.

use std::path::Path;

use super::{one_line, width};

/// A path with `~` for the home folder.
#[must_use]
pub fn below_home(home: Option<&str>, path: &str) -> String {
    let home = home.filter(|home| Path::new(home).parent().is_some());
    let rest = home.and_then(|home| Path::new(path).strip_prefix(home).ok());
    match rest {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.to_owned(),
    }
}

/// The same on one line, fit to be shown.
pub(crate) fn shown_path(home: Option<&str>, path: &str) -> String {
    one_line(&below_home(home, path))
}

/// A path in at most so many columns: whole, or its last folders with `…` for those before them;
/// nothing if not even the last one fits.
pub(crate) fn end_of(path: &str, room: usize) -> Option<String> {
    if width(path) <= room {
        return Some(path.to_owned());
    }
    let cuts = path.char_indices().filter(|(_, c)| *c == '/');
    let mut ends = cuts.map(|(at, _)| format!("…{}", &path[at..]));
    ends.find(|end| width(end) <= room)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TUI-82]
    #[test]
    fn a_path_below_the_home_folder_begins_with_a_tilde() {
        for (home, path, shown) in [
            (Some("/home/me"), "/home/me/a/b", "~/a/b"),
            (Some("/home/me/"), "/home/me", "~"),
            (Some("/home/me"), "/home/men/a", "/home/men/a"),
            (Some("/"), "/a", "/a"),
            (None, "/home/me", "/home/me"),
        ] {
            assert_eq!(below_home(home, path), shown);
        }
    }

    /// Spec: [TUI-83] [TUI-90]
    #[test]
    fn of_a_path_that_does_not_fit_the_last_folders_are_shown() {
        for (room, shown) in [
            (13, Some("~/src/project")),
            (12, Some("…/project")),
            (9, Some("…/project")),
            (8, None),
        ] {
            assert_eq!(end_of("~/src/project", room).as_deref(), shown, "{room}");
        }
    }
}
