//! The open approval that a number on the command line means, and the command lines that answer one.

use derive_more::{Display, Error};
use harness_protocol::{Approval, OpenApproval};

use crate::visible;

/// Number of digits of a digest that are shown and have to be given at least.
const SHOWN_DIGITS: usize = 12;
const MIN_DIGITS: usize = 8;
/// Number of digits of a whole digest.
const ALL_DIGITS: usize = 64;

/// An approval as a command line names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedApproval<'w> {
    /// Its number.
    pub(super) id: u64,
    /// The beginning of the digest of what the operator saw.
    pub(super) digest: Option<&'w str>,
    /// The only folder whose approvals are meant unless the digest says which. `None` if the conversation was named.
    pub(super) folder: Option<&'w str>,
}

/// The reason why no approval is answered.
#[derive(Debug, Clone, PartialEq, Display, Error)]
pub(super) enum ChoiceError {
    /// The number and the digest are not those of one that waits.
    #[display("approval {id} was changed; look again: harness approvals")]
    Changed {
        /// The number.
        id: u64,
    },
    /// The command line does not say which of these it means.
    #[display(
        "approval {id} waits in {}: use a command line from above",
        places(open)
    )]
    Unclear {
        /// The number.
        id: u64,
        /// The approvals that have it.
        open: Vec<OpenApproval>,
    },
}

fn places(open: &[OpenApproval]) -> String {
    match open.len() {
        1 => "a conversation of another folder".to_owned(),
        count => format!("{count} conversations"),
    }
}

/// Finds the approval that is meant. `None` if none with this number waits.
///
/// # Errors
/// If what waits is not what the operator saw, or several may be meant.
pub(super) fn choose(
    wanted: WantedApproval<'_>,
    open: Vec<OpenApproval>,
) -> Result<Option<OpenApproval>, ChoiceError> {
    let WantedApproval { id, digest, folder } = wanted;
    let mut open: Vec<_> = open.into_iter().filter(|it| it.approval.id == id).collect();
    if open.is_empty() {
        return Ok(None);
    }
    if let Some(digest) = digest {
        open.retain(|it| it.approval.digest.starts_with(digest));
        if open.is_empty() {
            return Err(ChoiceError::Changed { id });
        }
    }
    let is_here =
        |it: &OpenApproval| folder.is_none_or(|here| it.workspace.as_deref() == Some(here));
    match &open[..] {
        [one] if digest.is_some() || is_here(one) => Ok(open.pop()),
        _ => Err(ChoiceError::Unclear { id, open }),
    }
}

/// Reads the beginning of a digest.
pub(super) fn parse_digest(text: &str) -> Result<String, String> {
    let is_long_enough = (MIN_DIGITS..=ALL_DIGITS).contains(&text.len());
    if is_long_enough && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    Err(format!(
        "a digest is {MIN_DIGITS} to {ALL_DIGITS} hexadecimal digits, as `harness approvals` shows it"
    ))
}

/// The digits of a digest that are shown.
pub(super) fn short_digest(approval: &Approval) -> String {
    visible::line(
        &approval
            .digest
            .chars()
            .take(SHOWN_DIGITS)
            .collect::<String>(),
    )
}

/// The command line that answers an approval, and nothing else in its place.
pub(super) fn command_line(verb: &str, conversation: &str, approval: &Approval) -> String {
    format!(
        "harness {verb} {} -c {} --digest {}",
        approval.id,
        visible::line(conversation),
        short_digest(approval)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn open(conversation: &str, folder: Option<&str>, id: u64, digest: &str) -> OpenApproval {
        let mut open = json!({
            "conversation": conversation, "id": id, "run_id": 1, "call": "c", "tool": "bash",
            "command": {"command": "make", "folder": "/w", "access": "write", "timeout_s": 9,
                "backend": "none", "contained": false},
            "digest": digest, "because": "b", "scopes": ["once"],
        });
        if let Some(folder) = folder {
            open["workspace"] = json!(folder);
        }
        serde_json::from_value(open).unwrap()
    }

    fn chosen(
        (id, digest, folder): (u64, Option<&str>, Option<&str>),
        open: &[OpenApproval],
    ) -> Result<Option<String>, String> {
        let wanted = WantedApproval { id, digest, folder };
        let chosen = choose(wanted, open.to_vec());
        let chosen = chosen.map(|open| open.map(|open| open.conversation));
        chosen.map_err(|error| error.to_string())
    }

    /// Spec: [CLI-590] [CLI-591]
    #[test]
    fn an_approval_is_answered_only_where_the_command_line_means_one() {
        let here = Some("/w");
        let open = [
            open("a", Some("/w"), 1, "aaaaaaaa1"),
            open("b", Some("/w"), 1, "bbbbbbbb1"),
            open("c", Some("/w"), 2, "cccccccc1"),
            open("d", Some("/else"), 3, "dddddddd1"),
            open("e", None, 4, "eeeeeeee1"),
        ];
        let of = |name: &str| Ok(Some(name.to_owned()));
        let several = "approval 1 waits in 2 conversations: use a command line from above";
        let elsewhere = |id: u64| {
            Err(format!(
                "approval {id} waits in a conversation of another folder: use a command line from above"
            ))
        };
        assert_eq!(chosen((1, None, here), &open), Err(several.to_owned()));
        assert_eq!(chosen((1, Some("bbbbbbbb"), here), &open), of("b"));
        assert_eq!(chosen((2, None, here), &open), of("c"));
        assert_eq!(chosen((3, None, here), &open), elsewhere(3));
        assert_eq!(chosen((3, Some("dddddddd1"), here), &open), of("d"));
        assert_eq!(chosen((3, None, None), &open), of("d"));
        assert_eq!(chosen((4, None, here), &open), elsewhere(4));
        assert_eq!(chosen((5, Some("aaaaaaaa"), here), &open), Ok(None));
        assert_eq!(
            chosen((2, Some("aaaaaaaa"), here), &open),
            Err("approval 2 was changed; look again: harness approvals".to_owned())
        );
    }

    /// Spec: [CLI-591]
    #[test]
    fn a_digest_has_8_to_64_digits() {
        assert_eq!(parse_digest("0123ABCD"), Ok("0123abcd".to_owned()));
        assert_eq!(parse_digest(&"a".repeat(64)), Ok("a".repeat(64)));
        for wrong in ["", "0123456", "0123456g", &"a".repeat(65)] {
            assert!(parse_digest(wrong).is_err(), "{wrong}");
        }
    }
}
