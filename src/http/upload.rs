//! Takes the files that go with prompts, from the body or the working folder.

use std::path::Path;

use actix_web::{HttpRequest, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use harness_actors::attachment::{
    AttachmentError, HeldAttachments, MAX_ATTACHED_BYTES, MAX_ATTACHMENTS, NewAttachment,
    hold_attachments,
};
use harness_actors::blocking;
use harness_protocol::{AttachmentOrder, PromptOrder};

use super::attachable::Attachable;
use super::body::{self, MAX_BODY_BYTES};
use super::problem::{Kind, Refusal};
use super::shared::HttpShared;

/// Maximum size of a body with attachments, in bytes. Base64 makes them a third longer, and line breaks in it a little
/// more.
const MAX_BYTES: usize = MAX_ATTACHED_BYTES / 3 * 4 + 2 * MAX_BODY_BYTES;

/// Reads the body of a route that takes files. What is not the data of files is bounded as on the
/// other routes.
///
/// # Errors
/// The answer, if the body cannot be used.
pub(super) async fn order(
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<PromptOrder, Refusal> {
    let (order, length) = body::json_within::<PromptOrder>(request, payload, MAX_BYTES).await?;
    let data = order
        .attachments
        .iter()
        .filter_map(|file| file.data.as_ref());
    if length.saturating_sub(data.map(String::len).sum()) > MAX_BODY_BYTES {
        let detail =
            format!("a body may have {MAX_BODY_BYTES} bytes besides the data of attachments");
        return Err(Kind::BodyTooLarge.refuse(detail));
    }
    Ok(order)
}

/// Checks the files that go with a prompt, and holds them until it is taken or refused.
///
/// # Errors
/// The answer, if one of them cannot be used or kept.
pub(super) async fn hold(
    shared: &HttpShared,
    folder: &Path,
    orders: Vec<AttachmentOrder>,
) -> Result<HeldAttachments, Refusal> {
    let count = orders.len();
    if count > MAX_ATTACHMENTS {
        return Err(refuse(&AttachmentError::TooMany { count }));
    }
    let workspace = Attachable::new(folder, &shared.home, &shared.closed);
    let loaded = blocking(move || load(&workspace, orders)).await;
    let files = loaded
        .map_err(|error| Kind::Overloaded.refuse(format!("files cannot be read: {error}")))??;
    hold_attachments(&shared.attachments, files)
        .await
        .map_err(|error| refuse(&error))
}

fn refuse(error: &AttachmentError) -> Refusal {
    let kind = match error {
        AttachmentError::NotKept(_) => Kind::NotKept,
        AttachmentError::TooMany { .. }
        | AttachmentError::TooLarge { .. }
        | AttachmentError::Unusable { .. } => Kind::BadRequest,
    };
    kind.refuse(error.to_string())
}

/// Loads files one after the other, never more together than a prompt may have. Blocks.
fn load(
    workspace: &Attachable,
    orders: Vec<AttachmentOrder>,
) -> Result<Vec<NewAttachment>, Refusal> {
    let mut bytes = 0;
    let mut files = Vec::with_capacity(orders.len());
    for (order, number) in orders.into_iter().zip(1..) {
        let name = order
            .name
            .clone()
            .or_else(|| name_at(order.path.as_deref()?));
        let content = content(workspace, order.data, order.path).map_err(|reason| {
            let called = name
                .as_ref()
                .map(|name| format!(" ({})", name.escape_debug()));
            let called = called.unwrap_or_default();
            Kind::BadRequest.refuse(format!("attachment {number}{called} {reason}"))
        })?;
        bytes += content.len();
        if bytes > MAX_ATTACHED_BYTES && number > 1 {
            return Err(refuse(&AttachmentError::TooLarge { bytes }));
        }
        files.push(NewAttachment {
            content,
            media_type: order.media_type,
            name,
        });
    }
    Ok(files)
}

/// The name of the file at a path.
fn name_at(path: &str) -> Option<String> {
    let name = Path::new(path).file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// The content of a file, or the fault in it, worded to follow the name of the file.
fn content(
    workspace: &Attachable,
    data: Option<String>,
    path: Option<String>,
) -> Result<Bytes, String> {
    match (data, path) {
        (Some(data), None) => decode(data),
        (None, Some(path)) => workspace.read(&path),
        (Some(_), Some(_)) => Err("has both `data` and `path`; give one of them".to_owned()),
        (None, None) => Err("has neither `data` nor `path`; give one of them".to_owned()),
    }
}

/// Decodes base64, which may have line breaks, as some programs write it, but no other characters.
fn decode(mut data: String) -> Result<Bytes, String> {
    if data.contains('\n') {
        data.retain(|c| !matches!(c, '\r' | '\n'));
    }
    let decoded = STANDARD.decode(data);
    let decoded = decoded
        .map_err(|error| format!("has `data` that is not base64 with padding (RFC 4648): {error}"));
    decoded.map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn attachable(workspace: &Path) -> Attachable {
        Attachable::new(workspace, Path::new("/nowhere"), &Arc::default())
    }

    /// Spec: [ATT-09]
    #[test]
    fn base64_is_taken_with_line_breaks_and_nothing_else() {
        let decoded = |data: &str| decode(data.to_owned());
        assert_eq!(decoded("YWJj").unwrap(), "abc");
        assert_eq!(decoded("YW\r\nJjZA\n==\n").unwrap(), "abcd");
        assert_eq!(decoded("").unwrap(), "");
        for wrong in [
            "YWJjZA",
            "YWJjZB==",
            "YW Jj",
            "-_-_",
            "YWJj=",
            "data:;base64,YWJj",
            "ü",
        ] {
            let reason = decoded(wrong).unwrap_err();
            assert!(reason.contains("is not base64 with padding"), "{reason}");
        }
    }

    /// Spec: [ATT-09]
    #[test]
    fn a_file_is_given_in_one_way() {
        let given = |data: Option<&str>, path: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            content(&attachable(Path::new("/")), owned(data), owned(path)).unwrap_err()
        };
        assert!(given(None, None).starts_with("has neither"));
        assert!(given(Some("YWJj"), Some("x")).starts_with("has both"));
    }

    /// Spec: [ATT-04]
    #[test]
    fn no_more_is_loaded_than_a_prompt_may_have() {
        let folder = tempfile::tempdir().unwrap();
        let size = |name: &str, bytes: usize| {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            file.set_len(bytes as u64).unwrap();
        };
        size("most", MAX_ATTACHED_BYTES);
        size("more", MAX_ATTACHED_BYTES + 1);
        size("one", 1);
        let load = |names: &[&str]| {
            let order = |name: &&str| AttachmentOrder {
                path: Some((*name).to_owned()),
                ..AttachmentOrder::default()
            };
            load(
                &attachable(folder.path()),
                names.iter().map(order).collect(),
            )
        };
        assert_eq!(
            load(&["most"]).unwrap()[0].content.len(),
            MAX_ATTACHED_BYTES
        );
        let told = load(&["one", "more"]).unwrap_err().to_string();
        assert!(
            told.starts_with("attachment 2 (more) has more than 23068672 bytes"),
            "{told}"
        );
        let told = load(&["most", "one", "none"]).unwrap_err().to_string();
        assert!(
            told.starts_with("the attachments have 23068673 bytes"),
            "{told}"
        );
    }
}
