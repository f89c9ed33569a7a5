//! How a plan is run.

use serde::{Deserialize, Serialize};

use crate::Ps;

/// When a rank begins its next iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// When its own is over.
    #[default]
    Own,
    /// When all are over.
    Barrier,
}

/// How a plan is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Times.
    pub iterations: u32,
    /// Messages that a rank may have under way, posted and not acknowledged.
    pub window: Option<u32>,
    /// What a next iteration waits for.
    pub between: Between,
    /// When the first begins.
    pub start: Ps,
    /// How long each rank computes in between.
    pub compute: Ps,
    /// Up to so much longer, drawn for each, and before the first as well.
    pub jitter: Ps,
    /// Whether receivers are told of rounds.
    pub rounds: bool,
    /// Which process of each host takes part.
    pub process: u32,
    /// Whether every message's record is kept.
    pub keep: bool,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Default for Options {
    /// Once, with rounds, all at once, records kept.
    fn default() -> Self {
        Self {
            iterations: 1,
            window: None,
            between: Between::Own,
            start: 0,
            compute: 0,
            jitter: 0,
            rounds: true,
            process: 0,
            keep: true,
            seed: 1,
        }
    }
}
