//! `harness restart`: this program in the place of the service that runs, started as that was.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness_protocol::{ServiceInfo, StartOptions, UpstreamKind};
use serde_json::json;

use crate::cli::exit_codes::exits;
use crate::client::api::discovery::VERSION;
use crate::client::background;
use crate::client::commands::life::error::RestartError;
use crate::client::commands::life::look::{FoundService, ServiceLook};
use crate::client::commands::life::stop::{self, Insistence, StopWaits};
use crate::client::commands::life::work;
use crate::client::error::CommandError;
use crate::client::interrupts::Interrupts;
use crate::client::output::Output;
use crate::config::{ClientConfig, LoadedConfig, start_again};
use crate::visible;
use clap::Args;

const RESTART_HELP: &str = "\
Examples:
  harness restart                              when no run is going any more
  harness restart --now                        at once, whatever is going

Starts this program in the place of the running service, in the background, in its folder and with
the flags and variables that it was started with. Keys come from this shell and config.toml.
Attached clients come back by themselves.";

/// The flags of `harness restart`.
#[derive(Debug, Args)]
#[command(after_help = exits(RESTART_HELP, "restarted", "failed, or no service runs", Some("ended with Ctrl-C while it waited")))]
pub(crate) struct RestartArgs {
    /// Do not wait for the end of runs
    #[arg(long)]
    pub(super) now: bool,
    /// Print a JSON object: the version, process, folder and log of the service that runs now
    #[arg(long)]
    pub(super) json: bool,
}

/// The time between two looks whether runs are going.
const LOOK: Duration = Duration::from_millis(200);

/// Why a service that has a key is not followed by one without.
const KEY_IS_MISSING: &str =
    "no API key in this shell, and the service has one: set ANTHROPIC_API_KEY here";

/// How the service was started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RestartPlan {
    start: StartOptions,
    is_demo: bool,
    /// Whether its requests carry a key. Of a process that does not tell it is not known.
    has_key: bool,
}

/// Restarts the service; the exit code.
///
/// # Errors
/// If it was not restarted.
pub(crate) async fn run(
    order: &RestartArgs,
    config: &ClientConfig,
    output: &mut Output,
) -> Result<i32, CommandError> {
    let waits = StopWaits::default();
    let home = &config.home;
    let Some(pid) = stop::target(config, waits).await? else {
        let home = home.display().to_string();
        return Err(RestartError::None { home }.into());
    };
    let look = ServiceLook::at(config).await;
    let plan = RestartPlan::for_service(look.found.info(), pid)?;
    let serve = plan.check(home)?;
    match &look.found {
        FoundService::Answers(_) | FoundService::Other(_) if !order.now => {
            until_idle(config, output).await?;
            stop::is_still(config, pid, waits).await?;
        }
        FoundService::Unhealthy(_) if !order.now => return Err(RestartError::Silent { pid }.into()),
        FoundService::Older(_) => output.note(
            "harness: the service is older than 0.2 and does not say whether runs are going; one that is ends as interrupted, and `harness continue` goes on with it",
        ),
        FoundService::Answers(_) | FoundService::Other(_) | FoundService::Unhealthy(_) | FoundService::Nothing => {}
    }
    stop::stop(home, pid, Insistence::Ask, waits, output).await?;
    let connection = background::start_told(config, serve, output).await?;
    if let Some(info) = connection.info() {
        if order.json {
            let ServiceInfo {
                version,
                pid,
                workspace,
                log,
                ..
            } = info;
            let now = json!({"version": version, "pid": pid, "workspace": workspace, "log": log});
            output.json(&now)?;
            return Ok(0);
        }
        let log = info.log.as_deref().unwrap_or("its standard error");
        let line = format!(
            "restarted in the background: harness {VERSION}, process {}, for {}; its log is {log}",
            info.pid, info.workspace
        );
        output.line(&visible::line(&line))?;
    }
    Ok(0)
}

/// Waits until no run is going.
async fn until_idle(config: &ClientConfig, output: &mut Output) -> Result<(), CommandError> {
    let mut interrupts = Interrupts::of_process()?;
    let idle = async {
        let mut is_told = false;
        loop {
            let found = ServiceLook::at(config).await.found;
            // Of one that does not answer it is not known.
            let runs = match (&found, found.info()) {
                (FoundService::Nothing, _) => Some(0),
                (_, info) => info.map(|info| info.runs),
            };
            match runs {
                Some(0) => return,
                Some(runs) if !std::mem::replace(&mut is_told, true) => {
                    let runs = work::runs(runs);
                    output.note(&format!(
                        "harness: {runs} going; the restart waits for the end (`harness restart --now` does not)"
                    ));
                }
                Some(_) | None => {}
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = idle => Ok(()),
        () = interrupts.next() => Err(CommandError::Stopped),
    }
}

impl RestartPlan {
    /// How the service was started, in its own words, or else as the system remembers its process.
    fn for_service(info: Option<&ServiceInfo>, pid: u32) -> Result<Self, RestartError> {
        let told = info.and_then(|info| {
            Some(Self {
                start: info.start.clone()?,
                is_demo: info.upstream.kind == UpstreamKind::Demo,
                has_key: info.upstream.has_key,
            })
        });
        let remembered = || Self::of_process(Path::new("/proc"), pid);
        told.or_else(remembered).ok_or(RestartError::Untold { pid })
    }

    /// How a process was started, where the system tells it in files.
    fn of_process(processes: &Path, pid: u32) -> Option<Self> {
        let process = processes.join(pid.to_string());
        let folder = std::fs::read_link(process.join("cwd")).ok()?;
        let command = std::fs::read(process.join("cmdline")).ok()?;
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let words = command.split(|byte| *byte == 0);
        let words: Option<Vec<&str>> = words.map(|word| str::from_utf8(word).ok()).collect();
        let mut words = words?;
        // The list ends with a zero.
        words.pop();
        let serve = crate::cli::as_serve(&words)?;
        Some(Self {
            start: StartOptions {
                folder: folder.to_str()?.to_owned(),
                flags: serve.settings.given(),
                environment: crate::config::given_in(&environment),
            },
            is_demo: serve.demo,
            has_key: false,
        })
    }

    /// The command that starts the service so, if it can start: with the settings that it would
    /// have, and the keys of this shell.
    fn check(&self, home: &Path) -> Result<Command, RestartError> {
        let would_not = |reason: String| RestartError::WouldNotStart { reason };
        let folder = PathBuf::from(&self.start.folder);
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(would_not(format!("its folder {folder} is gone")));
        }
        let config = LoadedConfig::again(&self.start, home);
        let config = config.map_err(|error| would_not(error.to_string()))?;
        if !self.is_demo {
            let credential = config.require_credential("harness stop; harness --demo");
            credential.map_err(|error| would_not(error.to_string()))?;
            if self.has_key && config.credential.is_none() {
                return Err(would_not(KEY_IS_MISSING.to_owned()));
            }
        }
        let program = std::env::current_exe();
        let program = program.map_err(|error| would_not(format!("this program: {error}")))?;
        if !program.is_file() {
            let program = program.display();
            return Err(would_not(format!(
                "this program, {program}, was moved away"
            )));
        }
        let mut command = Command::new(program);
        command.args(["serve", "--detached"]);
        start_again(&mut command, &self.start, home);
        if self.is_demo {
            command.arg("--demo");
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use harness_protocol::GivenSetting;

    use super::*;

    fn given(name: &str, value: &str) -> GivenSetting {
        GivenSetting {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    fn plan(folder: &Path, is_demo: bool) -> RestartPlan {
        RestartPlan {
            start: StartOptions {
                folder: folder.display().to_string(),
                flags: vec![given("model", "m1")],
                environment: vec![given("HARNESS_MAX_TURNS", "7")],
            },
            is_demo,
            has_key: false,
        }
    }

    /// Spec: [CLI-101]
    #[test]
    fn one_that_tells_nothing_is_known_by_its_process_or_not_at_all() {
        let temp = tempfile::tempdir().unwrap();
        let process = temp.path().join("7");
        std::fs::create_dir(&process).unwrap();
        assert_eq!(RestartPlan::of_process(temp.path(), 7), None);
        symlink("/work", process.join("cwd")).unwrap();
        let command = b"/bin/harness\0serve\0--detached\0--home\0/h\0--model\0m1\0--demo\0";
        std::fs::write(process.join("cmdline"), command).unwrap();
        let environment = b"ANTHROPIC_API_KEY=sk\0HARNESS_MAX_TURNS=7\0";
        std::fs::write(process.join("environ"), environment).unwrap();
        let found = RestartPlan::of_process(temp.path(), 7).unwrap();
        assert_eq!(found, plan(Path::new("/work"), true));
        for other in [
            &b"vi\0"[..],
            b"harness\0attach\0",
            b"",
            b"harness\0serve\0--what\0",
        ] {
            std::fs::write(process.join("cmdline"), other).unwrap();
            assert_eq!(RestartPlan::of_process(temp.path(), 7), None);
        }
        let refused = RestartPlan::for_service(None, u32::MAX)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("`harness stop; cd FOLDER; harness`"),
            "{refused}"
        );
    }

    /// Spec: [CLI-100]
    #[test]
    fn it_is_known_before_whether_another_would_start() {
        let home = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let command = plan(folder.path(), true).check(home.path()).unwrap();
        let arguments: Vec<_> = command.get_args().map(|it| it.to_str().unwrap()).collect();
        let state = home.path().to_str().unwrap();
        let expected = [
            "serve",
            "--detached",
            "--home",
            state,
            "--model=m1",
            "--demo",
        ];
        assert_eq!(arguments, expected);
        assert_eq!(command.get_current_dir(), Some(folder.path()));

        let config = home.path().join("config.toml");
        let refusal = |plan: &RestartPlan| plan.check(home.path()).unwrap_err().to_string();
        // The shell that runs the tests may have a key.
        std::fs::write(&config, "max_turns = 0\n").unwrap();
        let mut wrong = plan(folder.path(), true);
        wrong.start.environment = Vec::new();
        let said = refusal(&wrong);
        assert!(
            said.starts_with(
                "the service goes on as it is, because another would not start: max_turns must"
            ),
            "{said}"
        );
        let gone = plan(Path::new("/nowhere/at/all"), true);
        assert!(refusal(&gone).ends_with("/nowhere/at/all is gone"));
    }
}
