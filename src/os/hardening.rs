//! Keeps the process's memory, with the key and the token in it, to the process itself.

use std::io;

use nix::sys::resource::{Resource, setrlimit};

/// From now on a crash leaves no core file and, on Linux, no other process of the same user may look
/// into this one: neither a debugger, nor a tool that reads `/proc/PID/environ`. What this process
/// starts has no core files either.
///
/// # Errors
/// The system's error.
pub(crate) fn close_memory() -> io::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // A pattern for core files may hand them to a program, for which the limit does not count.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false)?;
    Ok(())
}
