//! Named configurations and defaults.
//!
//! A configuration is data: one source, one Verilog export per configuration.

/// Core clocks per tick. A tick is the unit of every timestamp and interval:
/// 64 ns at the 250 MHz the block is built for.
pub const CLOCKS_PER_TICK: u32 = 16;
/// The clock the block is built for, in MHz. Only reports use it.
pub const CLOCK_MHZ: u32 = 250;
/// Packets per bitmap block.
pub const BLOCK_PACKETS: u32 = 256;
/// Bitmap block pointers per receive context.
pub const WINDOW_BLOCKS: u32 = 4;
/// Packets a grant may run ahead of the cumulative index.
pub const WINDOW_PACKETS: u32 = BLOCK_PACKETS * WINDOW_BLOCKS;
/// Smallest payload size, log2 of bytes.
pub const MIN_PAYLOAD_LOG2: u8 = 8;
/// Largest payload size, log2 of bytes.
pub const MAX_PAYLOAD_LOG2: u8 = 12;
/// Most packets in a message.
pub const MAX_PACKETS: u32 = (1 << 24) - 1;
/// Largest frame without FCS: headers, TRH of FEEDBACK or DATA, 4096 bytes, ICRC.
pub const MAX_FRAME: usize = crate::wire::DATA_HEADER_LEN + 4096 + 4;

/// Feedback mask of the 32-bit Galois LFSR (taps 32, 22, 2, 1) behind every
/// pseudo-random choice: `x = (x >> 1) ^ (mask if x & 1)`.
pub const LFSR_MASK: u32 = 0x8020_0003;

/// Sizes of one build of the hardware. Every `_log2` is a number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name, also that of the exported file.
    pub name: &'static str,
    /// Width of the packet and DMA streams, bits.
    pub data_bits: usize,
    /// Messages being sent.
    pub tx_slots_log2: usize,
    /// Messages being received.
    pub rx_contexts_log2: usize,
    /// Finished messages remembered, entries (not a power of two by need).
    pub tombstones: usize,
    /// Sets of each of the two hash tables (four ways each).
    pub table_sets_log2: usize,
    /// Bitmap blocks of 256 packets. At least one per context.
    pub bitmap_blocks_log2: usize,
    /// Endpoints.
    pub endpoints_log2: usize,
    /// Completion queues.
    pub cqs_log2: usize,
    /// Memory keys.
    pub mrs_log2: usize,
    /// Receive entries prefetched per endpoint.
    pub rq_prefetch_log2: usize,
    /// Retransmit queue entries, one per (slot, block) walk.
    pub retransmit_entries_log2: usize,
    /// Slots of the timer wheel's first level.
    pub wheel_l0_log2: usize,
    /// Slots of the second level.
    pub wheel_l1_log2: usize,
    /// log2 of ticks per first-level slot.
    pub wheel_tick_log2: usize,
    /// Beats of the receive packet buffer.
    pub rx_buffer_beats_log2: usize,
    /// Beats of the transmit payload buffer.
    pub tx_buffer_beats_log2: usize,
    /// Payload writes outstanding.
    pub write_tags_log2: usize,
}

/// 512-bit streams, 4096 messages each way: 128 Gb/s at 250 MHz.
pub const NIC512: Config = Config {
    name: "nic512",
    data_bits: 512,
    tx_slots_log2: 12,
    rx_contexts_log2: 12,
    tombstones: 16384,
    table_sets_log2: 13,
    bitmap_blocks_log2: 13,
    endpoints_log2: 8,
    cqs_log2: 8,
    mrs_log2: 8,
    rq_prefetch_log2: 6,
    retransmit_entries_log2: 5,
    wheel_l0_log2: 10,
    wheel_l1_log2: 8,
    wheel_tick_log2: 3,
    rx_buffer_beats_log2: 9,
    tx_buffer_beats_log2: 9,
    write_tags_log2: 6,
};

/// Every configuration that can be exported.
pub const CONFIGS: &[Config] = &[NIC512];

impl Config {
    /// What the SIZES registers read as, laid out as they document.
    pub const fn sizes(&self) -> [u32; 3] {
        [
            self.tx_slots_log2 as u32
                | (self.rx_contexts_log2 as u32) << 8
                | (self.bitmap_blocks_log2 as u32) << 16
                | (self.endpoints_log2 as u32) << 24,
            self.cqs_log2 as u32 | (self.mrs_log2 as u32) << 8 | (self.rq_prefetch_log2 as u32) << 16,
            self.tombstones as u32,
        ]
    }

    /// The configuration of a name.
    pub fn by_name(name: &str) -> Option<&'static Config> {
        CONFIGS.iter().find(|config| config.name == name)
    }
}
