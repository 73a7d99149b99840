//! `GET /readyz`: whether the service can take work.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use harness_actors::blocking;
use serde_json::json;

use super::problem::{HandlerResult, Kind};
use super::shared::HttpShared;
use crate::state_dir::StateFolder;

/// Time within which the disk has to take a file.
const LIMIT: Duration = Duration::from_secs(5);

/// Reports that the state folder can be written, as each journal has to be: a file was made there, flushed and removed.
pub(super) async fn readyz(shared: web::Data<HttpShared>) -> HandlerResult {
    let refuse = |reason: &dyn ToString| {
        let reason = reason.to_string();
        Kind::NotReady.refuse(format!("the state folder cannot be written: {reason}"))
    };
    let is_trying = Arc::clone(&shared.tries_disk);
    if is_trying.swap(true, Ordering::AcqRel) {
        return Err(refuse(&"an earlier look has no answer from the disk yet"));
    }
    let state = shared.state.clone();
    let trial = blocking(move || {
        let written = write_and_remove(&state);
        is_trying.store(false, Ordering::Release);
        written
    });
    let tried = tokio::time::timeout(LIMIT, trial).await;
    let tried = tried.map_err(|_| refuse(&format!("no answer in {} s", LIMIT.as_secs())))?;
    let written = tried.map_err(|error| Kind::Overloaded.refuse(error.to_string()))?;
    written.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(json!({"status": "ready"})))
}

fn write_and_remove(state: &StateFolder) -> io::Result<()> {
    if !state.is_there() {
        return Err(io::Error::other("it is not at its path"));
    }
    let path = state
        .path
        .join(format!(".ready-{:016x}", fastrand::u64(..)));
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    let written = file.write_all(b"1").and_then(|()| file.sync_data());
    fs::remove_file(&path)?;
    written
}
