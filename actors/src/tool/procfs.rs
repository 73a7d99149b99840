//! The parts of the kernel's view of processes that are not read: their memory and their
//! environment, where every program keeps its secrets.
//!
//! The file at the end of a path decides, however the path is written: `..`, links, `/dev/fd` and
//! other mounts of the same file system make no difference.

pub(super) use system::{check_file, check_folder, check_path, mounts_below};

/// Names in that file system that are never read, of whichever process.
#[cfg(target_os = "linux")]
const HIDDEN: [&str; 6] = ["environ", "mem", "auxv", "kcore", "pagemap", "kmsg"];

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::OsString;
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::{Path, PathBuf};

    use nix::fcntl::OFlag;
    use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};

    use super::super::{ToolError, path};
    use super::HIDDEN;

    /// Refuses an opened file that holds the memory or the environment of a process.
    pub(in super::super) fn check_file(file: &File) -> Result<(), ToolError> {
        if !is_procfs(file) {
            return Ok(());
        }
        // The name that the system has for it, and not the one by which it was asked for.
        let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let name = name
            .ok()
            .and_then(|path| path.file_name().map(OsString::from));
        let is_told = name.is_some_and(|name| {
            let name = name.as_bytes();
            let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
            !HIDDEN.iter().any(|hidden| hidden.as_bytes() == name)
        });
        if is_told {
            return Ok(());
        }
        Err("permission denied: the memory and the environment of processes are not read".into())
    }

    /// Like [`check_file`], for a file that another program will open.
    pub(in super::super) fn check_path(path: &Path) -> Result<(), ToolError> {
        check_file(&looked_at(path)?)
    }

    /// Refuses a folder of that file system, which holds the files of all processes.
    pub(in super::super) fn check_folder(folder: &Path) -> Result<(), ToolError> {
        if is_procfs(&looked_at(folder)?) {
            return Err(
                "permission denied: the files of processes are not searched, only one at a time"
                    .into(),
            );
        }
        Ok(())
    }

    /// Opens nothing but the place itself: no device is touched, and no pipe waited for.
    fn looked_at(path: &Path) -> Result<File, ToolError> {
        OpenOptions::new()
            .read(true)
            .custom_flags(OFlag::O_PATH.bits())
            .open(path)
            .map_err(|error| path::io_error(&error, "path not found"))
    }

    /// True if it is in that file system, or if that cannot be told.
    fn is_procfs(file: &File) -> bool {
        fstatfs(file).map_or(true, |found| found.filesystem_type() == PROC_SUPER_MAGIC)
    }

    /// Where that file system is mounted below a folder.
    pub(in super::super) fn mounts_below(folder: &Path) -> Vec<PathBuf> {
        // Without the table there is no such file system either.
        let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let Ok(folder) = folder.canonicalize() else {
            return Vec::new();
        };
        let mut mounts = mounts(&table);
        mounts.retain(|mount| mount.starts_with(&folder));
        mounts.sort();
        // What lies below another one is left out with it.
        mounts.dedup_by(|mount, above| mount.starts_with(above));
        mounts
    }

    /// The places of a table of mounts where that file system is.
    fn mounts(table: &[u8]) -> Vec<PathBuf> {
        let lines = table.split(|byte| *byte == b'\n');
        let mount = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ');
            let place = fields.nth(4)?;
            let mut rest = fields.skip_while(|field| *field != b"-");
            (rest.nth(1)? == b"proc").then(|| PathBuf::from(unescaped(place)))
        };
        lines.filter_map(mount).collect()
    }

    /// A field of the table: spaces and the like are three octal digits there.
    fn unescaped(field: &[u8]) -> OsString {
        let mut bytes = Vec::with_capacity(field.len());
        let mut rest = field;
        while let Some((first, after)) = rest.split_first() {
            let digits = after.get(..3).filter(|_| *first == b'\\');
            let byte = digits
                .and_then(|digits| str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 8).ok());
            bytes.push(byte.unwrap_or(*first));
            rest = if byte.is_some() { &after[3..] } else { after };
        }
        OsString::from_vec(bytes)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Spec: [SEC-26]
        #[test]
        fn the_table_of_mounts_is_read() {
            let table = b"22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
                23 28 0:21 / /proc rw,relatime shared:12 - proc proc rw\n\
                24 28 0:22 /1 /a\\040b\\134c rw - proc none rw\n\
                odd\n";
            assert_eq!(mounts(table), ["/proc", "/a b\\c"].map(PathBuf::from));
        }
    }
}

/// Elsewhere there is no such file system.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::path::{Path, PathBuf};

    use super::super::ToolError;

    pub(in super::super) fn check_file(_: &File) -> Result<(), ToolError> {
        Ok(())
    }

    pub(in super::super) fn check_path(_: &Path) -> Result<(), ToolError> {
        Ok(())
    }

    pub(in super::super) fn check_folder(_: &Path) -> Result<(), ToolError> {
        Ok(())
    }

    pub(in super::super) fn mounts_below(_: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}
