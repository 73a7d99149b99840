//! Workflows over HTTP: who says what is done, and what tampering comes to. Each test is named after its case.

mod guards;
mod hostile;
mod outputs;
mod progress;
mod tally;
mod tampering;
mod verdicts;
