//! Bounds on time that decide the same on a busy machine: each is a multiple of the time that a bare process or a
//! bare write to the disk takes in the same run.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use tokio::time::Instant;

/// The time that a bare process takes on a machine with nothing else to do.
const QUIET: Duration = Duration::from_millis(2);
/// The time that a bare write takes there until the disk has it.
const QUIET_WRITE: Duration = Duration::from_millis(5);

/// The time that a bare process takes from its start to its end now: the slowest of five.
fn bare_process() -> Duration {
    let run = |_| {
        let begun = Instant::now();
        assert!(Command::new("true").status().unwrap().success());
        begun.elapsed()
    };
    (0..5).map(run).max().unwrap()
}

/// The time that a bare write to a file in the system's temporary folder takes now until the disk has it: the slowest
/// of five.
fn bare_write() -> Duration {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let run = |_| {
        let begun = Instant::now();
        file.write_all(&[0; 4096]).unwrap();
        file.as_file().sync_data().unwrap();
        begun.elapsed()
    };
    (0..5).map(run).max().unwrap()
}

/// The bound for a quiet machine, stretched by as much as a bare process or a bare write takes longer now.
pub(crate) fn stretched(bound: Duration) -> Duration {
    let times = |now: Duration, quiet: Duration| now.as_secs_f64() / quiet.as_secs_f64();
    let slower = times(bare_process(), QUIET).max(times(bare_write(), QUIET_WRITE));
    bound.mul_f64(slower.max(1.0))
}

/// Fails if something took longer than its bound, which is that of a quiet machine. If it is missed the baseline is
/// measured twice, and both figures are printed.
#[track_caller]
pub(crate) fn took_at_most(bound: Duration, took: Duration) {
    if took > bound {
        let bounds = [stretched(bound), stretched(bound)];
        let told = format!("it took {took:.2?}; {bound:.2?} are {bounds:.2?} on this machine now");
        println!("{told}");
        assert!(bounds.iter().any(|bound| took <= *bound), "{told}");
    }
}
