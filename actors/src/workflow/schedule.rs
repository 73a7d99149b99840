//! The times at which a workflow starts by itself, and at which it may work. All times of day are UTC.
//!
//! Invariant: no clock. Times are milliseconds since the Unix epoch, which the caller gives.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The minutes of a day.
const DAY_MINUTES: u64 = 24 * 60;
/// The milliseconds of a minute.
const MINUTE_MS: u64 = 60 * 1000;

/// The schedule of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Time between two starts, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u64>,
    /// The times of day of its starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<DayTime>,
    /// The time of day in which it may work. `None` if it may work at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<DayWindow>,
}

impl Schedule {
    /// The first start after that time. `None` if only a person starts it.
    #[must_use]
    pub fn next_start(&self, now: u64) -> Option<u64> {
        if let Some(every_s) = self.every_s {
            return now.checked_add(every_s.saturating_mul(1000));
        }
        self.at.iter().map(|at| at.next(now)).min()
    }

    /// The first start after `now` in the row of `due`. `None` if only a person starts it.
    #[must_use]
    pub fn start_behind(&self, due: u64, now: u64) -> Option<u64> {
        let Some(every_s) = self.every_s else {
            return self.next_start(now);
        };
        let every = every_s.saturating_mul(1000).max(1);
        let missed = now.saturating_sub(due) / every;
        due.checked_add(every.saturating_mul(missed.saturating_add(1)))
    }

    /// True if the schedule starts the workflow.
    #[must_use]
    pub fn starts(&self) -> bool {
        self.every_s.is_some() || !self.at.is_empty()
    }

    /// True if it may work at that time.
    #[must_use]
    pub fn is_open(&self, now: u64) -> bool {
        self.window.is_none_or(|window| window.holds(now))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let every = self
            .every_s
            .map(|s| format!("starts every {}", super::file::duration::text(s)));
        let at: Vec<String> = self.at.iter().map(ToString::to_string).collect();
        let at = (!at.is_empty()).then(|| format!("starts at {} UTC", at.join(", ")));
        let window = self.window.map(|own| format!("works in {own} UTC"));
        let said: Vec<String> = [every, at, window].into_iter().flatten().collect();
        f.write_str(&said.join(", "))
    }
}

/// A time of day, as in `03:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DayTime {
    minute: u16,
}

impl DayTime {
    /// The next time that it is that time of day, after `now`.
    #[must_use]
    pub fn next(self, now: u64) -> u64 {
        let day_ms = DAY_MINUTES * MINUTE_MS;
        let midnight = now - now % day_ms;
        let today = midnight + u64::from(self.minute) * MINUTE_MS;
        if today > now { today } else { today + day_ms }
    }
}

impl TryFrom<String> for DayTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let said = || format!("{text:?} is no time of day; write it like \"03:30\"");
        let (hour, minute) = text.split_once(':').ok_or_else(said)?;
        let number = |part: &str, most: u16| -> Option<u16> {
            let is_two = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|number| is_two && *number <= most)
        };
        let hour = number(hour, 23).ok_or_else(said)?;
        let minute = number(minute, 59).ok_or_else(said)?;
        Ok(Self {
            minute: hour * 60 + minute,
        })
    }
}

impl fmt::Display for DayTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minute / 60, self.minute % 60)
    }
}

impl From<DayTime> for String {
    fn from(time: DayTime) -> Self {
        time.to_string()
    }
}

/// A part of every day, as in `22:00-06:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DayWindow {
    from: DayTime,
    to: DayTime,
}

impl DayWindow {
    /// True if that time is in the window. Its first minute is, its last one is not.
    #[must_use]
    pub fn holds(self, now: u64) -> bool {
        let minute = now / MINUTE_MS % DAY_MINUTES;
        let (from, to) = (u64::from(self.from.minute), u64::from(self.to.minute));
        if from < to {
            (from..to).contains(&minute)
        } else {
            minute >= from || minute < to
        }
    }

    /// The next time at which it opens or closes.
    #[must_use]
    pub fn next_edge(self, now: u64) -> u64 {
        self.from.next(now).min(self.to.next(now))
    }

    /// The time of day at which it opens.
    #[must_use]
    pub fn from(self) -> DayTime {
        self.from
    }
}

impl TryFrom<String> for DayWindow {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let said = || format!("{text:?} is no part of a day; write it like \"22:00-06:00\"");
        let (from, to) = text.split_once('-').ok_or_else(said)?;
        let [from, to] = [from, to].map(|part| DayTime::try_from(part.to_owned()));
        let (Ok(from), Ok(to)) = (from, to) else {
            return Err(said());
        };
        if from == to {
            return Err(format!(
                "{text:?} begins where it ends; leave it out to work at any time"
            ));
        }
        Ok(Self { from, to })
    }
}

impl fmt::Display for DayWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.to)
    }
}

impl From<DayWindow> for String {
    fn from(window: DayWindow) -> Self {
        window.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-25, 00:00 UTC.
    const MIDNIGHT: u64 = 1_795_564_800_000;
    const HOUR: u64 = 60 * MINUTE_MS;

    fn time(text: &str) -> DayTime {
        DayTime::try_from(text.to_owned()).unwrap()
    }

    fn window(text: &str) -> DayWindow {
        DayWindow::try_from(text.to_owned()).unwrap()
    }

    /// Spec: [FLOW-222]
    #[test]
    fn a_time_of_day_comes_once_a_day_in_utc() {
        assert_eq!(MIDNIGHT % (24 * HOUR), 0);
        assert_eq!(time("03:00").next(MIDNIGHT), MIDNIGHT + 3 * HOUR);
        assert_eq!(
            time("03:00").next(MIDNIGHT + 3 * HOUR),
            MIDNIGHT + 27 * HOUR
        );
        assert_eq!(time("00:00").next(MIDNIGHT), MIDNIGHT + 24 * HOUR);
        let two = Schedule {
            every_s: None,
            at: vec![time("21:00"), time("09:30")],
            window: None,
        };
        assert_eq!(
            two.next_start(MIDNIGHT + 10 * HOUR),
            Some(MIDNIGHT + 21 * HOUR)
        );
        assert_eq!(two.to_string(), "starts at 21:00, 09:30 UTC");
        for bad in [
            "3:00", "24:00", "03:60", "03", "03:00:00", "+3:00", "aa:bb", "",
        ] {
            assert!(DayTime::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    /// Spec: [FLOW-222]
    #[test]
    fn what_comes_every_so_often_keeps_its_row_and_missed_starts_are_one() {
        let every = Schedule {
            every_s: Some(3600),
            at: vec![],
            window: None,
        };
        assert_eq!(every.next_start(5), Some(5 + HOUR));
        assert_eq!(every.start_behind(5, 5), Some(5 + HOUR));
        assert_eq!(every.start_behind(5, 5 + 3 * HOUR + 7), Some(5 + 4 * HOUR));
        assert_eq!(every.to_string(), "starts every 1h");
    }

    /// Spec: [FLOW-223]
    #[test]
    fn a_window_may_go_over_midnight() {
        let night = window("22:00-06:00");
        for (hour, holds) in [(21, false), (22, true), (23, true), (0, true), (6, false)] {
            assert_eq!(night.holds(MIDNIGHT + hour * HOUR), holds, "{hour}");
        }
        assert_eq!(night.next_edge(MIDNIGHT), MIDNIGHT + 6 * HOUR);
        assert_eq!(night.next_edge(MIDNIGHT + 6 * HOUR), MIDNIGHT + 22 * HOUR);
        let day = window("09:00-17:00");
        assert!(day.holds(MIDNIGHT + 9 * HOUR) && !day.holds(MIDNIGHT + 17 * HOUR));
        for bad in ["9-17", "09:00", "09:00-09:00", "09:00-25:00", ""] {
            assert!(DayWindow::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
