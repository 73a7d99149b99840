//! The program: command line, configuration, wiring, HTTP.

mod cli;
mod client;
mod config;
mod difference;
mod doctor;
mod file_search;
mod guidance;
mod http;
#[cfg(target_os = "linux")]
mod launch;
mod logging;
mod os;
mod proof;
mod serve;
mod state_dir;
mod visible;
mod workflow;

use std::io::{IsTerminal as _, Write as _};

use clap::Parser as _;
use harness_actors::Redaction;

use crate::cli::color::ColorFlag;
use crate::cli::shell_files::ShellFileError;
use crate::cli::{Alone, Cli, ProgramCommand, Serve, ShowConfig, ShowVersion};
use crate::config::{HomeFlag, LoadedConfig};
use crate::doctor::Examine;
use crate::logging::service_log;
use crate::serve::error::ServiceError;
use crate::serve::shutdown::StopSignals;
use crate::workflow::Workflow;

fn main() {
    #[cfg(target_os = "linux")]
    if let Some(code) = launch::stage(std::env::args_os().skip(1)) {
        std::process::exit(code);
    }
    // Before any secret is read.
    let closed = os::hardening::close_memory();
    let Cli {
        command,
        alone,
        home,
        color,
    } = Cli::try_parse().unwrap_or_else(|error| {
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| word.to_string_lossy().into_owned());
        std::process::exit(cli::wrong_use::tell(&error, &words.collect::<Vec<_>>()))
    });
    let result = match command {
        Some(ProgramCommand::Serve(serve)) => run_service(&serve, closed),
        Some(ProgramCommand::Config(show)) => show_config(&show),
        Some(ProgramCommand::Doctor(examine)) => {
            std::process::exit(examine_journals(&examine, &home))
        }
        Some(ProgramCommand::Workflow(workflow)) => {
            std::process::exit(work(&workflow, &home, color))
        }
        Some(ProgramCommand::Completions(it)) => {
            std::process::exit(printed(cli::shell_files::completions(&it)))
        }
        Some(ProgramCommand::Man(it)) => std::process::exit(printed(cli::shell_files::man(&it))),
        Some(ProgramCommand::Version(it)) => std::process::exit(printed(show_version(&it))),
        Some(ProgramCommand::Client(command)) => {
            std::process::exit(client::run(&command, &home, color))
        }
        None => std::process::exit(attach_alone(&alone, &home, color)),
    };
    exit(result);
}

fn exit(result: Result<(), ServiceError>) -> ! {
    let code = match result {
        Ok(()) => 0,
        Err(error) => {
            // Standard error may be closed, and then there is no reader to tell.
            drop(writeln!(std::io::stderr(), "harness: {error}"));
            error.exit_code()
        }
    };
    std::process::exit(code);
}

fn run_service(serve: &Serve, closed: std::io::Result<()>) -> Result<(), ServiceError> {
    let fixed = os::malloc::fix_large_blocks();
    if serve.detached {
        // What ends the terminal's session then leaves the service alone.
        nix::unistd::setsid().map_err(std::io::Error::from)?;
    }
    let config = LoadedConfig::from_process(&serve.settings)?;
    let redaction = Redaction::new(config.secrets.clone());
    service_log::start(&config.log, serve.detached, redaction.clone())?;
    let _last_lines = service_log::FlushAtEnd;
    if let Err(error) = closed {
        log::warn!("a crash may leave the key in a core file: {error}");
    }
    if let Err(error) = fixed {
        log::warn!("memory that large requests took may stay taken: {error}");
    }
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        log::debug!("a TLS provider was installed before");
    }
    let signals = StopSignals::listen()?;
    actix::System::new().block_on(async {
        let code = match serve::run(serve, &config, &redaction, &signals).await {
            Ok(()) => 0,
            Err(error) => {
                service_log::tell(&format!("harness: {error}\n"));
                error.exit_code()
            }
        };
        service_log::flush();
        // The end of the system would wait for threads that wait for a hanging file system or a
        // slow look-up of a name.
        std::process::exit(code)
    })
}

/// The exit code of a command that only prints.
fn printed(result: Result<(), ShellFileError>) -> i32 {
    result.map_or_else(
        |error| {
            drop(writeln!(std::io::stderr(), "harness: {error}"));
            error.exit_code()
        },
        |()| 0,
    )
}

/// Looks at the journals; the exit code.
fn examine_journals(examine: &Examine, home: &HomeFlag) -> i32 {
    doctor::run(examine, home).unwrap_or_else(|error| {
        let code = error.exit_code();
        if code != 0 {
            drop(writeln!(std::io::stderr(), "harness: {error}"));
        }
        code
    })
}

/// Looks at the file of a workflow, or asks a service about one; the exit code.
fn work(workflow: &Workflow, home: &HomeFlag, color: ColorFlag) -> i32 {
    workflow::run(workflow, home, color).unwrap_or_else(|error| {
        let code = error.exit_code();
        if code != 0 {
            drop(writeln!(std::io::stderr(), "harness: {error}"));
        }
        code
    })
}

/// Attaches if there is a terminal. Returns the exit code.
fn attach_alone(alone: &Alone, home: &HomeFlag, color: ColorFlag) -> i32 {
    let is_seen = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_seen && !alone.attach.is_plain() {
        drop(write!(std::io::stderr(), "{}", Cli::help()));
        return 2;
    }
    client::run_alone(&alone.attach, alone.demo, home, color)
}

fn show_version(show: &ShowVersion) -> Result<(), ShellFileError> {
    cli::shell_files::write(show.line().as_bytes())?;
    Ok(())
}

fn show_config(show: &ShowConfig) -> Result<(), ServiceError> {
    let config = LoadedConfig::from_process(&show.settings)?;
    let running = client::beside(&config);
    let text = if show.json {
        config.as_json(running.as_ref())
    } else {
        config.as_table(running.as_ref())
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
