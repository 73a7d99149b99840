//! Memory that was needed for a moment goes back to the system.
//!
//! The allocator of glibc takes large blocks straight from the system and gives them back when they
//! are freed, but after the first one it raises what it calls large, up to 32 MiB, and from then on
//! each of its arenas keeps up to twice that for later (`mallopt(3)`, `M_MMAP_THRESHOLD`). A service
//! that took some files at once would be larger by them for weeks. The one way to fix the bounds that
//! needs no unsafe code is variables that are there when the program starts.

use std::convert::Infallible;
use std::io;

/// The variables that fix from how many bytes on a block is large, how many free bytes an arena
/// keeps, and how many arenas there are. 8 MiB is larger than a record of 1 MiB and what is made of
/// it: giving those back each time makes reading a long past three times as slow. Without the third
/// one up to sixteen threads, whose number changes with the load, each keep their own 8 MiB.
const VARIABLES: [(&str, &str); 3] = [
    ("MALLOC_MMAP_THRESHOLD_", "8388608"),
    ("MALLOC_TRIM_THRESHOLD_", "8388608"),
    ("MALLOC_ARENA_MAX", "4"),
];

/// Starts the program again in its own process, with the bounds fixed, unless they are or
/// the user chose others. Called before anything else was begun.
///
/// # Errors
/// If the program cannot be started again; it continues unchanged.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn fix_large_blocks() -> io::Result<()> {
    let tunables = std::env::var("GLIBC_TUNABLES").unwrap_or_default();
    let is_chosen = |(name, _): &(&str, &str)| std::env::var_os(name).is_some();
    if VARIABLES.iter().any(is_chosen) || tunables.contains("mmap_threshold") {
        return Ok(());
    }
    match start_again() {
        Ok(never) => match never {},
        Err(error) => Err(error),
    }
}

/// Other allocators need nothing of the kind.
///
/// # Errors
/// None.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn fix_large_blocks() -> io::Result<()> {
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn start_again() -> io::Result<Infallible> {
    use std::os::unix::process::CommandExt as _;

    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(std::env::current_exe()?);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    Err(command.args(arguments).envs(VARIABLES).exec())
}
