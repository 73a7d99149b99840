//! `harness doctor`: looks at every journal of a state folder, and repairs those that are damaged
//! with `--repair`. Needs no service.

#[cfg(target_os = "linux")]
mod sandbox;
mod workflows;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use derive_more::{Display, Error, From};
use harness_actors::journal::{
    AttachmentsReport, Doctor, FolderAttachments, JournalReport, OpenError,
};
use harness_actors::storage::StorageError;
use harness_actors::{Clock, ConversationId};
use serde_json::{Value, json};

use crate::cli::exit_codes::exits;
use crate::config::{ClientConfig, HomeFlag, SettingError};
use crate::state_dir::{StateError, StateFolder};

const HELP: &str = "\
Examples:
  harness doctor                       look at every journal
  harness doctor --repair              repair what is damaged, while no service runs
  harness doctor --sandbox             what contains commands on this machine, and what not

A damaged part stays in its journal until it is repaired: the service skips it, tells clients of
the gap, and keeps a copy beside the journal. A repair makes the journal anew from the records that
can be read, under a new epoch, and keeps the old file as `<id>.<epoch>.archive`.";

/// Why the journals could not be looked at or repaired.
#[derive(Debug, Display, Error, From)]
pub(crate) enum DoctorError {
    /// A setting cannot be used.
    Config(SettingError),
    /// The state folder cannot be used.
    State(StateError),
    /// There is nothing to look at.
    #[display("{} is not a folder; name the state folder with --home or HARNESS_HOME", folder.display())]
    #[from(skip)]
    NoFolder {
        /// Where the journals should be.
        folder: PathBuf,
    },
    /// The journals cannot be listed.
    #[display("{_0}; check the folder and its permissions")]
    Storage(StorageError),
    /// The result cannot be written.
    #[display("cannot write to standard output: {_0}")]
    Output(io::Error),
}

impl DoctorError {
    /// The exit code: 2 for wrong use, 1 for a failure. A reader that has seen enough and left is
    /// no failure.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Config(_) => 2,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::State(_) | Self::NoFolder { .. } | Self::Storage(_) | Self::Output(_) => 1,
        }
    }
}

/// The flags of `harness doctor`.
#[derive(Debug, Args)]
#[command(after_help = exits(HELP, "all journals are in order, or were repaired", "a journal or an attachment is damaged, or could not be repaired", None))]
pub(crate) struct Examine {
    /// Repair what is damaged; the files are kept as they were
    #[arg(long)]
    repair: bool,
    /// Print a JSON object with `items`: one a journal, a damaged attachment and a repair
    #[arg(long)]
    json: bool,
    /// Try what contains commands on this machine, and print what holds, instead
    #[arg(long, conflicts_with = "repair")]
    sandbox: bool,
}

/// Looks at all journals; the exit code.
///
/// # Errors
/// If the state folder cannot be used.
pub(crate) fn run(examine: &Examine, home: &HomeFlag) -> Result<i32, DoctorError> {
    if examine.sandbox {
        return examine_sandbox(examine.json);
    }
    let home = ClientConfig::from_process(home)?.home;
    let folder = home.join("conversations");
    match std::fs::symlink_metadata(&folder) {
        Ok(found) if found.is_dir() => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound && home.is_dir() => {
            if examine.json {
                writeln!(io::stdout(), "{}", as_list(&[]))?;
            } else {
                let home = home.display();
                writeln!(io::stdout(), "there are no conversations in {home}")?;
            }
            return Ok(0);
        }
        Ok(_) | Err(_) => return Err(DoctorError::NoFolder { folder }),
    }
    let mut doctors = vec![Doctor::at(&home, Clock::system())];
    if home.join("workflows").is_dir() {
        doctors.push(Doctor::of_workflows(&home, Clock::system()));
    }
    let reports: Vec<Vec<JournalReport>> = doctors
        .iter()
        .map(Doctor::inspect)
        .collect::<Result<_, _>>()?;
    let mut out = io::stdout().lock();
    let attachments = FolderAttachments::inspect(&home)?;
    let mut told = DoctorOutput {
        items: examine.json.then(Vec::new),
        out: &mut out,
    };
    let code = examine_all(
        examine,
        &home,
        (&doctors, &reports, &attachments),
        &mut told,
    );
    told.end()?;
    code
}

/// Tells of all that was looked at, and repairs what is to be repaired; the exit code.
fn examine_all(
    examine: &Examine,
    home: &Path,
    (doctors, reports, attachments): (&[Doctor], &[Vec<JournalReport>], &AttachmentsReport),
    told: &mut DoctorOutput<'_>,
) -> Result<i32, DoctorError> {
    tell_attachments(attachments, told)?;
    let lost = i32::from(!attachments.damaged.is_empty());
    let mut harmed = 0;
    for report in reports.iter().flatten() {
        harmed += usize::from(!is_sound(report));
        told.tell(|| as_json(report), || as_text(report))?;
    }
    for report in reports.iter().skip(1).flatten() {
        tell_ignored(report, told)?;
    }
    let journals = match reports.iter().flatten().count() {
        1 => "1 journal".to_owned(),
        count => format!("{count} journals"),
    };
    told.sum_up(&format!("{journals}, {harmed} damaged"))?;
    if harmed == 0 {
        return Ok(lost);
    }
    if !examine.repair {
        drop(writeln!(
            io::stderr(),
            "harness: run `harness doctor --repair` while no service runs to repair them"
        ));
        return Ok(1);
    }
    let _lock = StateFolder::open(home)?.lock()?;
    let mut code = lost;
    for (doctor, reports) in doctors.iter().zip(reports) {
        code = code.max(repair(doctor, reports, told)?);
    }
    Ok(code)
}

/// The output of each thing: a line, or an item of a list that is printed in the end.
struct DoctorOutput<'o> {
    items: Option<Vec<Value>>,
    out: &'o mut dyn io::Write,
}

impl DoctorOutput<'_> {
    fn tell(&mut self, item: impl Fn() -> Value, line: impl Fn() -> String) -> io::Result<()> {
        match &mut self.items {
            Some(items) => items.push(item()),
            None => writeln!(self.out, "{}", line())?,
        }
        Ok(())
    }

    /// Tells what all lines come to, which programs count themselves.
    fn sum_up(&mut self, line: &str) -> io::Result<()> {
        match self.items {
            Some(_) => Ok(()),
            None => writeln!(self.out, "{line}"),
        }
    }

    fn end(self) -> io::Result<()> {
        match self.items {
            Some(items) => writeln!(self.out, "{}", as_list(&items)),
            None => Ok(()),
        }
    }
}

fn as_list(items: &[Value]) -> Value {
    json!({ "items": items })
}

#[cfg(target_os = "linux")]
fn examine_sandbox(as_json: bool) -> Result<i32, DoctorError> {
    Ok(sandbox::run(as_json, &mut io::stdout().lock())?)
}

/// Elsewhere no command is run.
#[cfg(not(target_os = "linux"))]
fn examine_sandbox(_: bool) -> Result<i32, DoctorError> {
    writeln!(io::stdout(), "commands are run on Linux only")?;
    Ok(1)
}

/// Names the attachments that are not what was kept. Nothing here can mend them: their contents
/// are nowhere else.
fn tell_attachments(
    AttachmentsReport { kept, damaged }: &AttachmentsReport,
    told: &mut DoctorOutput<'_>,
) -> Result<(), DoctorError> {
    for (sha256, error) in damaged {
        let reason = &error.reason;
        told.tell(
            || json!({ "attachment": sha256, "error": reason }),
            || format!("attachment {sha256}: {reason}; send the file again to mend it"),
        )?;
    }
    if *kept > 0 {
        let damaged = damaged.len();
        told.sum_up(&format!("attachments: {kept}, {damaged} damaged"))?;
    }
    Ok(())
}

/// Names what a workflow's journal has twice. It harms nothing: the first result counts.
fn tell_ignored(report: &JournalReport, told: &mut DoctorOutput<'_>) -> Result<(), DoctorError> {
    if report.error.is_some() {
        return Ok(());
    }
    let ignored = workflows::ignored(&report.path).map_err(|error| StorageError {
        doing: "read".to_owned(),
        path: report.path.display().to_string(),
        reason: error.to_string(),
    })?;
    for one in ignored {
        let line = workflows::line(&report.id, &one);
        told.tell(
            || json!({"id": report.id, "ignored": line}),
            || line.clone(),
        )?;
    }
    Ok(())
}

/// Repairs what is damaged, as the only one who uses the folder.
fn repair(
    doctor: &Doctor,
    reports: &[JournalReport],
    told: &mut DoctorOutput<'_>,
) -> Result<i32, DoctorError> {
    let mut code = 0;
    for report in reports.iter().filter(|report| !is_sound(report)) {
        let JournalReport { id, .. } = report;
        match doctor.repair(&ConversationId::new(id)) {
            Ok(repaired) => {
                let (records, archive) = (repaired.records, &repaired.archive);
                told.tell(
                    || json!({ "id": id, "repaired": records, "archive": archive }),
                    || {
                        let archive = archive.display();
                        format!("{id}: repaired, {records} records; as it was: {archive}")
                    },
                )?;
            }
            Err(error) => {
                code = 1;
                drop(writeln!(io::stderr(), "harness: {}: {error}", report.id));
            }
        }
    }
    Ok(code)
}

/// Whether there is nothing to repair. The next prompt mends a torn end by itself.
fn is_sound(report: &JournalReport) -> bool {
    report.error.is_none() && report.damaged_parts == 0 && report.misplaced.is_none()
}

fn as_text(report: &JournalReport) -> String {
    let JournalReport {
        id,
        records,
        damaged_parts,
        damaged_bytes,
        misplaced,
        torn_bytes,
        error,
        ..
    } = report;
    let mut text = match error {
        Some(error) => return format!("{id}: {error}"),
        None if *damaged_parts == 0 => format!("{id}: {records} records, in order"),
        None => format!(
            "{id}: {records} records, {damaged_parts} damaged parts of {damaged_bytes} bytes"
        ),
    };
    if let Some(misplaced) = misplaced {
        text += &format!(
            "; record {misplaced} stands before the last one, so that nothing can be added"
        );
    }
    if *torn_bytes > 0 {
        text += &format!("; {torn_bytes} bytes of a torn record at the end");
    }
    text
}

fn as_json(report: &JournalReport) -> Value {
    json!({
        "id": report.id,
        "path": report.path,
        "records": report.records,
        "damaged_parts": report.damaged_parts,
        "damaged_bytes": report.damaged_bytes,
        "misplaced": report.misplaced,
        "torn_bytes": report.torn_bytes,
        "error": report.error.as_ref().map(OpenError::to_string),
    })
}
