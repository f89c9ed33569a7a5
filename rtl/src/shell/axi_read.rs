//! A DMA read port of the NIC on an AXI4 bus.
//!
//! ```text
//!  desc ─> bursts ─────────────────────────> AR
//!            └─> tasks FIFO ─┐
//!  data <─ join <─ rotate <──┴────────────── R
//!            └─> status
//! ```
//!
//! A descriptor of any address becomes bursts of whole beats, none of which crosses 4 KiB
//! or has more than 256 beats. What comes back is rotated so that the byte at the address
//! is byte 0, and joined from two beats where the address is not a beat's.
//!
//! Contract:
//! - one descriptor per two clocks, 64 of them under way;
//! - one beat per clock; two clocks pass from R to data. A descriptor whose last bytes
//!   share no bus beat with bytes behind them takes a clock more where it is not aligned;
//! - bytes past the end are zero; the status comes with the last beat. Any RRESP but OKAY
//!   and EXOKAY is an error of the descriptor;
//! - one ID: data comes in the order of addresses. `rready` follows `data_ready` within the
//!   clock, and depends on registers but for that.
//!
//! Verified by `testbenches/tests/axi.rs`.

use crate::prelude::*;
use crate::stream::Fifo;

/// What the data side must know of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ReadTask {
    /// Bytes of the first bus beat in front of the address.
    pub offset: Bits<6>,
    /// Bytes of the last beat of data, 0 = all.
    pub tail: Bits<6>,
    /// Bus beats.
    pub beats: Bits<10>,
    /// The last bus beat holds bytes of two beats of data.
    pub flush: Bit,
    pub tag: Bits<8>,
}

/// `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct AxiRead<const W: usize, const K: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub desc_valid: Signal<In, Bit>,
    pub desc_ready: Signal<Out, Bit>,
    pub desc_address: Signal<In, Bits<64>>,
    pub desc_length: Signal<In, Bits<13>>,
    pub desc_tag: Signal<In, Bits<8>>,
    pub data_valid: Signal<Out, Bit>,
    pub data_ready: Signal<In, Bit>,
    pub data_tdata: Signal<Out, Bits<W>>,
    pub data_tlast: Signal<Out, Bit>,
    pub status_valid: Signal<Out, Bit>,
    pub status_tag: Signal<Out, Bits<8>>,
    pub status_error: Signal<Out, Bit>,
    pub arvalid: Signal<Out, Bit>,
    pub arready: Signal<In, Bit>,
    pub araddr: Signal<Out, Bits<64>>,
    pub arlen: Signal<Out, Bits<8>>,
    pub rvalid: Signal<In, Bit>,
    pub rready: Signal<Out, Bit>,
    pub rdata: Signal<In, Bits<W>>,
    pub rresp: Signal<In, Bits<2>>,
    tasks: Fifo<ReadTask, 6>,
    /// Next beat to ask for, and how many.
    at: Dff<Bits<64>>,
    left: Dff<Bits<10>>,
    ar_valid: Dff<Bit>,
    ar_addr: Dff<Bits<64>>,
    ar_len: Dff<Bits<8>>,
    /// Bus beats of the present task that have come.
    count: Dff<Bits<10>>,
    /// A bus beat, rotated, and what its task says.
    beat: Dff<Bits<W>>,
    beat_valid: Dff<Bit>,
    beat_first: Dff<Bit>,
    beat_last: Dff<Bit>,
    beat_error: Dff<Bit>,
    work: Dff<ReadTask>,
    /// The one before it, and whether its rest is to be sent alone.
    held: Dff<Bits<W>>,
    held_task: Dff<ReadTask>,
    flush: Dff<Bit>,
    failed: Dff<Bit>,
    out: Dff<Bits<W>>,
    out_valid: Dff<Bit>,
    out_last: Dff<Bit>,
    out_error: Dff<Bit>,
    out_tag: Dff<Bits<8>>,
    take: Signal<Local, Bit>,
    offset: Signal<Local, Bits<6>>,
    behind: Signal<Local, Bits<13>>,
    beats: Signal<Local, Bits<13>>,
    beats_out: Signal<Local, Bits<13>>,
    index: Signal<Local, Bits<10>>,
    room: Signal<Local, Bits<10>>,
    burst: Signal<Local, Bits<10>>,
    asks: Signal<Local, Bit>,
    came: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    shift: Signal<Local, Bits<9>>,
    back: Signal<Local, Bits<9>>,
    rotated: Signal<Local, Bits<W>>,
    open: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    /// The task of what is sent next.
    present: Signal<Local, ReadTask>,
    front: Signal<Local, Bits<9>>,
    /// Bytes that are of the held beat.
    mask: Signal<Local, Bits<W>>,
    joined: Signal<Local, Bits<W>>,
    tail_shift: Signal<Local, Bits<9>>,
    kept: Signal<Local, Bits<W>>,
    ends: Signal<Local, Bit>,
    emits: Signal<Local, Bit>,
    ones: Constant<Bits<W>>,
    byte_mask: Constant<Bits<6>>,
    round: Constant<Bits<13>>,
    bytes_log2: Constant<Bits<4>>,
    width: Constant<Bits<10>>,
    window: Constant<Bits<10>>,
    window_mask: Constant<Bits<10>>,
}

impl<const W: usize, const K: usize> AxiRead<W, K> {
    /// # Panics
    /// Unless `W` is 64, 128, 256 or 512 and `K` its bytes.
    pub fn new() -> Self {
        assert!(matches!(W, 64 | 128 | 256 | 512) && W == 8 * K, "no bus of {W} bits of {K} bytes");
        let window = super::window(K);
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
            arvalid: Default::default(),
            arready: Default::default(),
            araddr: Default::default(),
            arlen: Default::default(),
            rvalid: Default::default(),
            rready: Default::default(),
            rdata: Default::default(),
            rresp: Default::default(),
            tasks: Fifo::new(6),
            at: Default::default(),
            left: Default::default(),
            ar_valid: Default::default(),
            ar_addr: Default::default(),
            ar_len: Default::default(),
            count: Default::default(),
            beat: Default::default(),
            beat_valid: Default::default(),
            beat_first: Default::default(),
            beat_last: Default::default(),
            beat_error: Default::default(),
            work: Default::default(),
            held: Default::default(),
            held_task: Default::default(),
            present: Default::default(),
            flush: Default::default(),
            failed: Default::default(),
            out: Default::default(),
            out_valid: Default::default(),
            out_last: Default::default(),
            out_error: Default::default(),
            out_tag: Default::default(),
            take: Default::default(),
            offset: Default::default(),
            behind: Default::default(),
            beats: Default::default(),
            beats_out: Default::default(),
            index: Default::default(),
            room: Default::default(),
            burst: Default::default(),
            asks: Default::default(),
            came: Default::default(),
            last: Default::default(),
            shift: Default::default(),
            back: Default::default(),
            rotated: Default::default(),
            open: Default::default(),
            moves: Default::default(),
            fails: Default::default(),
            front: Default::default(),
            mask: Default::default(),
            joined: Default::default(),
            tail_shift: Default::default(),
            kept: Default::default(),
            ends: Default::default(),
            emits: Default::default(),
            ones: Constant::new(!Bits::<W>::default()),
            byte_mask: Constant::new((K as u64 - 1).into()),
            round: Constant::new((K as u64 - 1).into()),
            bytes_log2: Constant::new(u64::from(K.ilog2()).into()),
            width: Constant::new((W as u64).into()),
            window: Constant::new(window.into()),
            window_mask: Constant::new((window - 1).into()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for AxiRead<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, at, left, ar_valid, ar_addr, ar_len, count, beat, beat_valid, beat_first, beat_last,
            beat_error, work, held, held_task, flush, failed, out, out_valid, out_last, out_error, out_tag
        );
        self.tasks.clk.next = self.clk.val();
        self.tasks.rst.next = self.rst.val();

        // A descriptor is cut into bursts, one per clock.
        self.offset.next = self.desc_address.val().get_bits::<6>(0) & self.byte_mask.val();
        self.behind.next = bit_cast::<13, 6>(self.offset.val()) + self.desc_length.val();
        self.beats.next = (self.behind.val() + self.round.val()) >> self.bytes_log2.val();
        self.beats_out.next = (self.desc_length.val() + self.round.val()) >> self.bytes_log2.val();
        self.desc_ready.next = (self.left.q.val() == 0) & self.tasks.in_ready.val();
        self.take.next = self.desc_valid.val() & self.desc_ready.val();
        self.tasks.in_valid.next = self.take.val();
        self.tasks.in_data.next.offset = self.offset.val();
        self.tasks.in_data.next.tail = self.desc_length.val().get_bits::<6>(0) & self.byte_mask.val();
        self.tasks.in_data.next.beats = self.beats.val().get_bits::<10>(0);
        self.tasks.in_data.next.flush = (self.offset.val() != 0) & (self.beats.val() == self.beats_out.val());
        self.tasks.in_data.next.tag = self.desc_tag.val();

        self.index.next =
            (self.at.q.val() >> self.bytes_log2.val()).get_bits::<10>(0) & self.window_mask.val();
        self.room.next = self.window.val() - self.index.val();
        self.burst.next = self.left.q.val();
        if self.room.val() < self.left.q.val() {
            self.burst.next = self.room.val();
        }
        self.asks.next = (self.left.q.val() != 0) & (!self.ar_valid.q.val() | self.arready.val());
        if self.arready.val() {
            self.ar_valid.d.next = false;
        }
        if self.asks.val() {
            self.ar_valid.d.next = true;
            self.ar_addr.d.next = self.at.q.val();
            self.ar_len.d.next = (self.burst.val() - 1).get_bits::<8>(0);
            self.at.d.next =
                self.at.q.val() + (bit_cast::<64, 10>(self.burst.val()) << self.bytes_log2.val());
            self.left.d.next = self.left.q.val() - self.burst.val();
        }
        if self.take.val() {
            self.at.d.next = self.desc_address.val() - bit_cast::<64, 6>(self.offset.val());
            self.left.d.next = self.beats.val().get_bits::<10>(0);
        }
        self.arvalid.next = self.ar_valid.q.val();
        self.araddr.next = self.ar_addr.q.val();
        self.arlen.next = self.ar_len.q.val();

        // Bus beats are rotated to where their bytes will stand.
        self.open.next = !self.out_valid.q.val() | self.data_ready.val();
        self.moves.next = self.beat_valid.q.val() & self.open.val() & !self.flush.q.val();
        self.rready.next = !self.beat_valid.q.val() | self.moves.val();
        self.came.next = self.rvalid.val() & self.rready.val() & self.tasks.out_valid.val();
        self.last.next = self.count.q.val() + 1 == self.tasks.out_data.val().beats;
        self.shift.next = bit_cast::<9, 6>(self.tasks.out_data.val().offset) << 3;
        self.back.next = (self.width.val() - bit_cast::<10, 9>(self.shift.val())).get_bits::<9>(0);
        self.rotated.next = self.rdata.val();
        if self.tasks.out_data.val().offset != 0 {
            self.rotated.next =
                (self.rdata.val() >> self.shift.val()) | (self.rdata.val() << self.back.val());
        }
        self.tasks.out_ready.next = self.came.val() & self.last.val();
        if self.moves.val() {
            self.beat_valid.d.next = false;
        }
        if self.came.val() {
            self.beat.d.next = self.rotated.val();
            self.beat_valid.d.next = true;
            self.beat_first.d.next = self.count.q.val() == 0;
            self.beat_last.d.next = self.last.val();
            self.beat_error.d.next = self.rresp.val().get_bit(1);
            self.work.d.next = self.tasks.out_data.val();
            self.count.d.next = self.count.q.val() + 1;
            if self.last.val() {
                self.count.d.next = 0.into();
            }
        }

        // Each beat of data is the rest of one bus beat and the beginning of the next.
        self.present.next = self.work.q.val();
        if self.flush.q.val() {
            self.present.next = self.held_task.q.val();
        }
        self.front.next = bit_cast::<9, 6>(self.present.val().offset) << 3;
        self.mask.next = self.ones.val() >> self.front.val();
        self.fails.next = self.beat_error.q.val() | (self.failed.q.val() & !self.beat_first.q.val());
        self.joined.next = (self.held.q.val() & self.mask.val()) | (self.beat.q.val() & !self.mask.val());
        self.ends.next = self.beat_last.q.val() & !self.present.val().flush;
        self.emits.next = self.moves.val() & !self.beat_first.q.val();
        if self.present.val().offset == 0 {
            self.joined.next = self.beat.q.val();
            self.emits.next = self.moves.val();
        }
        if self.flush.q.val() {
            self.joined.next = self.held.q.val() & self.mask.val();
            self.ends.next = true;
            self.emits.next = self.open.val();
            self.fails.next = self.failed.q.val();
        }
        self.tail_shift.next =
            (self.width.val() - (bit_cast::<10, 6>(self.present.val().tail) << 3)).get_bits::<9>(0);
        self.kept.next = self.ones.val();
        if self.ends.val() & (self.present.val().tail != 0) {
            self.kept.next = self.ones.val() >> self.tail_shift.val();
        }
        if self.data_ready.val() {
            self.out_valid.d.next = false;
        }
        if self.emits.val() {
            self.out.d.next = self.joined.val() & self.kept.val();
            self.out_valid.d.next = true;
            self.out_last.d.next = self.ends.val();
            self.out_error.d.next = self.fails.val();
            self.out_tag.d.next = self.present.val().tag;
        }
        if self.open.val() {
            self.flush.d.next = self.moves.val() & self.beat_last.q.val() & self.present.val().flush;
        }
        if self.moves.val() {
            self.held.d.next = self.beat.q.val();
            self.held_task.d.next = self.work.q.val();
            self.failed.d.next = self.fails.val();
        }
        self.data_valid.next = self.out_valid.q.val();
        self.data_tdata.next = self.out.q.val();
        self.data_tlast.next = self.out_last.q.val();
        self.status_valid.next = self.out_valid.q.val() & self.out_last.q.val() & self.data_ready.val();
        self.status_tag.next = self.out_tag.q.val();
        self.status_error.next = self.out_error.q.val();

        if self.rst.val() {
            self.left.d.next = 0.into();
            self.ar_valid.d.next = false;
            self.count.d.next = 0.into();
            self.beat_valid.d.next = false;
            self.flush.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
