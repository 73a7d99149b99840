//! The approval that a number on the command line means. An answer never goes to an approval that the person may not have
//! seen.

use std::str::FromStr;

use harness_protocol::{Approval, Approvals, OpenApproval, Subject, words};

use crate::client::api::connection::Connection;
use crate::client::api::routes;
use crate::client::commands::common::Which;
use crate::client::error::CommandError;
use crate::client::named;
use crate::visible;

/// Number of digits of a digest that are shown.
const SHOWN_DIGITS: usize = 12;
/// Smallest number of digits that tell a digest from others.
const MIN_DIGITS: usize = 8;
/// Number of digits of a whole digest.
const DIGITS: usize = 64;
/// Maximum number of characters of a command or a path in one line.
const MAX_SHORT: usize = 120;

/// The beginning of an approval's digest, in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DigestStart(String);

impl FromStr for DigestStart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_digits && (MIN_DIGITS..=DIGITS).contains(&text.len()) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(format!(
            "a digest is given by {MIN_DIGITS} to {DIGITS} hexadecimal digits, as `harness approvals` shows them"
        ))
    }
}

impl DigestStart {
    fn is_of(&self, open: &OpenApproval) -> bool {
        open.approval.digest.starts_with(&self.0)
    }
}

/// The approval that a command line names.
pub(super) struct ApprovalChoice<'a> {
    pub(super) id: u64,
    pub(super) digest: Option<&'a DigestStart>,
    pub(super) which: &'a Which,
    /// The command, for the ways out that errors name.
    pub(super) verb: &'static str,
}

/// The approval that is answered.
#[derive(Debug)]
pub(super) struct ChosenApproval {
    pub(super) conversation: String,
    /// `None` if none of that number waits: the service knows its result.
    pub(super) open: Option<Approval>,
}

impl ApprovalChoice<'_> {
    /// Finds the approval: in the conversation that was named, or by the digest, or in the last conversation of this
    /// folder if that number waits in no other one.
    ///
    /// # Errors
    /// If another approval than the one that the person saw may be meant, or the service does not answer.
    pub(super) async fn find(&self, service: &Connection) -> Result<ChosenApproval, CommandError> {
        let named = match self.which.named() {
            Some(name) => Some(named::conversation(name, service).await?),
            None => None,
        };
        let Approvals { approvals } = match &named {
            Some(conversation) => service.ask(&routes::approvals(conversation)).await?,
            None => service.ask(&routes::all_approvals()).await?,
        };
        let mut waiting: Vec<OpenApproval> = approvals
            .into_iter()
            .filter(|open| open.approval.id == self.id)
            .collect();
        if let Some(digest) = self.digest {
            let (shown, other): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|open| digest.is_of(open));
            if shown.is_empty() && !other.is_empty() {
                return Err(self.not_shown(digest));
            }
            waiting = shown;
        }
        match (waiting.as_slice(), named) {
            ([], Some(conversation)) => Ok(ChosenApproval {
                conversation,
                open: None,
            }),
            ([], None) => Ok(ChosenApproval {
                conversation: self.which.find(service).await?,
                open: None,
            }),
            ([_], named) => {
                let one = waiting.remove(0);
                if named.is_none() && self.digest.is_none() {
                    let here = self.which.find(service).await?;
                    if one.conversation != here {
                        return Err(self.elsewhere(&one));
                    }
                }
                Ok(ChosenApproval {
                    conversation: one.conversation,
                    open: Some(one.approval),
                })
            }
            (several, _) => Err(self.several(several)),
        }
    }

    fn not_shown(&self, digest: &DigestStart) -> CommandError {
        let (id, digits) = (self.id, &digest.0);
        CommandError::Usage {
            reason: format!(
                "approval {id} no longer is what {digits} names, nothing was answered; `harness approvals` shows what waits"
            ),
        }
    }

    fn elsewhere(&self, one: &OpenApproval) -> CommandError {
        let (id, verb) = (self.id, self.verb);
        let conversation = visible::line(&one.conversation);
        CommandError::Usage {
            reason: format!(
                "approval {id} does not wait in this folder's last conversation, but in {conversation} ({}); if that one \
                 is meant: harness {verb} {id} -c {conversation}",
                short(&one.approval)
            ),
        }
    }

    fn several(&self, several: &[OpenApproval]) -> CommandError {
        let (id, verb) = (self.id, self.verb);
        let each = several.iter().map(|open| {
            let conversation = visible::line(&open.conversation);
            format!("-c {conversation} ({})", short(&open.approval))
        });
        let each = each.collect::<Vec<_>>().join(", ");
        CommandError::Usage {
            reason: format!(
                "approval {id} waits in {} conversations, so `harness {verb} {id}` needs one of {each}",
                several.len()
            ),
        }
    }
}

/// An approval on one line, with the beginning of its digest.
pub(super) fn head(open: &OpenApproval) -> String {
    let OpenApproval {
        conversation,
        approval,
    } = open;
    format!(
        "{} {} in {}: {} ({}), digest {}",
        approval.id,
        approval.tool,
        visible::line(conversation),
        visible::line(&words::subject(&approval.subject)),
        approval.because,
        approval.digest.get(..SHOWN_DIGITS).unwrap_or_default(),
    )
}

/// The command that allows an approval, and no other.
pub(super) fn way(open: &OpenApproval) -> String {
    let conversation = visible::line(&open.conversation);
    format!("harness approve {} -c {conversation}", open.approval.id)
}

/// The tool and what it is about to do, in short.
pub(super) fn short(approval: &Approval) -> String {
    let what = match &approval.subject {
        Subject::Change(change) => &change.path,
        Subject::Command(plan) => &plan.command,
    };
    format!("{} {}", approval.tool, visible::short(what, MAX_SHORT))
}

#[cfg(test)]
#[path = "approval_choice_tests.rs"]
mod tests;
