//! A launcher for programs that embed this crate and contain nothing.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use harness_protocol::{Access, Backend};

use super::launch::{Contained, Launch, LaunchOrder, Launcher};

/// Starts a program in a session of its own, ends it when the input says so or ends, and reports how that
/// went: what the service's own launcher does, without a sandbox.
const WARDEN: &str = r#"
if ! command -v -- "$1" >/dev/null; then
  echo '{"failed":"it cannot be started: there is no such program"}' >&2
  exit
fi
exec 3<&0
setsid "$@" </dev/null 2>&1 3<&- &
pid=$!
(
  while read -r line <&3; do kill -TERM -- "-$pid"; done
  kill -KILL -- "-$pid" "$pid"
) >/dev/null 2>&1 &
watcher=$!
wait "$pid" 2>/dev/null
code=$?
kill -KILL -- "-$pid" 2>/dev/null
kill -KILL "$watcher" 2>/dev/null
if [ "$code" -gt 128 ]; then
  echo "{\"ended\":{\"signal\":$((code - 128))}}" >&2
else
  echo "{\"ended\":{\"code\":$code}}" >&2
fi
"#;

/// Starts commands unchanged, by `bash` and `setsid`, which it needs: nothing contains them. What a command
/// started is ended with it, but not what began a session of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlainLauncher;

impl Launcher for PlainLauncher {
    fn containment(&self, _: Access, _: bool, _: &Path) -> Result<Contained, String> {
        Ok(Contained {
            backend: Backend::None,
            is_held: false,
            gaps: Vec::new(),
            answers_itself: true,
        })
    }

    fn launch(&self, order: &LaunchOrder) -> io::Result<Launch> {
        if order.has_pipes {
            return Err(io::Error::other(
                "this launcher starts no program that is talked with",
            ));
        }
        let mut process = Command::new("bash");
        process
            .args(["--norc", "--noprofile", "-c", WARDEN, "warden"])
            .args(&order.program)
            .current_dir(&order.folder)
            .env_clear()
            .envs(order.environment.iter().cloned())
            .process_group(0);
        Ok(Launch {
            process,
            order: Vec::new(),
            descriptors: Arc::default(),
            is_emptied: false,
            running: None,
        })
    }
}
