//! Tries the containment from a shell: `__launch trial` reads a policy, enters, and starts itself as
//! `__launch trial-init`, which applies and starts the program.

use std::error::Error;
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};

use harness_protocol::{Access, Backend};

use super::{Found, apply, enter, probe};
use crate::launch::policy::Policy;

const POLICY: &str = "HARNESS_TRIAL_POLICY";

/// Runs a stage; the exit code.
pub(crate) fn run(stage: &str) -> i32 {
    let result = match stage {
        "trial" => warden(),
        "trial-init" => init(),
        "trial-found" => found(),
        "probe" => Ok(probe::attempt(&std::env::args().nth(3).unwrap_or_default())),
        _ => Err("there is no such stage".into()),
    };
    result.unwrap_or_else(|error| {
        drop(writeln!(io::stderr(), "{error}"));
        125
    })
}

fn warden() -> Result<i32, Box<dyn Error>> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let policy: Policy = serde_json::from_str(&line)?;
    enter(&policy.containment)?;
    let status = Command::new(std::env::current_exe()?)
        .args(["__launch", "trial-init"])
        .env(POLICY, line)
        .stdin(Stdio::null())
        .status()?;
    Ok(status.code().unwrap_or(128 + status.signal().unwrap_or(0)))
}

fn init() -> Result<i32, Box<dyn Error>> {
    let policy: Policy = serde_json::from_str(&std::env::var(POLICY)?)?;
    apply(&policy.containment)?;
    let (program, arguments) = policy.program.split_first().ok_or("no program")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(policy.environment);
    command.current_dir(&policy.folder).process_group(0);
    let status = command.status()?;
    Ok(status.code().unwrap_or(128 + status.signal().unwrap_or(0)))
}

fn found() -> Result<i32, Box<dyn Error>> {
    let found: Found = probe::probe(&std::env::current_exe()?);
    writeln!(io::stdout(), "{found:#?}")?;
    for backend in [Backend::Namespaces, Backend::Landlock, Backend::None] {
        for access in [Access::Read, Access::Write, Access::Full] {
            let contained = found.contained(backend, access, false);
            let gaps = found.gaps(backend, access, false);
            writeln!(io::stdout(), "{backend:?} {access:?} {contained} {gaps:#?}")?;
        }
    }
    Ok(0)
}
