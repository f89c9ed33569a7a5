//! Receiver-driven credit (rules GR).
//!
//! ```text
//!  contexts below their limit ─> [ queue, each once ] ─> head: q packets if credit allows ─> tail
//!  outstanding = granted bytes not yet arrived, over all open contexts
//! ```

use std::collections::VecDeque;

use tessera_abi::params::{BLOCK_PACKETS, WINDOW_PACKETS};
use tessera_abi::wire;

/// How far a context may be granted now.
//= GR-2
pub fn limit(count: u32, cumulative: u32) -> u32 {
    count.min(cumulative / BLOCK_PACKETS * BLOCK_PACKETS + WINDOW_PACKETS)
}

/// Bytes of packets `from .. to` of a message.
pub fn bytes(length: u32, payload_log2: u8, from: u32, to: u32) -> u64 {
    if to <= from {
        return 0;
    }
    let last = wire::payload_len(length, payload_log2, to - 1) as u64;
    (((to - 1 - from) as u64) << payload_log2) + last
}

/// The credit of one NIC.
#[derive(Clone, Debug, Default)]
pub struct Credit {
    outstanding: u64,
    queue: VecDeque<u32>,
}

impl Credit {
    /// Granted bytes not yet arrived.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Bytes newly granted.
    //= GR-1
    pub fn grant(&mut self, bytes: u64) {
        self.outstanding += bytes;
    }

    /// Bytes arrived, or returned by an end.
    pub fn settle(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.outstanding, "more credit returned than granted");
        self.outstanding -= bytes;
    }

    /// Whether `q` packets may be granted.
    //= GR-2
    pub fn allows(&self, packets: u32, payload_log2: u8, credit_limit: u32) -> bool {
        self.outstanding == 0 || self.outstanding + ((packets as u64) << payload_log2) <= credit_limit as u64
    }

    /// Queues a context.
    pub fn enqueue(&mut self, context: u32) {
        self.queue.push_back(context);
    }

    /// The context whose turn it is.
    pub fn head(&self) -> Option<u32> {
        self.queue.front().copied()
    }

    /// Takes the head out.
    pub fn dequeue(&mut self) -> Option<u32> {
        self.queue.pop_front()
    }

    /// Takes a context that ended out.
    pub fn forget(&mut self, context: u32) {
        self.queue.retain(|&queued| queued != context);
    }

    /// Contexts waiting.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_the_short_last_packet() {
        assert_eq!(bytes(1000, 8, 0, 4), 1000);
        assert_eq!(bytes(1000, 8, 3, 4), 232);
        assert_eq!(bytes(1000, 8, 1, 3), 512);
        assert_eq!(bytes(0, 8, 0, 1), 0);
        assert_eq!(bytes(1000, 8, 2, 2), 0);
    }

    #[test]
    fn limits_keep_to_the_window() {
        assert_eq!(limit(100, 0), 100);
        assert_eq!(limit(5000, 255), 1024);
        assert_eq!(limit(5000, 256), 1280);
    }
}
