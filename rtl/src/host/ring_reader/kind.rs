//! Which rings a reader reads: those of send entries, or of receives.

use crate::host::registers;
use tessera_abi::{queue, regs};

/// Which ring of an endpoint, and how it is laid out.
pub struct RingKind {
    /// Doorbell of its tail.
    pub doorbell: u64,
    /// Bytes of an entry, log2.
    pub entry_log2: u64,
    /// Table bits that let it be read: both of them, or one of the two.
    pub enable: [(usize, usize); 2],
    /// Both are needed.
    pub both: bool,
    /// Table field of its address.
    pub base: (usize, usize),
    /// Table field of its size.
    pub log2: (usize, usize),
    /// Table bit of rings of which a part is read where there is no room for all that
    /// one visit may read: what stands in them does not only take places, and what
    /// takes none must not wait for a place behind what does.
    pub parts: (usize, usize),
    /// Entries an endpoint may have read and not freed, log2; none: the reader's
    /// owner counts them, and tells how many there may be.
    pub held_log2: Option<usize>,
}

impl RingKind {
    /// Send rings.
    pub fn send() -> Self {
        Self {
            doorbell: registers::DOORBELL_KIND_SQ,
            entry_log2: queue::SEND_ENTRY_LEN.ilog2().into(),
            enable: [regs::endpoint::VALID, regs::endpoint::SEND_ENABLE],
            both: true,
            base: regs::endpoint::SQ_BASE,
            log2: regs::endpoint::SQ_LOG2,
            parts: regs::endpoint::TAGS,
            held_log2: None,
        }
    }

    /// Receive rings, of endpoints and shared ones, of which `2^held_log2` entries are prefetched.
    pub fn receive(held_log2: usize) -> Self {
        Self {
            doorbell: registers::DOORBELL_KIND_RQ,
            entry_log2: queue::RECV_ENTRY_LEN.ilog2().into(),
            enable: [regs::endpoint::VALID, regs::endpoint::RING],
            both: false,
            base: regs::endpoint::RQ_BASE,
            log2: regs::endpoint::RQ_LOG2,
            parts: regs::endpoint::TAGS,
            held_log2: Some(held_log2),
        }
    }
}
