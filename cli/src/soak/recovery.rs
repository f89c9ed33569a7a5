//! Software of a host that recovers messages itself: polls the chunk areas of
//! its receives, asks for what does not come, and now and then ends a message as
//! it is.

use std::ops::Range;

use tessera_abi::params::BLOCK_PACKETS;
use tessera_driver::{ChunkOptions, ChunkWatch, ChunkedMessage, Context};
use tessera_sim::tb::Rng;

use super::draw::Recovery;
use super::round::Violated;

/// The receives of one ring, by place.
pub struct Software {
    options: ChunkOptions,
    /// Polls without news after which it asks.
    patience: u32,
    /// How often it ends a message instead.
    partial: f64,
    watched: Vec<Option<Watched>>,
    pub orders: u64,
}

struct Watched {
    watch: ChunkWatch,
    message: Option<ChunkedMessage>,
    /// Packets of incomplete chunks, and polls for which that held.
    missing: usize,
    quiet: u32,
}

/// What a receive that ended held.
pub struct Outcome {
    pub message: Option<ChunkedMessage>,
    /// Packets whose chunks the area does not tell of.
    pub missing: Vec<Range<u32>>,
}

impl Software {
    pub fn new(recovery: &Recovery, places: usize) -> Self {
        let &Recovery { chunk, most_packets, patience, partial, .. } = recovery;
        let options = ChunkOptions { packets_per_chunk: chunk, most_packets };
        Self { options, patience, partial, watched: (0..places).map(|_| None).collect(), orders: 0 }
    }

    pub fn options(&self) -> &ChunkOptions {
        &self.options
    }

    /// A receive was posted.
    pub fn watch(&mut self, place: usize, watch: ChunkWatch) {
        self.watched[place] = Some(Watched { watch, message: None, missing: usize::MAX, quiet: 0 });
    }

    /// A receive has ended.
    pub fn ended(&mut self, place: usize) -> Option<Outcome> {
        let Watched { watch, .. } = self.watched[place].take()?;
        let message = watch.message();
        let missing = message.as_ref().map(|message| watch.missing(message)).unwrap_or_default();
        Some(Outcome { message, missing })
    }

    /// One look at every area.
    pub fn work(&mut self, context: &Context, rng: &mut Rng) -> Result<(), Violated> {
        for watched in self.watched.iter_mut().flatten() {
            let Some(message) = watched.message.or_else(|| watched.watch.message()) else { continue };
            watched.message = Some(message);
            let runs = watched.watch.missing(&message);
            let missing = runs.iter().map(Range::len).sum();
            if missing > watched.missing {
                return Err(Violated::new(format!("chunks of {message:?} were taken back")));
            }
            watched.quiet = if missing == watched.missing { watched.quiet + 1 } else { 0 };
            watched.missing = missing;
            if watched.quiet < self.patience {
                continue;
            }
            watched.quiet = 0;
            self.orders += 1;
            if rng.chance(self.partial) {
                context.complete_partially(&message)?;
                continue;
            }
            // The block of the first hole, now and then of another; up to its end or to
            // somewhere inside. What is whole is asked for too: that does nothing.
            let at = if runs.is_empty() || rng.chance(0.2) {
                rng.below(message.packets.into()) as u32
            } else if rng.chance(0.5) {
                runs[0].start
            } else {
                runs[rng.below(runs.len() as u64) as usize].start
            };
            let end = (at / BLOCK_PACKETS + 1) * BLOCK_PACKETS;
            let limit = if rng.chance(0.8) { end } else { at + 1 };
            context.request_retransmission(&message, limit)?;
        }
        Ok(())
    }
}
