//! A DMA read port of the NIC on an engine that writes into a segmented RAM, as Corundum's do.
//!
//! ```text
//!  desc ─> lines of the RAM ─────────────────────> read_desc ──┐
//!            └─> tasks FIFO ─┐                                 engine
//!  data <─ registers <─ walk ┴── RAM, two segments <── wr_cmd ─┤
//!            └─> status            done, by tag <─ read_status ┘
//! ```
//!
//! The RAM is UltraRAM where there is some: 512 lines of it were 62 block RAMs for four ports.
//!
//! The engine puts the byte at the address at the beginning of a line (128 bytes, a word of each
//! segment), whatever the address. Descriptors may end in any order; data is sent in theirs.
//!
//! Contract:
//! - one descriptor of 1 to 4,096 bytes per two clocks, three where the ring ([`LineRing`]) of
//!   `2^depth_log2` lines begins again, 32 under way; `desc_ready` is of registers alone;
//! - writes of the engine are always taken, one per segment and clock; `wr_done` a clock later;
//! - one beat per clock from the fourth clock after a status; bytes past the end are zero. Of a descriptor
//!   that failed all of them are, and its status says so. While a beat waits for `data_ready` those
//!   behind it stand in their registers, and the RAM reads the same line again.
//!
//! Verified by `testbenches/tests/segments.rs`.

use super::line_ring::LineRing;
use crate::prelude::*;
use crate::stream::Fifo;

/// What is to be sent of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct SegReadTask {
    /// First line, and how many go back to the ring.
    pub line: Bits<12>,
    pub taken: Bits<6>,
    /// Beats of 64 bytes, less one.
    pub last: Bits<6>,
    /// Bytes of the last beat, 0 = all.
    pub tail: Bits<6>,
    /// The engine's tag, and the NIC's.
    pub number: Bits<5>,
    pub tag: Bits<8>,
}

/// A beat that is read out of the RAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct SegReadStep {
    pub valid: Bit,
    /// It lies in the second segment.
    pub upper: Bit,
    pub last: Bit,
    pub error: Bit,
    pub tail: Bits<6>,
    pub tag: Bits<8>,
    /// Lines that go back to the ring with the last one.
    pub taken: Bits<6>,
}

/// `A` address bits of a segment.
#[derive(LogicBlock)]
pub struct SegRead<const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub desc_valid: Signal<In, Bit>,
    pub desc_ready: Signal<Out, Bit>,
    pub desc_address: Signal<In, Bits<64>>,
    pub desc_length: Signal<In, Bits<13>>,
    pub desc_tag: Signal<In, Bits<8>>,
    pub data_valid: Signal<Out, Bit>,
    pub data_ready: Signal<In, Bit>,
    pub data_tdata: Signal<Out, Bits<512>>,
    pub data_tlast: Signal<Out, Bit>,
    pub status_valid: Signal<Out, Bit>,
    pub status_tag: Signal<Out, Bits<8>>,
    pub status_error: Signal<Out, Bit>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_desc_dma_addr: Signal<Out, Bits<64>>,
    /// A line; the engine's address is 128 times that.
    pub read_desc_line: Signal<Out, Bits<A>>,
    pub read_desc_len: Signal<Out, Bits<16>>,
    pub read_desc_tag: Signal<Out, Bits<6>>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status_tag: Signal<In, Bits<6>>,
    pub read_status_error: Signal<In, Bits<4>>,
    pub wr_cmd_valid: Signal<In, Bits<2>>,
    pub wr_cmd_be: Signal<In, Bits<128>>,
    pub wr_cmd_addr_0: Signal<In, Bits<A>>,
    pub wr_cmd_addr_1: Signal<In, Bits<A>>,
    pub wr_cmd_data: Signal<In, Bits<1024>>,
    pub wr_done: Signal<Out, Bits<2>>,
    ring: LineRing,
    tasks: Fifo<SegReadTask, 5>,
    segment_0: ByteRam<512, 64, A>,
    segment_1: ByteRam<512, 64, A>,
    number: Dff<Bits<5>>,
    asks: Dff<Bit>,
    ask_addr: Dff<Bits<64>>,
    ask_line: Dff<Bits<A>>,
    ask_len: Dff<Bits<16>>,
    ask_tag: Dff<Bits<5>>,
    /// Descriptors that the engine has ended, and those of them that failed.
    ended: Dff<Bits<32>>,
    broken: Dff<Bits<32>>,
    /// Beats of the present task that were read.
    beat: Dff<Bits<6>>,
    /// The line that the RAM was asked for.
    asked: Dff<Bits<12>>,
    /// The beat that the RAM reads, and the one in the registers behind it, which are UltraRAM's own.
    step: Dff<SegReadStep>,
    behind: Dff<SegReadStep>,
    word_0: Dff<Bits<512>>,
    word_1: Dff<Bits<512>>,
    /// Bytes of that one that are none of the host's.
    beyond: Dff<Bits<64>>,
    /// The beat that is sent.
    front: Dff<SegReadStep>,
    word: ByteDff<512, 64>,
    written: Dff<Bits<2>>,
    take: Signal<Local, Bit>,
    lines: Signal<Local, Bits<6>>,
    beats: Signal<Local, Bits<13>>,
    ends: Signal<Local, Bits<32>>,
    breaks: Signal<Local, Bits<32>>,
    ready: Signal<Local, Bit>,
    walk: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    at: Signal<Local, Bits<12>>,
    /// Whether the front's register, the one behind it, the RAM's output are free.
    free: Signal<Local, Bit>,
    free_behind: Signal<Local, Bit>,
    free_step: Signal<Local, Bit>,
    moved: Signal<Local, Bit>,
    one: Constant<Bits<32>>,
    ones: Constant<Bits<64>>,
}

impl<const A: usize> SegRead<A> {
    /// A RAM of `2^depth_log2` lines.
    ///
    /// # Panics
    /// When `depth_log2` is below 7, or above `A` or 11.
    pub fn new(depth_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            desc_valid: Default::default(),
            desc_ready: Default::default(),
            desc_address: Default::default(),
            desc_length: Default::default(),
            desc_tag: Default::default(),
            data_valid: Default::default(),
            data_ready: Default::default(),
            data_tdata: Default::default(),
            data_tlast: Default::default(),
            status_valid: Default::default(),
            status_tag: Default::default(),
            status_error: Default::default(),
            read_desc_valid: Default::default(),
            read_desc_ready: Default::default(),
            read_desc_dma_addr: Default::default(),
            read_desc_line: Default::default(),
            read_desc_len: Default::default(),
            read_desc_tag: Default::default(),
            read_status_valid: Default::default(),
            read_status_tag: Default::default(),
            read_status_error: Default::default(),
            wr_cmd_valid: Default::default(),
            wr_cmd_be: Default::default(),
            wr_cmd_addr_0: Default::default(),
            wr_cmd_addr_1: Default::default(),
            wr_cmd_data: Default::default(),
            wr_done: Default::default(),
            ring: LineRing::new(depth_log2, 32),
            tasks: Fifo::new(5),
            segment_0: ByteRam::new(depth_log2).with_style("ultra"),
            segment_1: ByteRam::new(depth_log2).with_style("ultra"),
            number: Default::default(),
            asks: Default::default(),
            ask_addr: Default::default(),
            ask_line: Default::default(),
            ask_len: Default::default(),
            ask_tag: Default::default(),
            ended: Default::default(),
            broken: Default::default(),
            beat: Default::default(),
            asked: Default::default(),
            step: Default::default(),
            behind: Default::default(),
            word_0: Default::default(),
            word_1: Default::default(),
            beyond: Default::default(),
            front: Default::default(),
            word: ByteDff::new(),
            written: Default::default(),
            take: Default::default(),
            lines: Default::default(),
            beats: Default::default(),
            ends: Default::default(),
            breaks: Default::default(),
            ready: Default::default(),
            walk: Default::default(),
            last: Default::default(),
            at: Default::default(),
            free: Default::default(),
            free_behind: Default::default(),
            free_step: Default::default(),
            moved: Default::default(),
            one: Constant::new(1u64.into()),
            ones: Constant::new(!Bits::<64>::default()),
        }
    }
}

impl<const A: usize> Logic for SegRead<A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, number, asks, ask_addr, ask_line, ask_len, ask_tag, ended, broken, beat, asked, step,
            behind, word_0, word_1, beyond, front, written
        );
        self.ring.clk.next = self.clk.val();
        self.ring.rst.next = self.rst.val();
        self.tasks.clk.next = self.clk.val();
        self.tasks.rst.next = self.rst.val();
        self.word.clock.next = self.clk.val();
        self.segment_0.clock.next = self.clk.val();
        self.segment_1.clock.next = self.clk.val();

        // Lines for a descriptor, of registers alone.
        self.lines.next = ((self.desc_length.val() + 127) >> 7).get_bits::<6>(0);
        self.desc_ready.next = !self.asks.q.val() & self.tasks.in_ready.val() & self.ring.ready.val();
        self.take.next = self.desc_valid.val() & self.desc_ready.val();
        self.beats.next = ((self.desc_length.val() + 63) >> 6) - 1;
        self.ring.lend.next = self.take.val();
        self.ring.count.next = self.lines.val();
        self.tasks.in_valid.next = self.take.val();
        self.tasks.in_data.next.line = self.ring.line.val();
        self.tasks.in_data.next.taken = self.lines.val();
        self.tasks.in_data.next.last = self.beats.val().get_bits::<6>(0);
        self.tasks.in_data.next.tail = self.desc_length.val().get_bits::<6>(0);
        self.tasks.in_data.next.number = self.number.q.val();
        self.tasks.in_data.next.tag = self.desc_tag.val();
        if self.read_desc_ready.val() {
            self.asks.d.next = false;
        }
        if self.take.val() {
            self.asks.d.next = true;
            self.ask_addr.d.next = self.desc_address.val();
            self.ask_line.d.next = bit_cast::<A, 12>(self.ring.line.val());
            self.ask_len.d.next = bit_cast::<16, 13>(self.desc_length.val());
            self.ask_tag.d.next = self.number.q.val();
            self.number.d.next = self.number.q.val() + 1;
        }
        self.read_desc_valid.next = self.asks.q.val();
        self.read_desc_dma_addr.next = self.ask_addr.q.val();
        self.read_desc_line.next = self.ask_line.q.val();
        self.read_desc_len.next = self.ask_len.q.val();
        self.read_desc_tag.next = bit_cast::<6, 5>(self.ask_tag.q.val());

        self.segment_0.write_enable.next = 0.into();
        self.segment_1.write_enable.next = 0.into();
        if self.wr_cmd_valid.val().get_bit(0) {
            self.segment_0.write_enable.next = self.wr_cmd_be.val().get_bits::<64>(0);
        }
        if self.wr_cmd_valid.val().get_bit(1) {
            self.segment_1.write_enable.next = self.wr_cmd_be.val().get_bits::<64>(64);
        }
        self.segment_0.write_address.next = self.wr_cmd_addr_0.val();
        self.segment_1.write_address.next = self.wr_cmd_addr_1.val();
        self.segment_0.write_data.next = self.wr_cmd_data.val().get_bits::<512>(0);
        self.segment_1.write_data.next = self.wr_cmd_data.val().get_bits::<512>(512);
        self.written.d.next = self.wr_cmd_valid.val();
        self.wr_done.next = self.written.q.val();

        // Each register is free that moves on or has no beat.
        self.free.next = !self.front.q.val().valid | self.data_ready.val();
        self.free_behind.next = !self.behind.q.val().valid | self.free.val();
        self.free_step.next = !self.step.q.val().valid | self.free_behind.val();

        // The oldest descriptor is read out once it has ended.
        self.ready.next =
            self.tasks.out_valid.val() & self.ended.q.val().get_bit(self.tasks.out_data.val().number.index());
        self.walk.next = self.ready.val() & self.free_step.val();
        self.last.next = self.beat.q.val() == self.tasks.out_data.val().last;
        self.at.next = self.asked.q.val();
        if self.free_step.val() {
            self.at.next = self.tasks.out_data.val().line + bit_cast::<12, 6>(self.beat.q.val() >> 1);
        }
        self.asked.d.next = self.at.val();
        self.segment_0.read_address.next = bit_cast::<A, 12>(self.at.val());
        self.segment_1.read_address.next = bit_cast::<A, 12>(self.at.val());
        if self.free_step.val() {
            self.step.d.next.valid = self.walk.val();
            self.step.d.next.upper = self.beat.q.val().get_bit(0);
            self.step.d.next.last = self.last.val();
            self.step.d.next.error = self.broken.q.val().get_bit(self.tasks.out_data.val().number.index());
            self.step.d.next.tail = self.tasks.out_data.val().tail;
            self.step.d.next.tag = self.tasks.out_data.val().tag;
            self.step.d.next.taken = self.tasks.out_data.val().taken;
        }
        self.tasks.out_ready.next = self.walk.val() & self.last.val();
        // Not before the last word is in registers: whose line it is writes there at once.
        self.ring.back.next = self.step.q.val().valid & self.step.q.val().last & self.free_behind.val();
        self.ring.returned.next = self.step.q.val().taken;
        self.ends.next = self.ended.q.val();
        self.breaks.next = self.broken.q.val();
        if self.walk.val() {
            self.beat.d.next = self.beat.q.val() + 1;
            if self.last.val() {
                self.beat.d.next = 0.into();
                self.ends.next = self.ends.val() & !(self.one.val() << self.tasks.out_data.val().number);
                self.breaks.next = self.breaks.val() & !(self.one.val() << self.tasks.out_data.val().number);
            }
        }
        if self.read_status_valid.val() {
            self.ends.next =
                self.ends.val() | (self.one.val() << self.read_status_tag.val().get_bits::<5>(0));
            if self.read_status_error.val().any() {
                self.breaks.next =
                    self.breaks.val() | (self.one.val() << self.read_status_tag.val().get_bits::<5>(0));
            }
        }
        self.ended.d.next = self.ends.val();
        self.broken.d.next = self.breaks.val();

        // A clock later the word is there, one more later in registers, and in front behind those.
        if self.free_behind.val() {
            self.behind.d.next = self.step.q.val();
            self.word_0.d.next = self.segment_0.read_data.val();
            self.word_1.d.next = self.segment_1.read_data.val();
            self.beyond.d.next = 0.into();
            if self.step.q.val().last & (self.step.q.val().tail != 0) {
                self.beyond.d.next = self.ones.val() << self.step.q.val().tail;
            }
            if self.step.q.val().error {
                self.beyond.d.next = self.ones.val();
            }
        }
        if self.free.val() {
            self.front.d.next = self.behind.q.val();
        }
        self.word.enable.next = self.free.val();
        self.word.clear.next = self.beyond.q.val();
        self.word.d.next = self.word_0.q.val();
        if self.behind.q.val().upper {
            self.word.d.next = self.word_1.q.val();
        }
        self.moved.next = self.front.q.val().valid & self.data_ready.val();
        self.data_valid.next = self.front.q.val().valid;
        self.data_tdata.next = self.word.q.val();
        self.data_tlast.next = self.front.q.val().last;
        self.status_valid.next = self.moved.val() & self.front.q.val().last;
        self.status_tag.next = self.front.q.val().tag;
        self.status_error.next = self.front.q.val().error;

        if self.rst.val() {
            self.number.d.next = 0.into();
            self.asks.d.next = false;
            self.ended.d.next = 0.into();
            self.broken.d.next = 0.into();
            self.beat.d.next = 0.into();
            self.step.d.next.valid = false;
            self.behind.d.next.valid = false;
            self.front.d.next.valid = false;
            self.written.d.next = 0.into();
        }
    }
}
