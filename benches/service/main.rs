//! The service's part of a reply's time beside the model's own, compared with a bare baseline of
//! the same run.
//!
//! `just bench service`, or one part of it: `just bench service seam`. The parts are `decoding`, `machine`,
//! `asking`, `delivery`, `keeping`, `crowd`, `stalled`, `seam`, `long`, `rounds`, `changes`, `commands`, `together`, `trees`,
//! `workflow` and `terminal`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints what it measured with the real clock, and stops at any failure"
)]

mod asking;
mod baseline;
mod changes;
mod commands;
mod crowd;
mod delivery;
mod keeping;
mod long;
mod process;
mod rounds;
mod seam;
mod terminal;
mod together;
mod trees;
mod workflow;

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use harness_actors::conversation::messages::SubmitPrompt;
use harness_actors::conversation::{Defaults, Effect, Input, Ledger, Machine, Planner};
use harness_actors::model::messages::ModelEvent;
use harness_actors::model::{AssembledStep, Assembler, Caching, SseLines};
use harness_actors::tool::ToolOutcome;
use harness_actors::tool::messages::ToolEvent;
use harness_actors::{Block, CallId, ConversationId, Object, ReplyEnd};

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 16] = [
        ("decoding", decoding),
        ("machine", machine),
        ("asking", asking::run),
        ("delivery", delivery::run),
        ("keeping", keeping::run),
        ("crowd", crowd::run),
        ("stalled", crowd::run_beside_stalled),
        ("seam", seam::run),
        ("long", long::run),
        ("rounds", rounds::run),
        ("changes", changes::run),
        ("commands", commands::run),
        ("together", together::run),
        ("trees", trees::run),
        ("workflow", workflow::run),
        ("terminal", terminal::run),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            part();
        }
    }
}

/// A stream of text deltas of a usual size.
fn stream(deltas: usize) -> Vec<u8> {
    let delta = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some words of text \"}}\n\n";
    let mut stream = String::from(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n",
    );
    stream += "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    for _ in 0..deltas {
        stream += "event: content_block_delta\n";
        stream += delta;
    }
    stream += "data: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    stream.into_bytes()
}

/// From the network's bytes to finished blocks, beside only finding the line ends.
fn decoding() {
    let stream = stream(200_000);
    let megabytes = stream.len() as f64 / 1e6;
    for size in [160, 16 * 1024] {
        let chunks: Vec<Bytes> = stream.chunks(size).map(Bytes::copy_from_slice).collect();
        let rate = best_of(5, || {
            let mut lines = SseLines::default();
            let mut assembler = Assembler::default();
            let mut blocks = 0;
            for chunk in &chunks {
                let mut chunk = chunk.clone();
                while let Some(event) = lines.next(&mut chunk).unwrap() {
                    let step = assembler.take(&event.event, &event.data).unwrap();
                    blocks += usize::from(matches!(step, AssembledStep::Block(..)));
                }
            }
            assert_eq!(blocks, 1);
        });
        let bare = best_of(5, || {
            let lines: usize = chunks
                .iter()
                .map(|chunk| chunk.iter().filter(|byte| **byte == b'\n').count())
                .sum();
            assert!(black_box(lines) > 0);
        });
        println!(
            "decoding and assembling, chunks of {size:>5} bytes: {:>7.0} MB/s ({:.0} MB/s for counting lines)",
            megabytes / rate,
            megabytes / bare
        );
    }
}

/// Runs of one tool call each in one conversation, with the messages of each request: the last
/// runs must not cost more than the first.
fn machine() {
    const RUNS: usize = 20_000;
    const PART: usize = RUNS / 10;
    let mut defaults = Defaults::new("m", 10);
    // Nobody here knows what the model takes.
    defaults.settings.auto_compact = false;
    let planner = Planner::new(defaults);
    let mut machine = Machine::new(ConversationId::new("bench"), planner, Ledger::default(), 0);
    let mut parts = Vec::new();
    let mut began = Instant::now();
    for number in 0..RUNS {
        run(&mut machine, number);
        if (number + 1) % PART == 0 {
            parts.push(began.elapsed().as_secs_f64());
            began = Instant::now();
        }
    }
    let rate = |seconds: f64| (PART * 6) as f64 / seconds;
    println!(
        "machine: {:.0} steps/s in the first {PART} runs of a conversation, {:.0} steps/s in the last {PART} of {RUNS}",
        rate(parts[0]),
        rate(parts[parts.len() - 1])
    );
    let messages = best_of(3, || {
        drop(black_box(machine.history().pieces(Caching::default())));
    });
    println!(
        "machine: {:.2} ms to put a request of {RUNS} runs together",
        messages * 1e3
    );
}

fn run(machine: &mut Machine, number: usize) {
    let prompt = SubmitPrompt {
        content: "a prompt".to_owned(),
        ..SubmitPrompt::default()
    };
    let Ok((_, effects)) = machine.order(prompt, |_| Ok(())) else {
        unreachable!("the machine is idle");
    };
    let call = model_call(&effects);
    let block = Block::tool_call(&format!("t{number}"), "read", Object::new());
    step(machine, block_finished(&call, block));
    let effects = step(machine, finished(&call));
    let Some(Effect::RunTool(call_id, ..)) = effects.last() else {
        unreachable!("the machine runs the tool");
    };
    let event = ToolEvent::Finished {
        call_id: call_id.clone(),
        outcome: ToolOutcome::from(Ok("{}".to_owned())),
    };
    let call = model_call(&step(machine, Input::Tool(event)));
    step(machine, block_finished(&call, Block::text("an answer")));
    step(machine, finished(&call));
}

fn step(machine: &mut Machine, input: Input) -> Vec<Effect> {
    black_box(machine.handle(input))
}

fn model_call(effects: &[Effect]) -> CallId {
    let call = effects.iter().find_map(|effect| match effect {
        Effect::CallModel(call_id) => Some(call_id.clone()),
        _ => None,
    });
    call.expect("the machine asks the model")
}

fn block_finished(call_id: &CallId, block: Block) -> Input {
    Input::Model(ModelEvent::BlockFinished {
        call_id: call_id.clone(),
        index: 0,
        block,
    })
}

fn finished(call_id: &CallId) -> Input {
    Input::Model(ModelEvent::Finished {
        call_id: call_id.clone(),
        end: ReplyEnd::default(),
    })
}

/// The shortest time of several runs, in seconds.
fn best_of(runs: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}
