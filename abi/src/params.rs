//! Named configurations and defaults.
//!
//! A configuration is data: one source, one Verilog export per configuration.

use crate::parts::Part;
use crate::regs::{self, Reg};
use crate::wire;

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
/// Largest frame without tag and FCS: IPv6 headers, TRH of DATA, 4096 bytes,
/// ICRC. A longer one is no packet, whatever its form.
pub const MAX_UNTAGGED_FRAME: usize =
    wire::Form { tagged: false, v6: true }.trh_at() + wire::TRH_DATA_LEN + 4096 + wire::ICRC_LEN;
/// Largest frame without FCS.
pub const MAX_FRAME: usize = MAX_UNTAGGED_FRAME + wire::VLAN_LEN;

/// Feedback mask of the 32-bit Galois LFSR (taps 32, 22, 2, 1) behind every
/// pseudo-random choice: `x = (x >> 1) ^ (mask if x & 1)`.
pub const LFSR_MASK: u32 = 0x8020_0003;

/// Width of the streams of rings, and of frames and payload where the ports are wide, bits.
pub const CORE_BITS: usize = 512;
/// Width of the streams of frames and payload where the ports are no wider, bits.
pub const NARROW_BITS: usize = 128;

/// Entropy values a destination's ring of policy `recycle` holds.
pub const RECYCLE_RING: usize = 8;
/// Packets that may take an entropy value after each clean echo of it.
pub const RECYCLE_USES: u8 = 32;
/// While the ring has room, one in `2^EXPLORE_LOG2` packets looks for further
/// values.
pub const EXPLORE_LOG2: u32 = 6;
/// Destinations kept apart by a hash: rings, round-trip times, windows.
pub const DESTINATIONS: usize = 1024;
/// Bits of [`destination_hash`].
const DESTINATION_BITS: u32 = DESTINATIONS.ilog2();

/// The place of what is known about a destination: its address in pieces of ten
/// bits, the lowest first, XORed.
pub const fn destination_hash(gid: [u8; 16]) -> usize {
    let mut left = u128::from_be_bytes(gid);
    let mut hash = 0;
    while left != 0 {
        hash ^= left as usize & (DESTINATIONS - 1);
        left >>= DESTINATION_BITS;
    }
    hash
}

/// Sizes of one build of the hardware. Every `_log2` is a number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Name, also that of the exported file.
    pub name: &'static str,
    /// Width of the packet and DMA streams at the edges, bits: 64, 128, 256 or
    /// 512. Inside, frames and payload have [`path_bits`](Self::path_bits), ring
    /// entries always [`CORE_BITS`].
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
    /// Size of the receive packet buffer, in 64 bytes, however wide its beats are.
    pub rx_buffer_beats_log2: usize,
    /// Size of the transmit payload buffer, in 64 bytes.
    pub tx_buffer_beats_log2: usize,
    /// Parsed packets, and an eighth as many answers, that wait for their judge.
    pub rx_packets_log2: usize,
    /// Packets whose payload is being read.
    pub tx_packets_log2: usize,
    /// Answers that wait to be sent.
    pub answers_log2: usize,
    /// Beats of 64 bytes of ring entries being read, at each of the two readers: two
    /// visits, of eight entries if there is room for so many.
    pub ring_beats_log2: usize,
    /// Tagged receives in place; 0 for none, and no table of them.
    pub tagged_log2: usize,
    /// Payload writes outstanding.
    pub write_tags_log2: usize,
    /// Messages may be recovered by the host; without, each is by the NIC, and areas stay empty.
    pub host_recovery: bool,
    /// Words of a table entry that are kept: all, or those that hold something.
    pub table_words: usize,
    /// IPv6 beside IPv4; without, its frames are not ours, and sends to its addresses are refused.
    pub ipv6: bool,
    /// 802.1Q tags; without, tagged frames are not ours, and sends with a tag are refused.
    pub vlan: bool,
    /// Rounds of collectives; without, none is registered, and a message of one is a message of none.
    pub rounds: bool,
    /// Turns by what is left of a message (TURN_POLICY), and DSCPs by its length (CLASS_SIZES).
    pub classes: bool,
    /// Policy `weighted`, and counters of what happened to each entropy value.
    pub path_tables: bool,
    /// Rings of entropy values that came back clean; without, policy `recycle` is `round_robin`.
    pub recycle: bool,
    /// Endpoints of datagrams; without, bit DATAGRAM of a table entry means nothing.
    pub datagrams: bool,
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
    rx_packets_log2: 9,
    tx_packets_log2: 6,
    answers_log2: 6,
    ring_beats_log2: 8,
    tagged_log2: 12,
    write_tags_log2: 6,
    host_recovery: true,
    table_words: regs::TABLE_WORDS,
    ipv6: true,
    vlan: true,
    rounds: true,
    classes: true,
    path_tables: true,
    recycle: true,
    datagrams: true,
};

/// 256-bit streams, 1024 messages each way: 64 Gb/s at 250 MHz.
pub const NIC256: Config = Config {
    name: "nic256",
    data_bits: 256,
    tx_slots_log2: 10,
    rx_contexts_log2: 10,
    tombstones: 4096,
    table_sets_log2: 11,
    bitmap_blocks_log2: 11,
    endpoints_log2: 6,
    cqs_log2: 6,
    mrs_log2: 8,
    rq_prefetch_log2: 6,
    retransmit_entries_log2: 5,
    wheel_l0_log2: 9,
    wheel_l1_log2: 9,
    wheel_tick_log2: 3,
    rx_buffer_beats_log2: 9,
    tx_buffer_beats_log2: 9,
    rx_packets_log2: 9,
    tx_packets_log2: 6,
    answers_log2: 6,
    ring_beats_log2: 8,
    tagged_log2: 12,
    write_tags_log2: 6,
    host_recovery: true,
    table_words: regs::TABLE_WORDS,
    ipv6: true,
    vlan: true,
    rounds: true,
    classes: true,
    path_tables: true,
    recycle: true,
    datagrams: true,
};

/// 128-bit streams, 256 messages each way: for a small FPGA.
pub const NIC128: Config = Config {
    name: "nic128",
    data_bits: 128,
    tx_slots_log2: 8,
    rx_contexts_log2: 8,
    tombstones: 1024,
    table_sets_log2: 9,
    bitmap_blocks_log2: 9,
    endpoints_log2: 4,
    cqs_log2: 4,
    mrs_log2: 5,
    rq_prefetch_log2: 5,
    retransmit_entries_log2: 4,
    wheel_l0_log2: 8,
    wheel_l1_log2: 8,
    wheel_tick_log2: 3,
    rx_buffer_beats_log2: 9,
    tx_buffer_beats_log2: 8,
    rx_packets_log2: 5,
    tx_packets_log2: 4,
    answers_log2: 4,
    ring_beats_log2: 5,
    tagged_log2: 9,
    write_tags_log2: 5,
    host_recovery: true,
    table_words: regs::TABLE_WORDS,
    ipv6: true,
    vlan: true,
    rounds: true,
    classes: true,
    path_tables: true,
    recycle: true,
    datagrams: true,
};

/// 64-bit streams, 64 messages each way, neither tags nor host recovery: for a small FPGA, at its speed.
pub const NIC64: Config = Config {
    name: "nic64",
    data_bits: 64,
    tx_slots_log2: 6,
    rx_contexts_log2: 6,
    tombstones: 256,
    table_sets_log2: 7,
    bitmap_blocks_log2: 7,
    endpoints_log2: 3,
    cqs_log2: 3,
    mrs_log2: 5,
    rq_prefetch_log2: 4,
    retransmit_entries_log2: 3,
    wheel_l0_log2: 8,
    wheel_l1_log2: 8,
    wheel_tick_log2: 3,
    rx_buffer_beats_log2: 8,
    tx_buffer_beats_log2: 7,
    rx_packets_log2: 4,
    tx_packets_log2: 4,
    answers_log2: 4,
    ring_beats_log2: 4,
    tagged_log2: 0,
    write_tags_log2: 4,
    host_recovery: false,
    table_words: regs::TABLE_WORDS_USED,
    ipv6: false,
    vlan: false,
    rounds: false,
    classes: false,
    path_tables: false,
    recycle: false,
    datagrams: false,
};

/// The smallest sizes at which every rule can still be met: for proofs, and for
/// tests that shall run into every limit.
pub const TINY: Config = Config {
    name: "tiny",
    data_bits: 512,
    tx_slots_log2: 2,
    rx_contexts_log2: 2,
    tombstones: 32,
    table_sets_log2: 3,
    bitmap_blocks_log2: 3,
    endpoints_log2: 1,
    cqs_log2: 1,
    mrs_log2: 5,
    rq_prefetch_log2: 1,
    retransmit_entries_log2: 1,
    wheel_l0_log2: 4,
    wheel_l1_log2: 4,
    wheel_tick_log2: 3,
    rx_buffer_beats_log2: 8,
    tx_buffer_beats_log2: 6,
    rx_packets_log2: 3,
    tx_packets_log2: 4,
    answers_log2: 3,
    ring_beats_log2: 5,
    tagged_log2: 3,
    write_tags_log2: 1,
    host_recovery: true,
    table_words: regs::TABLE_WORDS,
    ipv6: true,
    vlan: true,
    rounds: true,
    classes: true,
    path_tables: true,
    recycle: true,
    datagrams: true,
};

/// Every configuration that can be exported.
pub const CONFIGS: &[Config] = &[NIC512, NIC256, NIC128, NIC64, TINY];

impl Config {
    /// What the SIZES registers read as, laid out as they document.
    pub const fn sizes(&self) -> [u32; 3] {
        [
            self.tx_slots_log2 as u32
                | (self.rx_contexts_log2 as u32) << 8
                | (self.bitmap_blocks_log2 as u32) << 16
                | (self.endpoints_log2 as u32) << 24,
            self.cqs_log2 as u32
                | (self.mrs_log2 as u32) << 8
                | (self.rq_prefetch_log2 as u32) << 16
                | (self.tagged_log2 as u32) << 24
                | (self.host_recovery as u32) << 31,
            self.tombstones as u32 | self.left_out(),
        ]
    }

    /// The bits of SIZES2 for parts that are left out.
    const fn left_out(&self) -> u32 {
        let (mut bits, mut number) = (0, 0);
        while number < Part::ALL.len() {
            let part = Part::ALL[number];
            if !self.has(part) {
                bits |= part.left_out_bit();
            }
            number += 1;
        }
        bits
    }

    /// The bits of a register that the host can set. The others keep what a reset gives them, whatever is
    /// written: zero, but in registers of parts that this configuration has not.
    pub fn settable(&self, reg: &Reg) -> u32 {
        let ip6 = [regs::LOCAL_IP6_0, regs::LOCAL_IP6_1, regs::LOCAL_IP6_2, regs::LOCAL_IP6_3];
        let left_out = (!self.ipv6 && ip6.contains(reg))
            || (!self.vlan && *reg == regs::VLAN)
            || (!self.rounds && *reg == regs::RTO_ROUND)
            || (!self.classes && [regs::TURN_POLICY, regs::CLASS_SIZES].contains(reg));
        if left_out {
            0
        } else if !self.path_tables && *reg == regs::PATH_POLICY {
            regs::PATH_WEIGHTED - 1
        } else {
            u32::MAX >> (32 - reg.width)
        }
    }

    /// Whether it is for devices with UltraRAM, which tables of 4096 entries lie in.
    pub const fn has_ultra_ram(&self) -> bool {
        self.rx_contexts_log2 >= 12
    }

    /// Tagged receives in place at most.
    pub const fn tagged(&self) -> usize {
        if self.tagged_log2 == 0 {
            0
        } else {
            1 << self.tagged_log2
        }
    }

    /// Width of the streams of frames and payload inside, bits.
    pub const fn path_bits(&self) -> usize {
        if self.data_bits > NARROW_BITS {
            CORE_BITS
        } else {
            NARROW_BITS
        }
    }

    /// The configuration of a name, of those in [`CONFIGS`]; [`Self::named`] knows more.
    pub fn by_name(name: &str) -> Option<&'static Config> {
        CONFIGS.iter().find(|config| config.name == name)
    }
}
