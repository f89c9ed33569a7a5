//! The AXI4-Lite slave: register map, tables, doorbells, time and counters.
//!
//! ```text
//!   s_axil_aw, _w ──> decode ──> act ──┬──> file ─────────> settings
//!                                      ├──> doorbell
//!                                      └──> table data ───> table_write, copy RAM
//!   s_axil_ar ──────> decode ──> pick <── file, views, table data, counters, path counters
//!   prescaler ──> now
//! ```
//!
//! Every address comes from `abi::regs`. What the map lists is answered OKAY,
//! anything else SLVERR: unmapped or misaligned addresses, partial writes,
//! writes of read-only registers, doorbells before STATUS.ready, table commands
//! while TABLE_STATUS.busy or of an entry that does not exist, orders while
//! RECOVER_STATUS.busy, anything but RESET while RESET_STATUS.busy. A refused access
//! changes nothing and reads as 0.
//!
//! Contract: AW and W come in any order. A write is answered four clocks after
//! its later half, a read three after AR (a counter up to 70, of a path a few more). Writes follow each
//! other by four clocks at least, so `doorbell` and `table_write` pulses are
//! never closer. An order is offered with the handle that RECOVER_MESSAGE held
//! when it was given, until it is taken. Outputs are registered. The entry of
//! `table_write` is zero from a reset to the first write behind it: tables that are
//! copies of its fields are cleared with that (`ClearedRam::fed_zeros`).
//!
//! Verified by `testbenches/tests/registers/`.

mod counters;
mod engine;
mod file;
mod path_counters;

pub use counters::Counters;
pub use file::{RegisterFile, FILE, WORDS};
pub use path_counters::PathCounters;

use super::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::types::{Doorbell, PathUse, Reclaim, RecoverOrder, Settings, TableWrite};
use tessera_abi::params::{self, Config};
use tessera_abi::regs::{self, Reg};

/// `Doorbell::kind` of a send queue tail.
pub const DOORBELL_KIND_SQ: u64 = regs::DOORBELL_SQ as u64 / 4;
/// `Doorbell::kind` of a receive queue tail.
pub const DOORBELL_KIND_RQ: u64 = regs::DOORBELL_RQ as u64 / 4;
/// `Doorbell::kind` of a completion queue head.
pub const DOORBELL_KIND_CQ: u64 = regs::DOORBELL_CQ as u64 / 4;
/// `Doorbell::kind` of a round.
pub const DOORBELL_KIND_ROUND: u64 = regs::DOORBELL_ROUND as u64 / 4;

/// Registers of which the file holds no word, in the order of the kernel's views.
pub const VIEWS: [Reg; 24] = [
    regs::MAGIC,           //  0
    regs::ABI_VERSION,     //  1
    regs::SIZES0,          //  2
    regs::SIZES1,          //  3
    regs::SIZES2,          //  4
    regs::STATUS,          //  5
    regs::TABLE_COMMAND,   //  6
    regs::TABLE_STATUS,    //  7
    regs::OUTSTANDING,     //  8
    regs::UNSOLICITED,     //  9
    regs::FREE_SLOTS,      // 10
    regs::FREE_CONTEXTS,   // 11
    regs::FREE_BLOCKS,     // 12
    regs::TOMBSTONES,      // 13
    regs::TIME,            // 14
    regs::FENCE,           // 15
    regs::FENCE_STATUS,    // 16
    regs::RECLAIM,         // 17
    regs::RECLAIM_STATUS,  // 18
    regs::RECOVER_ORDER,   // 19
    regs::RECOVER_STATUS,  // 20
    regs::RESET,           // 21
    regs::RESET_STATUS,    // 22
    regs::INTERRUPT_COUNT, // 23
];

/// The kernel cuts addresses at these places.
const _: () = {
    assert!(regs::ADDRESS_BITS == 21);
    assert!(regs::doorbell_page(0) == 1 << 20 && regs::doorbell_page(1) == (1 << 20) + (1 << 12));
    assert!(regs::TABLE_DATA.is_multiple_of(64) && regs::TABLE_WORDS == 16);
    assert!(regs::COUNTERS.is_multiple_of(256) && regs::counter(regs::COUNTER_COUNT) == regs::COUNTERS + 256);
    assert!(regs::PATH_COUNTERS.is_multiple_of(0x1000) && regs::PATH_BANK == 1024);
    assert!(regs::DOORBELL_SQ < 16 && regs::DOORBELL_RQ < 16 && regs::DOORBELL_CQ < 16);
    assert!(regs::DOORBELL_ROUND < 16);
};

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Writing {
    Wait,
    Decode,
    Act,
    Respond,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Reading {
    Wait,
    Decode,
    Pick,
    Counter,
    Respond,
}

#[derive(LogicBlock)]
pub struct Registers {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axil_awaddr: Signal<In, Bits<21>>,
    pub s_axil_awvalid: Signal<In, Bit>,
    pub s_axil_awready: Signal<Out, Bit>,
    pub s_axil_wdata: Signal<In, Bits<32>>,
    pub s_axil_wstrb: Signal<In, Bits<4>>,
    pub s_axil_wvalid: Signal<In, Bit>,
    pub s_axil_wready: Signal<Out, Bit>,
    pub s_axil_bresp: Signal<Out, Bits<2>>,
    pub s_axil_bvalid: Signal<Out, Bit>,
    pub s_axil_bready: Signal<In, Bit>,
    pub s_axil_araddr: Signal<In, Bits<21>>,
    pub s_axil_arvalid: Signal<In, Bit>,
    pub s_axil_arready: Signal<Out, Bit>,
    pub s_axil_rdata: Signal<Out, Bits<32>>,
    pub s_axil_rresp: Signal<Out, Bits<2>>,
    pub s_axil_rvalid: Signal<Out, Bit>,
    pub s_axil_rready: Signal<In, Bit>,
    pub settings: Signal<Out, Settings>,
    /// NIC time, ticks.
    pub now: Signal<Out, Bits<32>>,
    pub table_write: Signal<Out, TableWrite>,
    pub doorbell: Signal<Out, Doorbell>,
    /// A fence begins; one is not yet over.
    pub fence_begin: Signal<Out, Bit>,
    pub fence_busy: Signal<In, Bit>,
    /// What is reclaimed, and what is left of it.
    pub reclaim: Signal<Out, Reclaim>,
    pub sends_left: Signal<In, Bit>,
    pub contexts_left: Signal<In, Bit>,
    /// Something was on its way through the NIC when it was marked: in front of lookup
    /// and slots and in reads of rings; datagrams; answers.
    pub marks: Signal<Out, Bits<3>>,
    pub before_left: Signal<In, Bits<3>>,
    /// Nothing is left of it; its completions, all before now, are written.
    pub drain: Signal<Out, Bit>,
    pub drained: Signal<In, Bit>,
    /// The host's order; whether it met its message, in the clock it is taken.
    pub order_valid: Signal<Out, Bit>,
    pub order_data: Signal<Out, RecoverOrder>,
    pub order_ready: Signal<In, Bit>,
    pub order_met: Signal<In, Bit>,
    /// The NIC is to be reset; all else is in reset; that is over; what it waits for.
    pub reset_begin: Signal<Out, Bit>,
    pub core_rst: Signal<In, Bit>,
    pub reset_ended: Signal<In, Bit>,
    pub reset_waits: Signal<In, Bits<5>>,
    /// Bit `i` adds one to counter `i`.
    pub events: Signal<In, Bits<64>>,
    /// What happened to entropy values.
    pub path_use: Signal<In, PathUse>,
    /// Gauges, as the registers of their names.
    pub outstanding: Signal<In, Bits<32>>,
    pub unsolicited: Signal<In, Bits<32>>,
    pub free_slots: Signal<In, Bits<13>>,
    pub free_contexts: Signal<In, Bits<13>>,
    pub free_blocks: Signal<In, Bits<14>>,
    pub tombstones: Signal<In, Bits<16>>,
    pub interrupt_count: Signal<In, Bits<16>>,
    /// Every other block's tables are cleared.
    pub ready: Signal<In, Bit>,
    file: RegisterFile,
    counters: Counters,
    path_counters: PathCounters,
    copies: ClearedRam<Bits<512>, 10>,
    prescale: Dff<Bits<8>>,
    ticks: Dff<Bits<32>>,
    writing: Dff<Writing>,
    aw_held: Dff<Bit>,
    aw_at: Dff<Bits<21>>,
    w_held: Dff<Bit>,
    w_data: Dff<Bits<32>>,
    w_whole: Dff<Bit>,
    to_file: Dff<Bit>,
    to_data: Dff<Bit>,
    to_command: Dff<Bit>,
    to_doorbell: Dff<Bit>,
    to_fence: Dff<Bit>,
    to_reclaim: Dff<Bit>,
    to_reset: Dff<Bit>,
    /// From the write of RESET until it is over.
    resetting: Dff<Bit>,
    reset_out: Dff<Bit>,
    reclaims: Dff<Reclaim>,
    /// Clocks until what is on its way in the receiver has shown.
    reclaim_in: Dff<Bits<10>>,
    /// What is waited for now: the three of `marks`, then completions; it is marked.
    reclaim_step: Dff<Bits<2>>,
    marked: Dff<Bit>,
    mark_out: Dff<Bits<3>>,
    draining: Dff<Bit>,
    to_order: Dff<Bit>,
    order: Dff<RecoverOrder>,
    order_waits: Dff<Bit>,
    met: Dff<Bit>,
    fence_out: Dff<Bit>,
    b_failed: Dff<Bit>,
    command: Dff<Bits<32>>,
    data: [Dff<Bits<32>>; 16],
    /// A table read: asked of the copy, then answered by it.
    asked: Dff<Bit>,
    answered: Dff<Bit>,
    all_ready: Dff<Bit>,
    /// Clocks for which blocks may still take note of a change of CONTROL:
    /// `all_ready` is low meanwhile, or a host that enables and then asks would
    /// see the state before.
    settle: Dff<Bits<4>>,
    control_at: Constant<Bits<21>>,
    write_out: Dff<TableWrite>,
    bell: Dff<Doorbell>,
    reading: Dff<Reading>,
    ar_at: Dff<Bits<21>>,
    from_file: Dff<Bits<32>>,
    from_views: Dff<Bits<32>>,
    from_data: Dff<Bits<32>>,
    mapped: Dff<Bit>,
    counted: Dff<Bit>,
    path_counted: Dff<Bit>,
    r_data: Dff<Bits<32>>,
    r_failed: Dff<Bit>,
    /// Of what the present step waits for.
    step_left: Signal<Local, Bit>,
    aligned: Signal<Local, Bit>,
    /// And no reset is under way.
    accepts: Signal<Local, Bit>,
    in_data: Signal<Local, Bit>,
    in_page: Signal<Local, Bit>,
    bell_sq: Signal<Local, Bit>,
    bell_rq: Signal<Local, Bit>,
    bell_cq: Signal<Local, Bit>,
    bell_round: Signal<Local, Bit>,
    page: Signal<Local, Bits<8>>,
    page_at: Signal<Local, Bits<12>>,
    busy: Signal<Local, Bit>,
    known_entry: Signal<Local, Bit>,
    entry_index: Signal<Local, Bits<16>>,
    entry_table: Signal<Local, Bits<4>>,
    obey: Signal<Local, Bit>,
    copy_at: Signal<Local, Bits<10>>,
    word: Signal<Local, Bits<32>>,
    entry: Signal<Local, Bits<512>>,
    kept_copy: Signal<Local, Bits<512>>,
    r_word_at: Signal<Local, Bits<9>>,
    shifted: Signal<Local, Bits<512>>,
    r_aligned: Signal<Local, Bit>,
    r_in_data: Signal<Local, Bit>,
    r_in_counters: Signal<Local, Bit>,
    r_in_paths: Signal<Local, Bit>,
    r_in_page: Signal<Local, Bit>,
    r_page: Signal<Local, Bits<8>>,
    r_page_at: Signal<Local, Bits<12>>,
    seen_one: Signal<Local, Bit>,
    seen: [Signal<Local, Bits<32>>; 24],
    gathered: [Signal<Local, Bits<32>>; 25],
    seen_at: [Constant<Bits<21>>; 24],
    fixed: [Constant<Bits<32>>; 5],
    tick_last: Constant<Bits<8>>,
    command_at: Constant<Bits<21>>,
    fence_at: Constant<Bits<21>>,
    reclaim_at: Constant<Bits<21>>,
    order_at: Constant<Bits<21>>,
    data_base: Constant<Bits<21>>,
    counters_base: Constant<Bits<21>>,
    paths_base: Constant<Bits<21>>,
    sq_at: Constant<Bits<12>>,
    rq_at: Constant<Bits<12>>,
    cq_at: Constant<Bits<12>>,
    round_at: Constant<Bits<12>>,
    beyond_endpoints: Constant<Bits<16>>,
    beyond_cqs: Constant<Bits<16>>,
    beyond_mrs: Constant<Bits<16>>,
    endpoint_table: Constant<Bits<4>>,
    cq_table: Constant<Bits<4>>,
    mr_table: Constant<Bits<4>>,
    reset_at: Constant<Bits<21>>,
    /// Places of the largest table, log2.
    table_log2: Constant<Bits<4>>,
    path_table: Constant<Bits<4>>,
    /// Rounds may be registered; paths have places and counters.
    has_rounds: Constant<Bit>,
    has_places: Constant<Bit>,
    /// Of an entry, the bits that are kept; of its words.
    entry_bits: Constant<Bits<512>>,
    word_bits: [Constant<Bits<32>>; 16],
    shifts: [Constant<Bits<9>>; 16],
    all_bytes: Constant<Bits<4>>,
    slverr: Constant<Bits<2>>,
}

/// The lowest bits of an entry.
fn ones(width: usize) -> Bits<512> {
    (0..width).fold(0u64.into(), |bits: Bits<512>, bit| bits.replace_bit(bit, true))
}

impl Registers {
    pub fn new(config: &Config) -> Self {
        let at = |offset: u32| Constant::new(u64::from(offset).into());
        let page_at = |offset: u32| Constant::new(u64::from(offset).into());
        let beyond = |log2: usize| Constant::new((0xFFFFu64 >> log2 << log2).into());
        let [sizes0, sizes1, sizes2] = config.sizes();
        let table_log2 = config.endpoints_log2.max(config.cqs_log2).max(config.mrs_log2);
        Self {
            clk: Default::default(),
            rst: Default::default(),
            s_axil_awaddr: Default::default(),
            s_axil_awvalid: Default::default(),
            s_axil_awready: Default::default(),
            s_axil_wdata: Default::default(),
            s_axil_wstrb: Default::default(),
            s_axil_wvalid: Default::default(),
            s_axil_wready: Default::default(),
            s_axil_bresp: Default::default(),
            s_axil_bvalid: Default::default(),
            s_axil_bready: Default::default(),
            s_axil_araddr: Default::default(),
            s_axil_arvalid: Default::default(),
            s_axil_arready: Default::default(),
            s_axil_rdata: Default::default(),
            s_axil_rresp: Default::default(),
            s_axil_rvalid: Default::default(),
            s_axil_rready: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            table_write: Default::default(),
            doorbell: Default::default(),
            fence_begin: Default::default(),
            fence_busy: Default::default(),
            reclaim: Default::default(),
            marks: Default::default(),
            before_left: Default::default(),
            sends_left: Default::default(),
            contexts_left: Default::default(),
            drain: Default::default(),
            drained: Default::default(),
            order_valid: Default::default(),
            order_data: Default::default(),
            order_ready: Default::default(),
            order_met: Default::default(),
            reset_begin: Default::default(),
            core_rst: Default::default(),
            reset_ended: Default::default(),
            reset_waits: Default::default(),
            events: Default::default(),
            path_use: Default::default(),
            outstanding: Default::default(),
            unsolicited: Default::default(),
            free_slots: Default::default(),
            free_contexts: Default::default(),
            free_blocks: Default::default(),
            tombstones: Default::default(),
            interrupt_count: Default::default(),
            ready: Default::default(),
            file: RegisterFile::new(config),
            counters: Counters::new(),
            path_counters: PathCounters::new(),
            copies: ClearedRam::new(2 + table_log2, "block").fed_zeros(),
            prescale: Default::default(),
            ticks: Default::default(),
            writing: Default::default(),
            aw_held: Default::default(),
            aw_at: Default::default(),
            w_held: Default::default(),
            w_data: Default::default(),
            w_whole: Default::default(),
            to_file: Default::default(),
            to_data: Default::default(),
            to_command: Default::default(),
            to_doorbell: Default::default(),
            to_fence: Default::default(),
            to_reclaim: Default::default(),
            to_reset: Default::default(),
            resetting: Default::default(),
            reset_out: Default::default(),
            reclaims: Default::default(),
            reclaim_in: Default::default(),
            reclaim_step: Default::default(),
            marked: Default::default(),
            mark_out: Default::default(),
            step_left: Default::default(),
            draining: Default::default(),
            to_order: Default::default(),
            order: Default::default(),
            order_waits: Default::default(),
            met: Default::default(),
            fence_out: Default::default(),
            b_failed: Default::default(),
            command: Default::default(),
            data: Default::default(),
            asked: Default::default(),
            answered: Default::default(),
            all_ready: Default::default(),
            settle: Default::default(),
            control_at: at(regs::CONTROL.offset),
            write_out: Default::default(),
            bell: Default::default(),
            reading: Default::default(),
            ar_at: Default::default(),
            from_file: Default::default(),
            from_views: Default::default(),
            from_data: Default::default(),
            mapped: Default::default(),
            counted: Default::default(),
            path_counted: Default::default(),
            r_data: Default::default(),
            r_failed: Default::default(),
            aligned: Default::default(),
            accepts: Default::default(),
            in_data: Default::default(),
            in_page: Default::default(),
            bell_sq: Default::default(),
            bell_rq: Default::default(),
            bell_cq: Default::default(),
            bell_round: Default::default(),
            page: Default::default(),
            page_at: Default::default(),
            busy: Default::default(),
            known_entry: Default::default(),
            entry_index: Default::default(),
            entry_table: Default::default(),
            obey: Default::default(),
            copy_at: Default::default(),
            word: Default::default(),
            entry: Default::default(),
            kept_copy: Default::default(),
            r_word_at: Default::default(),
            shifted: Default::default(),
            r_aligned: Default::default(),
            r_in_data: Default::default(),
            r_in_counters: Default::default(),
            r_in_paths: Default::default(),
            r_in_page: Default::default(),
            r_page: Default::default(),
            r_page_at: Default::default(),
            seen_one: Default::default(),
            seen: std::array::from_fn(|_| Signal::default()),
            gathered: std::array::from_fn(|_| Signal::default()),
            seen_at: VIEWS.map(|reg| at(reg.offset)),
            fixed: [regs::MAGIC_VALUE, regs::ABI_VERSION_VALUE, sizes0, sizes1, sizes2]
                .map(|value| Constant::new(u64::from(value).into())),
            tick_last: Constant::new(u64::from(params::CLOCKS_PER_TICK - 1).into()),
            command_at: at(regs::TABLE_COMMAND.offset),
            fence_at: at(regs::FENCE.offset),
            reclaim_at: at(regs::RECLAIM.offset),
            order_at: at(regs::RECOVER_ORDER.offset),
            reset_at: at(regs::RESET.offset),
            data_base: at(regs::TABLE_DATA),
            counters_base: at(regs::COUNTERS),
            paths_base: at(regs::PATH_COUNTERS),
            sq_at: page_at(regs::DOORBELL_SQ),
            rq_at: page_at(regs::DOORBELL_RQ),
            cq_at: page_at(regs::DOORBELL_CQ),
            round_at: page_at(regs::DOORBELL_ROUND),
            beyond_endpoints: beyond(config.endpoints_log2),
            beyond_cqs: beyond(config.cqs_log2),
            beyond_mrs: beyond(config.mrs_log2),
            endpoint_table: Constant::new(u64::from(regs::table::ENDPOINT).into()),
            cq_table: Constant::new(u64::from(regs::table::CQ).into()),
            mr_table: Constant::new(u64::from(regs::table::MR).into()),
            table_log2: Constant::new((table_log2 as u64).into()),
            path_table: Constant::new(u64::from(regs::table::PATH).into()),
            has_rounds: Constant::new(config.rounds),
            has_places: Constant::new(config.path_tables),
            entry_bits: Constant::new(ones(32 * config.table_words)),
            word_bits: core::array::from_fn(|word| {
                Constant::new(if word < config.table_words { u64::from(u32::MAX) } else { 0 }.into())
            }),
            shifts: core::array::from_fn(|word| Constant::new((32 * word as u64).into())),
            all_bytes: Constant::new(0xFu64.into()),
            slverr: Constant::new(2u64.into()),
        }
    }
}
