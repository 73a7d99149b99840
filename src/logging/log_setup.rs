//! Log lines: one record a line and no secret in it, whatever a record holds.

use std::io::Write as _;

use env_logger::{Builder, Target};
use harness_actors::{Clock, Redaction};
use log::Level;

use crate::logging::utc::utc;
use crate::visible;

/// Starts logging. `filter` is in the format of `RUST_LOG`.
pub(crate) fn start(filter: &str, target: Target, redaction: Redaction) {
    let mut builder = Builder::new();
    builder.parse_filters(filter).target(target);
    builder.format(move |line, record| {
        let time = utc(Clock::system().unix_millis());
        let (level, target) = (record.level(), record.target());
        // An MCP server could fill the log by what this library warns of. Its failures are in results and in the list.
        if target.starts_with("rmcp") {
            return Ok(());
        }
        // The finer records of libraries hold whole requests, with keys and tokens in them.
        if level > Level::Warn && !target.starts_with("harness") {
            return Ok(());
        }
        // Foreign text could otherwise forge records or steer the terminal.
        let text = visible::line(&redaction.apply(record.args().to_string()));
        writeln!(line, "{time} {level:5} {target}: {text}")
    });
    builder.init();
}
