//! Remembers which packets of a 256-packet block have arrived, and hands out
//! the blocks.
//!
//! ```text
//!  op ──> read ──> select ──> set bit, scan 16 x 16 ──> sum, choose ──> result
//!          │                    │
//!          └── RAM <────────────┘
//!
//!  free ──> ring of free blocks ──> offered ──> alloc
//! ```
//!
//! Contract:
//! - one operation per clock, of one block in every third at most (the one before is
//!   in the RAM then), no back-pressure; `result` follows its operation by exactly four
//!   clocks;
//! - operations take effect in their order; `result` shows the block after its
//!   operation, `was_set` the addressed bit before it (0 for operation 2);
//! - `alloc_block` is valid while `alloc_available`; `alloc_take` takes it in
//!   that clock. One take and one free per clock, also in the same clock. A
//!   freed block is offered again three clocks later at the earliest, from a register:
//!   the bitmap is asked for it in the same clock. Contents of an allocated block are
//!   undefined until operation 2 initialises it. `free_count` follows a clock later;
//! - after reset all blocks are put into the ring, one per clock; `ready` rises
//!   when they are in. `free_block` may be used from then on.
//!
//! Verified by `testbenches/tests/bitmap.rs`.

use super::ZeroScan;
use crate::prelude::*;
use crate::stream::LateFifo;
use crate::types::{BitmapOp, BitmapResult};
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct Bitmap {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub op_valid: Signal<In, Bit>,
    pub op: Signal<In, BitmapOp>,
    pub result_valid: Signal<Out, Bit>,
    pub result: Signal<Out, BitmapResult>,
    pub alloc_available: Signal<Out, Bit>,
    pub alloc_block: Signal<Out, Bits<13>>,
    /// Takes `alloc_block`; ignored while none is available.
    pub alloc_take: Signal<In, Bit>,
    pub free_valid: Signal<In, Bit>,
    pub free_block: Signal<In, Bits<13>>,
    /// Blocks not allocated.
    pub free_count: Signal<Out, Bits<14>>,
    pub ready: Signal<Out, Bit>,

    ram: SdpRam<Bits<256>, 13>,
    pool: LateFifo<Bits<13>, 13>,
    /// The block on offer.
    offers: Dff<Bit>,
    offered: Dff<Bits<13>>,

    // Select: the RAM's word is there.
    select_valid: Dff<Bit>,
    select_kind: Dff<Bits<2>>,
    select_block: Dff<Bits<13>>,
    // Places are named by one of sixteen rows and one of sixteen columns: the addressed
    // bit's, and the limit's with all rows below it and all columns.
    select_row: Dff<Bits<16>>,
    select_column: Dff<Bits<16>>,
    select_rows_below: Dff<Bits<16>>,
    select_limit_row: Dff<Bits<16>>,
    select_columns_below: Dff<Bits<16>>,
    row_below: Signal<Local, Bits<16>>,
    /// Rows put behind each other from the top.
    below: [Signal<Local, Bits<256>>; 17],
    // Scan: the block is written back and its zeros are looked at.
    scan_valid: Dff<Bit>,
    scan_write: Dff<Bit>,
    scan_block: Dff<Bits<13>>,
    /// The operation initialises it.
    scan_starts: Dff<Bit>,
    /// Before the operation, and where the addressed bit is.
    scan_held: Dff<Bits<256>>,
    scan_row: Dff<Bits<16>>,
    /// The row, of an operation that sets the bit.
    scan_mark: Dff<Bits<16>>,
    scan_column: Dff<Bits<16>>,
    scan_below: Dff<Bits<256>>,
    row_marks: Signal<Local, Bits<16>>,
    marks: [Signal<Local, Bits<256>>; 17],
    /// After the operation.
    scanned: Signal<Local, Bits<256>>,
    /// The addressed column of every row.
    hits: [Signal<Local, Bits<16>>; 17],
    scan: [ZeroScan; 16],
    // Sum.
    sum_valid: Dff<Bit>,
    sum_bits: Dff<Bits<256>>,
    sum_was_set: Dff<Bit>,
    sum_any: [Dff<Bit>; 16],
    sum_first: [Dff<Bits<8>>; 16],
    sum_count: [Dff<Bits<9>>; 16],
    of_two: [Signal<Local, Bits<9>>; 8],
    of_four: [Signal<Local, Bits<9>>; 4],
    of_eight: [Signal<Local, Bits<9>>; 2],
    pick8: [Signal<Local, Bits<8>>; 8],
    pick8_any: [Signal<Local, Bit>; 8],
    pick4: [Signal<Local, Bits<8>>; 4],
    pick4_any: [Signal<Local, Bit>; 4],
    pick2: [Signal<Local, Bits<8>>; 2],
    pick2_any: [Signal<Local, Bit>; 2],
    // Result.
    done: Dff<Bit>,
    answer: Dff<BitmapResult>,

    fill_at: Dff<Bits<14>>,
    filled: Dff<Bit>,
    more: Dff<Bit>,
    fewer: Dff<Bit>,
    free: Dff<Bits<14>>,
    put: Signal<Local, Bit>,
    take: Signal<Local, Bit>,

    one: Constant<Bits<16>>,
    ones: Constant<Bits<16>>,
    blocks: Constant<Bits<14>>,
    /// Bits that a block's number has, so that nothing behind it keeps the others.
    block_mask: Constant<Bits<13>>,
}

impl Bitmap {
    /// A bitmap of `2^bitmap_blocks_log2` blocks.
    ///
    /// # Panics
    /// When the configuration asks for more blocks than a block number names.
    pub fn new(config: &Config) -> Self {
        let depth_log2 = config.bitmap_blocks_log2;
        assert!(depth_log2 <= 13, "2^{depth_log2} bitmap blocks do not fit a 13-bit block number");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            op_valid: Default::default(),
            op: Default::default(),
            result_valid: Default::default(),
            result: Default::default(),
            alloc_available: Default::default(),
            alloc_block: Default::default(),
            alloc_take: Default::default(),
            free_valid: Default::default(),
            free_block: Default::default(),
            free_count: Default::default(),
            ready: Default::default(),
            ram: SdpRam::new(depth_log2),
            pool: LateFifo::new(depth_log2),
            offers: Default::default(),
            offered: Default::default(),
            select_valid: Default::default(),
            select_kind: Default::default(),
            select_block: Default::default(),
            select_row: Default::default(),
            select_column: Default::default(),
            select_rows_below: Default::default(),
            select_limit_row: Default::default(),
            select_columns_below: Default::default(),
            row_below: Default::default(),
            below: Default::default(),
            hits: Default::default(),
            scan_valid: Default::default(),
            scan_write: Default::default(),
            scan_block: Default::default(),
            scan_held: Default::default(),
            scan_column: Default::default(),
            scan_row: Default::default(),
            scan_mark: Default::default(),
            scan_starts: Default::default(),
            row_marks: Default::default(),
            marks: Default::default(),
            scanned: Default::default(),
            scan_below: Default::default(),
            scan: std::array::from_fn(|_| ZeroScan::new()),
            sum_valid: Default::default(),
            sum_bits: Default::default(),
            sum_was_set: Default::default(),
            sum_any: Default::default(),
            sum_first: Default::default(),
            sum_count: Default::default(),
            of_two: Default::default(),
            of_four: Default::default(),
            of_eight: Default::default(),
            pick8: Default::default(),
            pick8_any: Default::default(),
            pick4: Default::default(),
            pick4_any: Default::default(),
            pick2: Default::default(),
            pick2_any: Default::default(),
            done: Default::default(),
            answer: Default::default(),
            fill_at: Default::default(),
            filled: Default::default(),
            more: Default::default(),
            fewer: Default::default(),
            free: Default::default(),
            put: Default::default(),
            take: Default::default(),
            one: Constant::new(1u64.into()),
            ones: Constant::new(0xffffu64.into()),
            blocks: Constant::new((1u64 << depth_log2).into()),
            block_mask: Constant::new(((1u64 << depth_log2) - 1).into()),
        }
    }
}

impl Logic for Bitmap {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            select_valid,
            select_kind,
            select_block,
            select_row,
            select_column,
            select_rows_below,
            select_limit_row,
            select_columns_below,
            scan_valid,
            scan_write,
            scan_block,
            scan_held,
            scan_column,
            scan_row,
            scan_mark,
            scan_starts,
            scan_below,
            sum_valid,
            sum_bits,
            sum_was_set,
            done,
            answer,
            offers,
            offered,
            fill_at,
            filled,
            more,
            fewer,
            free
        );
        self.ram.clock.next = self.clk.val();

        // Read.
        self.ram.read_address.next = self.op.val().block;
        self.select_valid.d.next = self.op_valid.val();
        self.select_kind.d.next = self.op.val().kind;
        self.select_block.d.next = self.op.val().block;
        self.select_row.d.next = self.one.val() << self.op.val().index.get_bits::<4>(4);
        self.select_column.d.next = self.one.val() << self.op.val().index.get_bits::<4>(0);
        self.select_rows_below.d.next = !(self.ones.val() << self.op.val().limit.get_bits::<5>(4));
        self.select_limit_row.d.next = self.one.val() << self.op.val().limit.get_bits::<5>(4);
        self.select_columns_below.d.next = !(self.ones.val() << self.op.val().limit.get_bits::<4>(0));

        // The block after the operation that is scanned.
        self.marks[0].next = 0.into();
        for i in 0..16 {
            self.row_marks.next = 0.into();
            if self.scan_mark.q.val().get_bit(i) {
                self.row_marks.next = self.scan_column.q.val();
            }
            self.marks[i + 1].next =
                (self.marks[i].val() >> 16) | (bit_cast::<256, 16>(self.row_marks.val()) << 240);
        }
        self.scanned.next = self.scan_held.q.val() | self.marks[16].val();
        if self.scan_starts.q.val() {
            self.scanned.next = !self.scan_below.q.val();
        }

        // Select.
        self.below[0].next = 0.into();
        for i in 0..16 {
            self.row_below.next = 0.into();
            if self.select_limit_row.q.val().get_bit(i) {
                self.row_below.next = self.select_columns_below.q.val();
            }
            if self.select_rows_below.q.val().get_bit(i) {
                self.row_below.next = self.ones.val();
            }
            self.below[i + 1].next =
                (self.below[i].val() >> 16) | (bit_cast::<256, 16>(self.row_below.val()) << 240);
        }
        self.scan_valid.d.next = self.select_valid.q.val();
        self.scan_write.d.next = self.select_valid.q.val() & (self.select_kind.q.val() != 0);
        self.scan_block.d.next = self.select_block.q.val();
        self.scan_held.d.next = self.ram.read_data.val();
        self.scan_starts.d.next = self.select_kind.q.val() == 2;
        self.scan_row.d.next = self.select_row.q.val();
        self.scan_mark.d.next = 0.into();
        if self.select_kind.q.val() == 1 {
            self.scan_mark.d.next = self.select_row.q.val();
        }
        if self.select_kind.q.val() == 2 {
            self.scan_row.d.next = 0.into();
        }
        self.scan_column.d.next = self.select_column.q.val();
        self.scan_below.d.next = self.below[16].val();

        // Scan.
        self.ram.write_enable.next = self.scan_write.q.val();
        self.ram.write_address.next = self.scan_block.q.val();
        self.ram.write_data.next = self.scanned.val();
        self.sum_valid.d.next = self.scan_valid.q.val();
        self.sum_bits.d.next = self.scanned.val();
        self.hits[0].next = 0.into();
        for i in 0..16 {
            self.hits[i + 1].next = self.hits[i].val() >> 1;
            if (self.scan_held.q.val().get_bits::<16>(16 * i) & self.scan_column.q.val()).any() {
                self.hits[i + 1].next = (self.hits[i].val() >> 1) | 0x8000;
            }
            self.scan[i].bits.next = self.scanned.val().get_bits::<16>(i * 16);
            self.scan[i].below.next = self.scan_below.q.val().get_bits::<16>(i * 16);
            self.sum_any[i].clock.next = self.clk.val();
            self.sum_first[i].clock.next = self.clk.val();
            self.sum_count[i].clock.next = self.clk.val();
            self.sum_any[i].d.next = self.scan[i].any.val();
            self.sum_first[i].d.next = self.scan[i].first.val();
            self.sum_count[i].d.next = self.scan[i].count.val();
        }

        self.sum_was_set.d.next = (self.hits[16].val() & self.scan_row.q.val()).any();

        // Sum. The lower of two halves that has a zero wins; the bit that says
        // which goes in front of its index.
        for i in 0..8 {
            self.of_two[i].next = self.sum_count[i].q.val() + self.sum_count[i + 8].q.val();
            self.pick8_any[i].next = self.sum_any[i * 2].q.val() | self.sum_any[i * 2 + 1].q.val();
            if self.sum_any[i * 2].q.val() {
                self.pick8[i].next = self.sum_first[i * 2].q.val();
            } else {
                self.pick8[i].next = self.sum_first[i * 2 + 1].q.val() | 16;
            }
        }
        for i in 0..4 {
            self.of_four[i].next = self.of_two[i].val() + self.of_two[i + 4].val();
            self.pick4_any[i].next = self.pick8_any[i * 2].val() | self.pick8_any[i * 2 + 1].val();
            if self.pick8_any[i * 2].val() {
                self.pick4[i].next = self.pick8[i * 2].val();
            } else {
                self.pick4[i].next = self.pick8[i * 2 + 1].val() | 32;
            }
        }
        for i in 0..2 {
            self.of_eight[i].next = self.of_four[i].val() + self.of_four[i + 2].val();
            self.pick2_any[i].next = self.pick4_any[i * 2].val() | self.pick4_any[i * 2 + 1].val();
            if self.pick4_any[i * 2].val() {
                self.pick2[i].next = self.pick4[i * 2].val();
            } else {
                self.pick2[i].next = self.pick4[i * 2 + 1].val() | 64;
            }
        }
        self.done.d.next = self.sum_valid.q.val();
        self.answer.d.next.was_set = self.sum_was_set.q.val();
        self.answer.d.next.bits = self.sum_bits.q.val();
        self.answer.d.next.missing = self.of_eight[0].val() + self.of_eight[1].val();
        self.answer.d.next.full = !(self.pick2_any[0].val() | self.pick2_any[1].val());
        if self.pick2_any[0].val() {
            self.answer.d.next.first_zero = self.pick2[0].val();
        } else {
            if self.pick2_any[1].val() {
                self.answer.d.next.first_zero = self.pick2[1].val() | 128;
            } else {
                self.answer.d.next.first_zero = 0.into();
            }
        }
        self.result_valid.next = self.done.q.val();
        self.result.next = self.answer.q.val();

        // Free blocks.
        self.pool.clk.next = self.clk.val();
        self.pool.rst.next = self.rst.val();
        if self.filled.q.val() {
            self.pool.in_valid.next = self.free_valid.val();
            self.pool.in_data.next = self.free_block.val();
        } else {
            self.pool.in_valid.next = self.fill_at.q.val() != self.blocks.val();
            self.pool.in_data.next = self.fill_at.q.val().get_bits::<13>(0);
        }
        self.put.next = self.pool.in_valid.val() & self.pool.in_ready.val();
        self.take.next = self.alloc_take.val() & self.offers.q.val();
        self.pool.out_ready.next = self.filled.q.val() & (self.alloc_take.val() | !self.offers.q.val());
        if self.pool.out_ready.val() {
            self.offers.d.next = self.pool.out_valid.val();
            self.offered.d.next = self.pool.out_data.val() & self.block_mask.val();
        }
        if !self.filled.q.val() & self.put.val() {
            self.fill_at.d.next = self.fill_at.q.val() + 1;
        }
        if self.fill_at.q.val() == self.blocks.val() {
            self.filled.d.next = true;
        }
        // Whether one is taken is known late: it is counted a clock later.
        self.more.d.next = self.put.val() & !self.take.val();
        self.fewer.d.next = !self.put.val() & self.take.val();
        if self.more.q.val() {
            self.free.d.next = self.free.q.val() + 1;
        }
        if self.fewer.q.val() {
            self.free.d.next = self.free.q.val() - 1;
        }
        self.alloc_available.next = self.offers.q.val();
        self.alloc_block.next = self.offered.q.val();
        self.free_count.next = self.free.q.val();
        self.ready.next = self.filled.q.val();

        if self.rst.val() {
            self.select_valid.d.next = false;
            self.scan_valid.d.next = false;
            self.scan_write.d.next = false;
            self.sum_valid.d.next = false;
            self.done.d.next = false;
            self.offers.d.next = false;
            self.fill_at.d.next = 0.into();
            self.filled.d.next = false;
            self.more.d.next = false;
            self.fewer.d.next = false;
            self.free.d.next = 0.into();
        }
    }
}
