//! Access lists and extended attributes: a file that takes the place of another has those of the other.
//!
//! Source: the manual pages xattr(7) and acl(5).

use std::fs::File;

use rustix::fs::{
    XattrFlags, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fremovexattr, fsetxattr,
};
use rustix::io::Errno;

use crate::tool::ToolError;

/// The list of users and groups that may read and write a file besides its owner and its group.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
/// Attributes that hold for one content only; the kernel drops or renews them with each change.
const OF_CONTENT: &[&[u8]] = &[b"security.capability", b"security.evm", b"security.ima"];

/// Gives a file the access list and the attributes of another, and none that it has from its folder; a remark
/// on those that it could not get.
///
/// # Errors
/// If it cannot get the access list: other users could do more or less with it then.
pub(super) fn copy_attributes(old: &File, new: &File) -> Result<Option<String>, ToolError> {
    let names = match attribute_names(old) {
        Ok(names) => names,
        // The file system has none.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(None),
        Err(error) => return Err(refusal(error)),
    };
    if !names.iter().any(|name| name == ACCESS_LIST) {
        match fremovexattr(new, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(refusal(error)),
        }
    }
    let mut lost = Vec::new();
    for name in names.iter().filter(|name| is_copied(name)) {
        match copy_attribute(old, new, name) {
            Ok(()) => {}
            Err(error) if name == ACCESS_LIST => return Err(refusal(error)),
            Err(_) => lost.push(String::from_utf8_lossy(name).into_owned()),
        }
    }
    Ok((!lost.is_empty()).then(|| {
        format!(
            "attributes of the file could not be kept: {}",
            lost.join(", ")
        )
    }))
}

fn is_copied(name: &[u8]) -> bool {
    let is_of_file = name.starts_with(b"user.") || name.starts_with(b"security.");
    name == ACCESS_LIST || is_of_file && !OF_CONTENT.contains(&name)
}

fn copy_attribute(old: &File, new: &File, name: &[u8]) -> rustix::io::Result<()> {
    let value = attribute(old, name)?;
    // A label that the folder gives need not be allowed to be set.
    if attribute(new, name).is_ok_and(|has| has == value) {
        return Ok(());
    }
    fsetxattr(new, name, &value, XattrFlags::empty())
}

fn attribute_names(file: &File) -> rustix::io::Result<Vec<Vec<u8>>> {
    let mut list = vec![0_u8; flistxattr_query(file)?];
    let length = flistxattr(file, list.as_mut_slice())?;
    list.truncate(length);
    let names = list.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

fn attribute(file: &File, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let mut value = vec![0_u8; fgetxattr_query(file, name)?];
    let length = fgetxattr(file, name, value.as_mut_slice())?;
    value.truncate(length);
    Ok(value)
}

fn refusal(error: Errno) -> ToolError {
    ToolError(format!(
        "the access list of the file cannot be kept ({error}), so it stays unchanged; a command may \
         change it in place"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [TOOL-446]
    #[test]
    fn attributes_of_one_content_are_not_taken_along() {
        for (name, expected) in [
            (&b"user.note"[..], true),
            (b"system.posix_acl_access", true),
            (b"security.selinux", true),
            (b"security.capability", false),
            (b"security.ima", false),
            (b"system.nfs4_acl", false),
            (b"trusted.overlay.opaque", false),
        ] {
            assert_eq!(is_copied(name), expected, "{name:?}");
        }
    }
}
