//! The amount of thinking, in the words that a model takes.
//!
//! The API's description of a model decides. Where it has none, the generation in the model's id
//! does.
//!
//! Source: the API's documentation of adaptive thinking, of extended thinking and of effort, and
//! its migration guides, to November 2026.

use harness_protocol::ThinkingLevel;

use super::ModelInfo;

/// The efforts of the API, from least to most.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
/// The smallest number of tokens that a model can be given to think.
const MIN_BUDGET: u32 = 1024;
/// Size of a reply that a thinking budget leaves room for, if it can, in tokens.
const REPLY_TOKENS: u32 = 1024;

/// The way in which a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingWay {
    /// As much as it finds right.
    Adaptive,
    /// With a number of tokens that the request sets.
    Budget,
    /// Not at all.
    Never,
}

/// The way in which thinking is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Off {
    /// It thinks only when asked to.
    Unasked,
    /// It stops when the request disables thinking.
    Disabled,
    /// It always thinks; the lowest effort is as close as it gets.
    Lowest,
}

/// The ways in which a model takes a level of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ability {
    way: ThinkingWay,
    /// True for each of [`EFFORTS`] that the model knows.
    efforts: [bool; 5],
    off: Off,
}

/// The parts of a request that make a model think so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ThinkingFields {
    /// The way.
    thinking: RequestedThinking,
    /// The value of `output_config.effort`.
    pub(super) effort: Option<&'static str>,
}

/// The field `thinking` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RequestedThinking {
    /// No such field.
    #[default]
    Unset,
    Disabled,
    Adaptive,
    /// With so many tokens.
    Enabled(u32),
}

impl ThinkingFields {
    /// The field `thinking` with a comma in front; empty for none.
    pub(super) fn thinking(self) -> String {
        match self.thinking {
            RequestedThinking::Unset => String::new(),
            RequestedThinking::Disabled => r#","thinking":{"type":"disabled"}"#.to_owned(),
            RequestedThinking::Adaptive => {
                r#","thinking":{"type":"adaptive","display":"summarized"}"#.to_owned()
            }
            RequestedThinking::Enabled(budget) => {
                format!(r#","thinking":{{"type":"enabled","budget_tokens":{budget}}}"#)
            }
        }
    }

    /// True if the model thinks.
    pub(super) fn thinks(self) -> bool {
        match self.thinking {
            RequestedThinking::Unset | RequestedThinking::Disabled => false,
            RequestedThinking::Adaptive | RequestedThinking::Enabled(_) => true,
        }
    }
}

/// True if the id of a model does not exclude a temperature. The API refuses one for the models of a generation that it
/// leaves out.
pub(super) fn takes_temperature(model: &str) -> bool {
    // Gateways put a prefix before the name.
    let own = model.rfind("claude-").map_or(model, |at| &model[at..]);
    Generation::from_model(own).is_none_or(|generation| generation.version < (4, 7))
}

/// The fields of a request that make a model think so much.
/// `lacks_thinking`: see [`super::RequestHead::request`].
///
/// # Errors
/// Why the level cannot be sent.
pub(super) fn thinking_fields(
    level: ThinkingLevel,
    info: Option<&ModelInfo>,
    model: &str,
    max_tokens: u32,
    lacks_thinking: bool,
) -> Result<ThinkingFields, &'static str> {
    let Ability { way, efforts, off } = ability(info, model).ok_or("how it thinks is not known")?;
    let without_effort = |thinking| ThinkingFields {
        thinking,
        effort: None,
    };
    Ok(match (way, level) {
        (ThinkingWay::Never, ThinkingLevel::Off) => ThinkingFields::default(),
        (ThinkingWay::Never, _) => return Err("it does not think"),
        (_, ThinkingLevel::Off) if off == Off::Unasked => ThinkingFields::default(),
        (_, ThinkingLevel::Off) if off == Off::Disabled => {
            without_effort(RequestedThinking::Disabled)
        }
        (ThinkingWay::Budget, ThinkingLevel::Off) => ThinkingFields::default(),
        (ThinkingWay::Adaptive, level) => ThinkingFields {
            thinking: RequestedThinking::Adaptive,
            effort: effort(level, efforts),
        },
        (ThinkingWay::Budget, level) => match budget(level, max_tokens) {
            None => return Err("max_tokens leaves no room to think"),
            Some(_) if lacks_thinking => return Err("the reply that goes on began without"),
            Some(budget) => ThinkingFields {
                thinking: RequestedThinking::Enabled(budget),
                effort: effort(level, efforts),
            },
        },
    })
}

/// The effort that comes closest to a level: the next one upwards, else downwards. `None` if the model knows none.
fn effort(level: ThinkingLevel, efforts: [bool; 5]) -> Option<&'static str> {
    let wanted = match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => 0,
        ThinkingLevel::Medium => 1,
        ThinkingLevel::High => 2,
        ThinkingLevel::XHigh => 3,
        ThinkingLevel::Max => 4,
    };
    let mut closest = (wanted..EFFORTS.len()).chain((0..wanted).rev());
    let found = closest.find(|index| efforts[*index]);
    found.map(|index| EFFORTS[index])
}

/// Number of tokens of a reply that a level may take for thinking. `None` if there are too few.
fn budget(level: ThinkingLevel, max_tokens: u32) -> Option<u32> {
    let wanted = match level {
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::XHigh | ThinkingLevel::Max => 16384,
    };
    let room = max_tokens.saturating_sub(REPLY_TOKENS);
    let budget = wanted.min(room).max(MIN_BUDGET);
    (budget < max_tokens).then_some(budget)
}

/// The ways of a model, by the API's description, else by its generation.
fn ability(info: Option<&ModelInfo>, model: &str) -> Option<Ability> {
    let known = Generation::from_model(model).and_then(Generation::ability);
    let Some(info) = info else {
        return known;
    };
    let thinking = &info.capabilities.thinking;
    let known_as = |way| known.map(|known| known.way == way);
    let adaptive = thinking.types.adaptive.supported;
    let adaptive = adaptive.or_else(|| known_as(ThinkingWay::Adaptive));
    let budget = thinking.types.enabled.supported;
    let budget = budget.or_else(|| known_as(ThinkingWay::Budget));
    let way = match (thinking.supported, adaptive, budget) {
        (Some(false), _, _) => ThinkingWay::Never,
        (_, Some(true), _) => ThinkingWay::Adaptive,
        (_, _, Some(true)) => ThinkingWay::Budget,
        (_, None, None) => return None,
        (_, _, _) => ThinkingWay::Never,
    };
    let effort = &info.capabilities.effort;
    let reported = [
        effort.low,
        effort.medium,
        effort.high,
        effort.xhigh,
        effort.max,
    ]
    .map(|effort| effort.supported);
    let efforts = match effort.supported {
        Some(false) => [false; 5],
        None if reported == [None; 5] => known.map_or([false; 5], |known| known.efforts),
        _ => reported.map(|effort| effort == Some(true)),
    };
    let off = match (known, way) {
        (Some(known), _) => known.off,
        // Of a model that is too new to be known, leaving it out may mean anything.
        (None, ThinkingWay::Adaptive) => Off::Lowest,
        (None, ThinkingWay::Budget | ThinkingWay::Never) => Off::Unasked,
    };
    Some(Ability { way, efforts, off })
}

/// The family and the version in the id of one of the API's own models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Generation<'a> {
    family: &'a str,
    version: (u32, u32),
}

impl<'a> Generation<'a> {
    /// From ids, for example `claude-3-5-haiku-20241022` and `claude-opus-4-5`.
    fn from_model(model: &'a str) -> Option<Self> {
        let parts = model.strip_prefix("claude-")?.split('-');
        let (numbers, words): (Vec<&str>, Vec<&str>) = parts
            .filter(|part| *part != "latest")
            .partition(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let [family] = words[..] else {
            return None;
        };
        // A number that is longer is a date.
        let mut version = numbers.iter().filter(|number| number.len() <= 2);
        let mut next = || version.next().map(|number| number.parse().ok());
        let major = next()??;
        let minor = next().unwrap_or(Some(0))?;
        next().is_none().then_some(Self {
            family,
            version: (major, minor),
        })
    }

    fn ability(self) -> Option<Ability> {
        let ability = |way, efforts: &[&str], off| Ability {
            way,
            efforts: EFFORTS.map(|effort| efforts.contains(&effort)),
            off,
        };
        let budget = |efforts| Some(ability(ThinkingWay::Budget, efforts, Off::Unasked));
        let adaptive = |efforts, off| Some(ability(ThinkingWay::Adaptive, efforts, off));
        match (self.family, self.version) {
            ("sonnet", (3, 7)) => budget(&[]),
            ("haiku" | "sonnet" | "opus", (3, _)) => {
                Some(ability(ThinkingWay::Never, &[], Off::Unasked))
            }
            ("opus", (4, 5)) => budget(&["low", "medium", "high"]),
            ("haiku" | "sonnet" | "opus", (4, 0..=5)) => budget(&[]),
            ("sonnet" | "opus", (4, 6)) => {
                adaptive(&["low", "medium", "high", "max"], Off::Unasked)
            }
            ("sonnet" | "opus", (4, 7..)) => adaptive(&EFFORTS, Off::Unasked),
            ("sonnet" | "opus", (5, 0..=4)) | ("haiku", (5, _)) => {
                adaptive(&EFFORTS, Off::Disabled)
            }
            ("sonnet" | "opus" | "fable", (5, _)) => adaptive(&EFFORTS, Off::Lowest),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod tests;
