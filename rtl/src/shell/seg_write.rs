//! A DMA write port of the NIC on an engine that reads a segmented RAM, as Corundum's do.
//!
//! ```text
//!  desc ─> lines of the RAM, tasks FIFO ─┐
//!  data ─────────────────────────────────┴─> RAM, two segments ──> rd_resp ─┐
//!                           all of it there: write_desc ──────────────────> engine
//!  status <─ the NIC's tag, by the engine's <─────────────── write_status ──┘
//! ```
//!
//! Data of a descriptor begins at the beginning of a line (128 bytes, a word of each segment); the engine
//! puts it where the address says, whatever that is.
//!
//! Contract:
//! - one descriptor of 1 to 4,136 bytes per two clocks, three where the ring ([`LineRing`]) of
//!   `2^depth_log2` lines begins again, 34 under way; `desc_ready` is of registers alone;
//! - one beat per clock, and an address for the engine when the last is there;
//! - a word of each segment is read per clock, comes two clocks after its address out of a register,
//!   and stays until it is taken;
//! - the status comes a clock after the engine's, in the engine's order. Any error is one.
//!
//! Verified by `testbenches/tests/segments.rs`.

use super::line_ring::LineRing;
use crate::prelude::*;
use crate::stream::Fifo;

/// A descriptor whose data comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct SegWriteTask {
    pub address: Bits<64>,
    pub length: Bits<13>,
    /// First line, and how many go back to the ring.
    pub line: Bits<12>,
    pub taken: Bits<6>,
    /// Beats of 64 bytes, less one.
    pub last: Bits<7>,
    pub tag: Bits<8>,
}

/// Lines that go back when the engine has ended a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct SegLent {
    pub number: Bits<6>,
    pub taken: Bits<6>,
}

/// `A` address bits of a segment.
#[derive(LogicBlock)]
pub struct SegWrite<const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub desc_valid: Signal<In, Bit>,
    pub desc_ready: Signal<Out, Bit>,
    pub desc_address: Signal<In, Bits<64>>,
    pub desc_length: Signal<In, Bits<13>>,
    pub desc_tag: Signal<In, Bits<8>>,
    pub data_valid: Signal<In, Bit>,
    pub data_ready: Signal<Out, Bit>,
    pub data_tdata: Signal<In, Bits<512>>,
    pub status_valid: Signal<Out, Bit>,
    pub status_tag: Signal<Out, Bits<8>>,
    pub status_error: Signal<Out, Bit>,
    pub write_desc_valid: Signal<Out, Bit>,
    pub write_desc_ready: Signal<In, Bit>,
    pub write_desc_dma_addr: Signal<Out, Bits<64>>,
    /// A line; the engine's address is 128 times that.
    pub write_desc_line: Signal<Out, Bits<A>>,
    pub write_desc_len: Signal<Out, Bits<16>>,
    pub write_desc_tag: Signal<Out, Bits<6>>,
    pub write_status_valid: Signal<In, Bit>,
    pub write_status_tag: Signal<In, Bits<6>>,
    pub write_status_error: Signal<In, Bits<4>>,
    pub rd_cmd_valid: Signal<In, Bits<2>>,
    pub rd_cmd_addr_0: Signal<In, Bits<A>>,
    pub rd_cmd_addr_1: Signal<In, Bits<A>>,
    pub rd_cmd_ready: Signal<Out, Bits<2>>,
    pub rd_resp_data: Signal<Out, Bits<1024>>,
    pub rd_resp_valid: Signal<Out, Bits<2>>,
    pub rd_resp_ready: Signal<In, Bits<2>>,
    ring: LineRing,
    tasks: Fifo<SegWriteTask, 5>,
    lent: Fifo<SegLent, 5>,
    /// The NIC's tag by the engine's.
    tags: SdpRam<Bits<8>, 6>,
    segment_0: SdpRam<Bits<512>, A>,
    segment_1: SdpRam<Bits<512>, A>,
    number: Dff<Bits<6>>,
    /// Beats of the present task that were written.
    beat: Dff<Bits<7>>,
    asks: Dff<Bit>,
    ask_addr: Dff<Bits<64>>,
    ask_line: Dff<Bits<A>>,
    ask_len: Dff<Bits<16>>,
    ask_tag: Dff<Bits<6>>,
    /// Descriptors that the engine has ended.
    ended: Dff<Bits<64>>,
    told: Dff<Bit>,
    told_error: Dff<Bit>,
    /// A word that was asked for stands at the segment's output, and one in the register behind it,
    /// which is UltraRAM's own: the engine has what comes out before it.
    full_0: Dff<Bit>,
    full_1: Dff<Bit>,
    held_0: Dff<Bit>,
    held_1: Dff<Bit>,
    word_0: Dff<Bits<512>>,
    word_1: Dff<Bits<512>>,
    asked_0: Dff<Bits<A>>,
    asked_1: Dff<Bits<A>>,
    take: Signal<Local, Bit>,
    lines: Signal<Local, Bits<6>>,
    beats: Signal<Local, Bits<13>>,
    last: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    at: Signal<Local, Bits<12>>,
    ends: Signal<Local, Bits<64>>,
    frees: Signal<Local, Bit>,
    moves_0: Signal<Local, Bit>,
    moves_1: Signal<Local, Bit>,
    open_0: Signal<Local, Bit>,
    open_1: Signal<Local, Bit>,
    accept_0: Signal<Local, Bit>,
    accept_1: Signal<Local, Bit>,
    read_0: Signal<Local, Bits<A>>,
    read_1: Signal<Local, Bits<A>>,
    one: Constant<Bits<64>>,
}

impl<const A: usize> SegWrite<A> {
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
            status_valid: Default::default(),
            status_tag: Default::default(),
            status_error: Default::default(),
            write_desc_valid: Default::default(),
            write_desc_ready: Default::default(),
            write_desc_dma_addr: Default::default(),
            write_desc_line: Default::default(),
            write_desc_len: Default::default(),
            write_desc_tag: Default::default(),
            write_status_valid: Default::default(),
            write_status_tag: Default::default(),
            write_status_error: Default::default(),
            rd_cmd_valid: Default::default(),
            rd_cmd_addr_0: Default::default(),
            rd_cmd_addr_1: Default::default(),
            rd_cmd_ready: Default::default(),
            rd_resp_data: Default::default(),
            rd_resp_valid: Default::default(),
            rd_resp_ready: Default::default(),
            ring: LineRing::new(depth_log2, 33),
            tasks: Fifo::new(5),
            lent: Fifo::new(5),
            tags: SdpRam::new(6),
            segment_0: SdpRam::new(depth_log2).with_style("ultra").from_zeros(),
            segment_1: SdpRam::new(depth_log2).with_style("ultra").from_zeros(),
            number: Default::default(),
            beat: Default::default(),
            asks: Default::default(),
            ask_addr: Default::default(),
            ask_line: Default::default(),
            ask_len: Default::default(),
            ask_tag: Default::default(),
            ended: Default::default(),
            told: Default::default(),
            told_error: Default::default(),
            full_0: Default::default(),
            full_1: Default::default(),
            held_0: Default::default(),
            held_1: Default::default(),
            word_0: Default::default(),
            word_1: Default::default(),
            moves_0: Default::default(),
            moves_1: Default::default(),
            asked_0: Default::default(),
            asked_1: Default::default(),
            take: Default::default(),
            lines: Default::default(),
            beats: Default::default(),
            last: Default::default(),
            put: Default::default(),
            at: Default::default(),
            ends: Default::default(),
            frees: Default::default(),
            open_0: Default::default(),
            open_1: Default::default(),
            accept_0: Default::default(),
            accept_1: Default::default(),
            read_0: Default::default(),
            read_1: Default::default(),
            one: Constant::new(1u64.into()),
        }
    }
}

impl<const A: usize> Logic for SegWrite<A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, number, beat, asks, ask_addr, ask_line, ask_len, ask_tag, ended, told, told_error,
            full_0, full_1, held_0, held_1, word_0, word_1, asked_0, asked_1
        );
        self.ring.clk.next = self.clk.val();
        self.ring.rst.next = self.rst.val();
        self.tasks.clk.next = self.clk.val();
        self.tasks.rst.next = self.rst.val();
        self.lent.clk.next = self.clk.val();
        self.lent.rst.next = self.rst.val();
        self.tags.clock.next = self.clk.val();
        self.segment_0.clock.next = self.clk.val();
        self.segment_1.clock.next = self.clk.val();

        // Lines for a descriptor, of registers alone.
        self.lines.next = ((self.desc_length.val() + 127) >> 7).get_bits::<6>(0);
        self.desc_ready.next = self.tasks.in_ready.val() & self.ring.ready.val();
        self.take.next = self.desc_valid.val() & self.desc_ready.val();
        self.beats.next = ((self.desc_length.val() + 63) >> 6) - 1;
        self.ring.lend.next = self.take.val();
        self.ring.count.next = self.lines.val();
        self.tasks.in_valid.next = self.take.val();
        self.tasks.in_data.next.address = self.desc_address.val();
        self.tasks.in_data.next.length = self.desc_length.val();
        self.tasks.in_data.next.line = self.ring.line.val();
        self.tasks.in_data.next.taken = self.lines.val();
        self.tasks.in_data.next.last = self.beats.val().get_bits::<7>(0);
        self.tasks.in_data.next.tag = self.desc_tag.val();

        // Its data goes into both segments in turn; with the last of it the engine is asked.
        self.last.next = self.beat.q.val() == self.tasks.out_data.val().last;
        self.data_ready.next =
            self.tasks.out_valid.val() & (!self.last.val() | (!self.asks.q.val() & self.lent.in_ready.val()));
        self.put.next = self.data_valid.val() & self.data_ready.val();
        self.at.next = self.tasks.out_data.val().line + bit_cast::<12, 7>(self.beat.q.val() >> 1);
        self.segment_0.write_enable.next = self.put.val() & !self.beat.q.val().get_bit(0);
        self.segment_1.write_enable.next = self.put.val() & self.beat.q.val().get_bit(0);
        self.segment_0.write_address.next = bit_cast::<A, 12>(self.at.val());
        self.segment_1.write_address.next = bit_cast::<A, 12>(self.at.val());
        self.segment_0.write_data.next = self.data_tdata.val();
        self.segment_1.write_data.next = self.data_tdata.val();
        self.tasks.out_ready.next = self.put.val() & self.last.val();
        self.lent.in_valid.next = self.put.val() & self.last.val();
        self.lent.in_data.next.number = self.number.q.val();
        self.lent.in_data.next.taken = self.tasks.out_data.val().taken;
        self.tags.write_enable.next = self.put.val() & self.last.val();
        self.tags.write_address.next = self.number.q.val();
        self.tags.write_data.next = self.tasks.out_data.val().tag;
        if self.write_desc_ready.val() {
            self.asks.d.next = false;
        }
        if self.put.val() {
            self.beat.d.next = self.beat.q.val() + 1;
            if self.last.val() {
                self.beat.d.next = 0.into();
                self.asks.d.next = true;
                self.ask_addr.d.next = self.tasks.out_data.val().address;
                self.ask_line.d.next = bit_cast::<A, 12>(self.tasks.out_data.val().line);
                self.ask_len.d.next = bit_cast::<16, 13>(self.tasks.out_data.val().length);
                self.ask_tag.d.next = self.number.q.val();
                self.number.d.next = self.number.q.val() + 1;
            }
        }
        self.write_desc_valid.next = self.asks.q.val();
        self.write_desc_dma_addr.next = self.ask_addr.q.val();
        self.write_desc_line.next = self.ask_line.q.val();
        self.write_desc_len.next = self.ask_len.q.val();
        self.write_desc_tag.next = self.ask_tag.q.val();

        // The engine reads; a word that is not taken stays, since its address does.
        self.moves_0.next = !self.held_0.q.val() | self.rd_resp_ready.val().get_bit(0);
        self.moves_1.next = !self.held_1.q.val() | self.rd_resp_ready.val().get_bit(1);
        if self.moves_0.val() {
            self.held_0.d.next = self.full_0.q.val();
            self.word_0.d.next = self.segment_0.read_data.val();
        }
        if self.moves_1.val() {
            self.held_1.d.next = self.full_1.q.val();
            self.word_1.d.next = self.segment_1.read_data.val();
        }
        self.open_0.next = !self.full_0.q.val() | self.moves_0.val();
        self.open_1.next = !self.full_1.q.val() | self.moves_1.val();
        self.accept_0.next = self.rd_cmd_valid.val().get_bit(0) & self.open_0.val();
        self.accept_1.next = self.rd_cmd_valid.val().get_bit(1) & self.open_1.val();
        self.read_0.next = self.asked_0.q.val();
        self.read_1.next = self.asked_1.q.val();
        if self.accept_0.val() {
            self.read_0.next = self.rd_cmd_addr_0.val();
        }
        if self.accept_1.val() {
            self.read_1.next = self.rd_cmd_addr_1.val();
        }
        self.asked_0.d.next = self.read_0.val();
        self.asked_1.d.next = self.read_1.val();
        self.segment_0.read_address.next = self.read_0.val();
        self.segment_1.read_address.next = self.read_1.val();
        if self.open_0.val() {
            self.full_0.d.next = self.accept_0.val();
        }
        if self.open_1.val() {
            self.full_1.d.next = self.accept_1.val();
        }
        self.rd_cmd_ready.next = 0.into();
        self.rd_cmd_ready.next = self.rd_cmd_ready.val().replace_bit(0, self.open_0.val());
        self.rd_cmd_ready.next = self.rd_cmd_ready.val().replace_bit(1, self.open_1.val());
        self.rd_resp_valid.next = 0.into();
        self.rd_resp_valid.next = self.rd_resp_valid.val().replace_bit(0, self.held_0.q.val());
        self.rd_resp_valid.next = self.rd_resp_valid.val().replace_bit(1, self.held_1.q.val());
        self.rd_resp_data.next =
            bit_cast::<1024, 512>(self.word_0.q.val()) | (bit_cast::<1024, 512>(self.word_1.q.val()) << 512);

        // Ends come in any order, lines go back in theirs.
        self.frees.next =
            self.lent.out_valid.val() & self.ended.q.val().get_bit(self.lent.out_data.val().number.index());
        self.lent.out_ready.next = self.frees.val();
        self.ring.back.next = self.frees.val();
        self.ring.returned.next = self.lent.out_data.val().taken;
        self.ends.next = self.ended.q.val();
        if self.frees.val() {
            self.ends.next = self.ends.val() & !(self.one.val() << self.lent.out_data.val().number);
        }
        if self.write_status_valid.val() {
            self.ends.next = self.ends.val() | (self.one.val() << self.write_status_tag.val());
        }
        self.ended.d.next = self.ends.val();
        self.tags.read_address.next = self.write_status_tag.val();
        self.told.d.next = self.write_status_valid.val();
        self.told_error.d.next = self.write_status_error.val().any();
        self.status_valid.next = self.told.q.val();
        self.status_tag.next = self.tags.read_data.val();
        self.status_error.next = self.told_error.q.val();

        if self.rst.val() {
            self.number.d.next = 0.into();
            self.beat.d.next = 0.into();
            self.asks.d.next = false;
            self.ended.d.next = 0.into();
            self.told.d.next = false;
            self.full_0.d.next = false;
            self.full_1.d.next = false;
            self.held_0.d.next = false;
            self.held_1.d.next = false;
        }
    }
}
