//! Writes what host-recovered messages tell of themselves into host memory.
//!
//! ```text
//!  header ─────────────────────┐
//!  chunk ──> pending ──────────┴─> eight places ──> pack, address ──> write_desc, write_beat
//!               ^                   ^       │                           (beside completions)
//!  placed ──────┴── payload is there        │ done                      write_status
//!     │                             └───────│─────────────────────────────────┘
//!     ├─ a message's last ──> asides: until its places are free ──┐
//!     └─ of others: on at once, or behind those that wait ────────┴─> ends ──> fence
//! ```
//!
//! A block's bits are taken when a packet completes a chunk, and wait here until
//! placement's fence behind that packet comes back: host memory never says more
//! than it holds. Fences come in the order of the bits, so a FIFO joins them. A
//! fence with an error throws its bits away; the mark of that stays with its
//! context until the message has ended, so nothing of it follows (HR-4).
//!
//! The host sees writes in any order, so one write of a block is under way at a
//! time: it has a place until its status is back, and newer bits of that block
//! wait in the place meanwhile, the newest alone: each says what those before it
//! said. A header has a place too, for which the bits of its message wait.
//!
//! The last fence of such a message waits aside until no place is of its message,
//! so nothing of the area is written behind the completion; fences of others
//! overtake it. Those that wait do so in the order they came.
//!
//! Placement is never held up by the engine here, which may itself be waiting for
//! placement: what the engine does not take at once waits in a FIFO, as do the
//! last fences; all that holds a chunk's fence is the host's statuses. So that FIFO
//! has room behind what waits for all the fences placement may have: with too many
//! for that, which those of messages become behind a datagram's that waits for the
//! host, the engine is told to take nothing but fences; and no last fence leaves its
//! own FIFO then, where many may be behind one slow status, but for one out of a full
//! one: placement may have another for its place, whose room it takes. Placement has at most a
//! ring full of fences, 34 commands, a fence in a register, one on its way to the
//! commands and those of three events that the engine may have chosen: 40 are
//! counted for all but the ring. With 64 places in the ring and room for 128 fences,
//! 24 are too many, with 32 in the ring 56, with 16 and room for 64 they are 8, with
//! 2 they are 22.
//!
//! Contract:
//! - a header is taken while a place is free; it is offered before the fence of any
//!   chunk of its message;
//!   bits are taken while there is room for them: at most as many wait as
//!   placement has commands and entries, which is less than there is room for, so
//!   `chunk` never stalls;
//! - `placed` with `chunk` comes for each word of `chunk`, in the same order, and
//!   later than that; it is taken while its block has a place or one is free. No
//!   fence of a host-recovered message is taken while a header comes, nor in its
//!   first clock: it is compared with the places beforehand;
//! - fences of other messages and of datagrams pass in the clock they come, if
//!   `fence` is ready and none waits, and keep their order;
//! - bits are offered `chunk_log2 + 6` clocks after their fence was taken, if
//!   nothing is in the way. The last fence goes three clocks after the last
//!   status at the earliest;
//! - `crowded` follows what waits for the engine by a clock;
//! - a write is one beat; descriptor and beat are offered in the same clock. Its
//!   tag has bit 7 set;
//! - `dma_error` pulses one clock after a failed status, which changes nothing
//!   else.
//!
//! Verified by `testbenches/tests/chunks.rs`.

mod engine;

use crate::prelude::*;
use crate::stream::{Fifo, LateFifo, Lowest};
use crate::types::{Beat, ChunkBits, ChunkHeader, DmaDescriptor, DmaStatus, PlaceFence};
use tessera_abi::params::{Config, NARROW_BITS};
use tessera_abi::queue::area;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ChunkStep {
    Idle,
    Read,
    /// Two bits become one, once per level of the chunk's size.
    Pack,
    Write,
}

/// A write into an area, before its bits are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct AreaWrite {
    pub buffer: Bits<64>,
    pub area_log2: Bits<4>,
    /// A header: its bytes are `bits`, and `chunk_log2` is 0.
    pub head: Bit,
    pub chunk_log2: Bits<3>,
    pub block: Bits<16>,
    pub bits: Bits<256>,
}

#[derive(LogicBlock)]
pub struct Chunks {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub header_valid: Signal<In, Bit>,
    pub header_data: Signal<In, ChunkHeader>,
    pub header_ready: Signal<Out, Bit>,
    pub chunk_valid: Signal<In, Bit>,
    pub chunk_data: Signal<In, ChunkBits>,
    pub chunk_ready: Signal<Out, Bit>,
    pub placed_valid: Signal<In, Bit>,
    pub placed_data: Signal<In, PlaceFence>,
    pub placed_ready: Signal<Out, Bit>,
    pub fence_valid: Signal<Out, Bit>,
    pub fence_data: Signal<Out, PlaceFence>,
    pub fence_ready: Signal<In, Bit>,
    pub write_desc_valid: Signal<Out, Bit>,
    pub write_desc_data: Signal<Out, DmaDescriptor>,
    pub write_desc_ready: Signal<In, Bit>,
    pub write_beat_valid: Signal<Out, Bit>,
    pub write_beat_data: Signal<Out, Beat>,
    pub write_beat_ready: Signal<In, Bit>,
    pub write_status_valid: Signal<In, Bit>,
    pub write_status_data: Signal<In, DmaStatus>,
    pub dma_error: Signal<Out, Bit>,
    /// The engine is to take fences only.
    pub crowded: Signal<Out, Bit>,

    pending: LateFifo<ChunkBits, 7>,
    words: SdpRam<AreaWrite, 3>,
    /// Places, a bit each: something is to be written; a write is under way; it
    /// is a header.
    dirty: Dff<Bits<8>>,
    open: Dff<Bits<8>>,
    heads: Dff<Bits<8>>,
    contexts: [Dff<Bits<12>>; 8],
    blocks: [Dff<Bits<16>>; 8],
    /// Headers that are to be there first.
    waits: [Dff<Bits<8>>; 8],
    /// Places behind the one served last.
    behind: Dff<Bits<8>>,
    /// The place to be served next.
    choice: Dff<Bits<8>>,

    step: Dff<ChunkStep>,
    word: Dff<AreaWrite>,
    serves: Dff<Bits<3>>,
    levels: Dff<Bits<3>>,
    base: Dff<Bits<64>>,
    offset: Dff<Bits<22>>,

    desc: Dff<DmaDescriptor>,
    desc_valid: Dff<Bit>,
    beat: Dff<Beat>,
    beat_valid: Dff<Bit>,

    asides: Fifo<PlaceFence, 7>,
    ends: Fifo<PlaceFence, 7>,
    /// Fences in `ends`.
    held: Dff<Bits<8>>,
    crowds: Dff<Bit>,
    broke: Dff<Bit>,

    fence: Signal<Local, PlaceFence>,
    told: Dff<ChunkBits>,
    told_valid: Dff<Bit>,
    /// What waits with an area was compared in the last clock, and nothing has changed since:
    /// places of its message; of its chunk's block.
    compared: Dff<Bit>,
    is_message: Dff<Bits<8>>,
    is_block: Dff<Bits<8>>,
    spends: Signal<Local, Bit>,
    opens: Signal<Local, ChunkHeader>,
    busy: Signal<Local, Bits<8>>,
    free: Signal<Local, Bits<8>>,
    first_free: Signal<Local, Bits<8>>,
    equal_message: Signal<Local, Bits<8>>,
    equal_block: Signal<Local, Bits<8>>,
    /// Of the fence's message; of its chunk's block.
    of_message: Signal<Local, Bits<8>>,
    of_block: Signal<Local, Bits<8>>,
    status_bit: Signal<Local, Bits<8>>,
    /// Places that are free from the next clock on.
    done: Signal<Local, Bits<8>>,
    /// The place that is written now.
    target: Signal<Local, Bits<8>>,
    blocked: Signal<Local, Bits<8>>,
    may: Signal<Local, Bits<8>>,
    may_behind: Signal<Local, Bits<8>>,
    picks: Signal<Local, Bit>,
    pick: Signal<Local, Bits<8>>,
    taken: Signal<Local, Bits<8>>,
    /// The oldest aside, and whether a place is its message's.
    oldest: Signal<Local, PlaceFence>,
    drained: Signal<Local, Bit>,
    /// No place was, in the last clock.
    may_leave: Dff<Bit>,
    others: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    kept: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    comes: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    announces: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    may_begin: Signal<Local, Bit>,
    may_end: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    out_free: Signal<Local, Bit>,
    pairs: Signal<Local, Bits<256>>,
    by2: Signal<Local, Bits<256>>,
    by4: Signal<Local, Bits<256>>,
    by8: Signal<Local, Bits<256>>,
    by16: Signal<Local, Bits<256>>,
    by32: Signal<Local, Bits<256>>,
    by64: Signal<Local, Bits<256>>,
    half: Signal<Local, Bits<256>>,
    area_len: Signal<Local, Bits<64>>,
    length: Signal<Local, Bits<13>>,
    keep: Signal<Local, Bits<64>>,
    handle: Signal<Local, Bits<32>>,

    first_of_may: Lowest<8>,
    first_behind: Lowest<8>,
    one: Constant<Bits<8>>,
    number: [Constant<Bits<3>>; 8],
    /// The host may recover messages: else no fence is of one, nothing is told, and no place is ever taken.
    recovers: Constant<Bit>,
    places: Constant<Bits<8>>,
    area_tag: Constant<Bits<8>>,
    /// With fewer in `ends`, what placement may have finds room behind them.
    few: Constant<Bits<8>>,
    even1: Constant<Bits<256>>,
    even2: Constant<Bits<256>>,
    even4: Constant<Bits<256>>,
    even8: Constant<Bits<256>>,
    even16: Constant<Bits<256>>,
    even32: Constant<Bits<256>>,
    even64: Constant<Bits<256>>,
    smallest: Constant<Bits<64>>,
    at_handle: Constant<Bits<9>>,
    at_packets: Constant<Bits<9>>,
    at_length: Constant<Bits<9>>,
    at_chunk_log2: Constant<Bits<9>>,
    at_payload_log2: Constant<Bits<9>>,
    at_tag: Constant<Bits<9>>,
    is_open: Constant<Bits<256>>,
}

/// Tags of area writes have this bit, and the place's number.
pub const AREA_TAG: u64 = 0x80;

/// Fences that placement may have besides those in its ring.
const AHEAD: u64 = 40;

/// A block's bytes and the header are as long, and never longer.
const _: () = assert!(area::HEADER_LEN == 32 && area::block_len(0) == 32 && area::MAX_CHUNK_LOG2 == 5);

/// Every bit `i` of 256 with `i & run == 0`.
fn every_other(run: usize) -> Constant<Bits<256>> {
    let mut mask = Bits::<256>::default();
    for at in (0..256).filter(|at| at & run == 0) {
        mask = mask.replace_bit(at, true);
    }
    Constant::new(mask)
}

impl Chunks {
    /// No message, nothing open. There is room for as many bits as placement has
    /// entries and commands.
    ///
    /// # Panics
    /// When the configuration asks for more than 64 write tags.
    pub fn new(config: &Config) -> Self {
        let tags = config.write_tags_log2;
        assert!(tags <= 6, "2^{tags} write tags: there is room for the fences of 64");
        let small = tags <= 4;
        let depth_log2 = if small { 6 } else { 7 };
        let few = (1u64 << depth_log2) - (1 << tags) - AHEAD;
        let asides = || Fifo::new(depth_log2);
        // A small FPGA has a sixth of its LUTs' worth in block RAM for as many bits.
        let mut pending = LateFifo::new(depth_log2);
        if config.path_bits() == NARROW_BITS {
            pending = pending.in_block();
        }
        let at = |byte: usize| Constant::new((8 * byte as u64).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            header_valid: Default::default(),
            header_data: Default::default(),
            header_ready: Default::default(),
            chunk_valid: Default::default(),
            chunk_data: Default::default(),
            chunk_ready: Default::default(),
            placed_valid: Default::default(),
            placed_data: Default::default(),
            placed_ready: Default::default(),
            fence_valid: Default::default(),
            fence_data: Default::default(),
            fence_ready: Default::default(),
            write_desc_valid: Default::default(),
            write_desc_data: Default::default(),
            write_desc_ready: Default::default(),
            write_beat_valid: Default::default(),
            write_beat_data: Default::default(),
            write_beat_ready: Default::default(),
            write_status_valid: Default::default(),
            write_status_data: Default::default(),
            dma_error: Default::default(),
            crowded: Default::default(),
            pending,
            // Eight wide words: a few LUTs a bit, or block RAMs that are nearly empty, where those are plenty.
            words: SdpRam::new(3).with_style(if config.has_ultra_ram() { "block" } else { "distributed" }),
            dirty: Default::default(),
            open: Default::default(),
            heads: Default::default(),
            contexts: std::array::from_fn(|_| Dff::default()),
            blocks: std::array::from_fn(|_| Dff::default()),
            waits: std::array::from_fn(|_| Dff::default()),
            behind: Default::default(),
            choice: Default::default(),
            step: Default::default(),
            word: Default::default(),
            serves: Default::default(),
            levels: Default::default(),
            base: Default::default(),
            offset: Default::default(),
            desc: Default::default(),
            desc_valid: Default::default(),
            beat: Default::default(),
            beat_valid: Default::default(),
            asides: asides(),
            ends: asides(),
            held: Default::default(),
            crowds: Default::default(),
            broke: Default::default(),
            fence: Default::default(),
            told: Default::default(),
            told_valid: Default::default(),
            compared: Default::default(),
            is_message: Default::default(),
            is_block: Default::default(),
            spends: Default::default(),
            opens: Default::default(),
            busy: Default::default(),
            free: Default::default(),
            first_free: Default::default(),
            equal_message: Default::default(),
            equal_block: Default::default(),
            of_message: Default::default(),
            of_block: Default::default(),
            status_bit: Default::default(),
            done: Default::default(),
            target: Default::default(),
            blocked: Default::default(),
            may: Default::default(),
            may_behind: Default::default(),
            picks: Default::default(),
            pick: Default::default(),
            taken: Default::default(),
            oldest: Default::default(),
            drained: Default::default(),
            may_leave: Default::default(),
            others: Default::default(),
            passes: Default::default(),
            kept: Default::default(),
            leaves: Default::default(),
            comes: Default::default(),
            goes: Default::default(),
            announces: Default::default(),
            writes: Default::default(),
            may_begin: Default::default(),
            may_end: Default::default(),
            takes: Default::default(),
            begins: Default::default(),
            out_free: Default::default(),
            pairs: Default::default(),
            by2: Default::default(),
            by4: Default::default(),
            by8: Default::default(),
            by16: Default::default(),
            by32: Default::default(),
            by64: Default::default(),
            half: Default::default(),
            area_len: Default::default(),
            length: Default::default(),
            keep: Default::default(),
            handle: Default::default(),
            even1: every_other(1),
            even2: every_other(2),
            even4: every_other(4),
            even8: every_other(8),
            even16: every_other(16),
            even32: every_other(32),
            even64: every_other(64),
            smallest: Constant::new(area::ALIGN.into()),
            first_of_may: Default::default(),
            first_behind: Default::default(),
            one: Constant::new(1u64.into()),
            number: std::array::from_fn(|i| Constant::new((i as u64).into())),
            recovers: Constant::new(config.host_recovery),
            places: Constant::new(if config.host_recovery { 0xFFu64 } else { 0 }.into()),
            area_tag: Constant::new(AREA_TAG.into()),
            few: Constant::new(few.into()),
            at_handle: at(area::HANDLE),
            at_packets: at(area::PACKETS),
            at_length: at(area::LENGTH),
            at_chunk_log2: at(area::CHUNK_LOG2),
            at_payload_log2: at(area::PAYLOAD_LOG2),
            at_tag: at(area::TAG),
            is_open: Constant::new(Bits::<256>::default().replace_bit(8 * area::OPEN, true)),
        }
    }
}
