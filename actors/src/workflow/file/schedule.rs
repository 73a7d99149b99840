//! Reads the schedule of a workflow from its file.

use super::duration;
use super::problem::FileProblem;
use super::spot::ValueSpot;
use crate::workflow::schedule::{DayTime, DayWindow, Schedule};

/// The schedule of a file. `None` if the file has none.
pub(super) fn schedule(file: &ValueSpot<'_>, problems: &mut Vec<FileProblem>) -> Option<Schedule> {
    let spot = file.get("schedule").filter(ValueSpot::is_table)?;
    let (every, at, window) = (spot.get("every"), spot.get("at"), spot.get("window"));
    if every.is_some() && at.is_some() {
        let message = "`every` and `at` both say when it starts; keep one of them";
        problems.push(spot.problem(message));
    }
    if every.is_none() && at.is_none() && window.is_none() {
        return None;
    }
    let mut told = |spot: &ValueSpot<'_>, message: String| problems.push(spot.problem(message));
    let mut times = Vec::new();
    for spot in spot.items("at") {
        match spot
            .as_text()
            .map(|text| DayTime::try_from(text.to_owned()))
        {
            Some(Ok(time)) => times.push(time),
            Some(Err(message)) => told(&spot, message),
            None => {}
        }
    }
    let window = window.and_then(|spot| {
        let window = DayWindow::try_from(spot.as_text()?.to_owned());
        window.map_err(|message| told(&spot, message)).ok()
    });
    let every = every.and_then(|spot| duration::seconds(spot.as_text()?));
    Some(Schedule {
        every_s: every,
        at: times,
        window,
    })
}
