//! A DMA write port of the NIC on an AXI4 bus.
//!
//! ```text
//!  desc ─> bursts ──────────────────────────> AW
//!            ├─> tasks FIFO ─┐
//!  data ─────┼─> rotate ─────┴─> join ──────> W
//!            └─> burst FIFO ──┐
//!  status <───────────────────┴────────────── B
//! ```
//!
//! A descriptor of any address becomes bursts of whole beats, none of which crosses 4 KiB
//! or has more than 256 beats; strobes leave out what is not of it. Data is rotated so that
//! byte 0 stands where the address says, and spread over two bus beats where that is not a
//! beat's beginning.
//!
//! Contract:
//! - one descriptor per two clocks, 64 of them and 128 bursts under way;
//! - one beat per clock; two clocks pass from data to W. A descriptor whose last bytes
//!   run over into a bus beat of their own takes a clock more;
//! - data of a burst is not offered before its address is, but does not wait until that is
//!   taken;
//! - the status comes a clock after the answer to the last burst of a descriptor. Any BRESP
//!   but OKAY and EXOKAY is an error of the descriptor. One ID: answers come in order.
//!
//! Verified by `testbenches/tests/axi.rs`.

use crate::prelude::*;
use crate::stream::Fifo;

/// What the data side must know of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct WriteTask {
    /// Bytes of the first bus beat in front of the address.
    pub offset: Bits<6>,
    /// Bytes of the last bus beat that are in front of the end, 0 = all.
    pub over: Bits<6>,
    /// Beats of data.
    pub beats: Bits<10>,
    /// The last of them runs over into one more bus beat.
    pub flush: Bit,
    /// Place of the first bus beat between boundaries.
    pub index: Bits<10>,
}

/// A burst whose answer is awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Awaited {
    pub tag: Bits<8>,
    /// Of its descriptor.
    pub last: Bit,
}

/// `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct AxiWrite<const W: usize, const K: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub desc_valid: Signal<In, Bit>,
    pub desc_ready: Signal<Out, Bit>,
    pub desc_address: Signal<In, Bits<64>>,
    pub desc_length: Signal<In, Bits<13>>,
    pub desc_tag: Signal<In, Bits<8>>,
    pub data_valid: Signal<In, Bit>,
    pub data_ready: Signal<Out, Bit>,
    pub data_tdata: Signal<In, Bits<W>>,
    pub status_valid: Signal<Out, Bit>,
    pub status_tag: Signal<Out, Bits<8>>,
    pub status_error: Signal<Out, Bit>,
    pub awvalid: Signal<Out, Bit>,
    pub awready: Signal<In, Bit>,
    pub awaddr: Signal<Out, Bits<64>>,
    pub awlen: Signal<Out, Bits<8>>,
    pub wvalid: Signal<Out, Bit>,
    pub wready: Signal<In, Bit>,
    pub wdata: Signal<Out, Bits<W>>,
    pub wstrb: Signal<Out, Bits<K>>,
    pub wlast: Signal<Out, Bit>,
    pub bvalid: Signal<In, Bit>,
    pub bready: Signal<Out, Bit>,
    pub bresp: Signal<In, Bits<2>>,
    tasks: Fifo<WriteTask, 6>,
    awaited: Fifo<Awaited, 7>,
    /// Next beat to write, and how many.
    at: Dff<Bits<64>>,
    left: Dff<Bits<10>>,
    tag: Dff<Bits<8>>,
    aw_valid: Dff<Bit>,
    aw_addr: Dff<Bits<64>>,
    aw_len: Dff<Bits<8>>,
    /// Bursts whose address was offered and whose last beat was not.
    ahead: Dff<Bits<9>>,
    /// Beats of data of the present task that have come.
    count: Dff<Bits<10>>,
    /// A beat of data, rotated, and what its task says.
    beat: Dff<Bits<W>>,
    beat_valid: Dff<Bit>,
    beat_first: Dff<Bit>,
    beat_last: Dff<Bit>,
    work: Dff<WriteTask>,
    /// The one before it, and whether its rest is to be sent alone.
    held: Dff<Bits<W>>,
    held_task: Dff<WriteTask>,
    flush: Dff<Bit>,
    /// Place of the next bus beat between boundaries, of one that is not the first.
    place: Dff<Bits<10>>,
    out: Dff<Bits<W>>,
    out_strb: Dff<Bits<K>>,
    out_valid: Dff<Bit>,
    out_last: Dff<Bit>,
    failed: Dff<Bit>,
    told: Dff<Bit>,
    told_tag: Dff<Bits<8>>,
    told_error: Dff<Bit>,
    take: Signal<Local, Bit>,
    offset: Signal<Local, Bits<6>>,
    behind: Signal<Local, Bits<13>>,
    beats: Signal<Local, Bits<13>>,
    beats_in: Signal<Local, Bits<13>>,
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
    emits: Signal<Local, Bit>,
    present: Signal<Local, WriteTask>,
    front: Signal<Local, Bits<9>>,
    /// Bytes that are of the present beat.
    mask: Signal<Local, Bits<W>>,
    joined: Signal<Local, Bits<W>>,
    first: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    tail_shift: Signal<Local, Bits<6>>,
    strobes: Signal<Local, Bits<K>>,
    here: Signal<Local, Bits<10>>,
    closes: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    ones: Constant<Bits<W>>,
    all: Constant<Bits<K>>,
    byte_mask: Constant<Bits<6>>,
    round: Constant<Bits<13>>,
    bytes_log2: Constant<Bits<4>>,
    bytes: Constant<Bits<7>>,
    width: Constant<Bits<10>>,
    window: Constant<Bits<10>>,
    window_mask: Constant<Bits<10>>,
}

impl<const W: usize, const K: usize> AxiWrite<W, K> {
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
            status_valid: Default::default(),
            status_tag: Default::default(),
            status_error: Default::default(),
            awvalid: Default::default(),
            awready: Default::default(),
            awaddr: Default::default(),
            awlen: Default::default(),
            wvalid: Default::default(),
            wready: Default::default(),
            wdata: Default::default(),
            wstrb: Default::default(),
            wlast: Default::default(),
            bvalid: Default::default(),
            bready: Default::default(),
            bresp: Default::default(),
            tasks: Fifo::new(6),
            awaited: Fifo::new(7),
            at: Default::default(),
            left: Default::default(),
            tag: Default::default(),
            aw_valid: Default::default(),
            aw_addr: Default::default(),
            aw_len: Default::default(),
            ahead: Default::default(),
            count: Default::default(),
            beat: Default::default(),
            beat_valid: Default::default(),
            beat_first: Default::default(),
            beat_last: Default::default(),
            work: Default::default(),
            held: Default::default(),
            held_task: Default::default(),
            flush: Default::default(),
            place: Default::default(),
            out: Default::default(),
            out_strb: Default::default(),
            out_valid: Default::default(),
            out_last: Default::default(),
            failed: Default::default(),
            told: Default::default(),
            told_tag: Default::default(),
            told_error: Default::default(),
            take: Default::default(),
            offset: Default::default(),
            behind: Default::default(),
            beats: Default::default(),
            beats_in: Default::default(),
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
            emits: Default::default(),
            present: Default::default(),
            front: Default::default(),
            mask: Default::default(),
            joined: Default::default(),
            first: Default::default(),
            ends: Default::default(),
            tail_shift: Default::default(),
            strobes: Default::default(),
            here: Default::default(),
            closes: Default::default(),
            answered: Default::default(),
            fails: Default::default(),
            ones: Constant::new(!Bits::<W>::default()),
            all: Constant::new(!Bits::<K>::default()),
            byte_mask: Constant::new((K as u64 - 1).into()),
            round: Constant::new((K as u64 - 1).into()),
            bytes_log2: Constant::new(u64::from(K.ilog2()).into()),
            bytes: Constant::new((K as u64).into()),
            width: Constant::new((W as u64).into()),
            window: Constant::new(window.into()),
            window_mask: Constant::new((window - 1).into()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for AxiWrite<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, at, left, tag, aw_valid, aw_addr, aw_len, ahead, count, beat, beat_valid, beat_first,
            beat_last, work, held, held_task, flush, place, out, out_strb, out_valid, out_last, failed, told,
            told_tag, told_error
        );
        self.tasks.clk.next = self.clk.val();
        self.tasks.rst.next = self.rst.val();
        self.awaited.clk.next = self.clk.val();
        self.awaited.rst.next = self.rst.val();

        // A descriptor is cut into bursts, one per clock.
        self.offset.next = self.desc_address.val().get_bits::<6>(0) & self.byte_mask.val();
        self.behind.next = bit_cast::<13, 6>(self.offset.val()) + self.desc_length.val();
        self.beats.next = (self.behind.val() + self.round.val()) >> self.bytes_log2.val();
        self.beats_in.next = (self.desc_length.val() + self.round.val()) >> self.bytes_log2.val();
        self.desc_ready.next = (self.left.q.val() == 0) & self.tasks.in_ready.val();
        self.take.next = self.desc_valid.val() & self.desc_ready.val();
        self.tasks.in_valid.next = self.take.val();
        self.tasks.in_data.next.offset = self.offset.val();
        self.tasks.in_data.next.over = self.behind.val().get_bits::<6>(0) & self.byte_mask.val();
        self.tasks.in_data.next.beats = self.beats_in.val().get_bits::<10>(0);
        self.tasks.in_data.next.flush = self.beats.val() != self.beats_in.val();
        self.tasks.in_data.next.index =
            (self.desc_address.val() >> self.bytes_log2.val()).get_bits::<10>(0) & self.window_mask.val();

        self.index.next =
            (self.at.q.val() >> self.bytes_log2.val()).get_bits::<10>(0) & self.window_mask.val();
        self.room.next = self.window.val() - self.index.val();
        self.burst.next = self.left.q.val();
        if self.room.val() < self.left.q.val() {
            self.burst.next = self.room.val();
        }
        self.asks.next = (self.left.q.val() != 0)
            & self.awaited.in_ready.val()
            & (!self.aw_valid.q.val() | self.awready.val());
        self.awaited.in_valid.next = self.asks.val();
        self.awaited.in_data.next.tag = self.tag.q.val();
        self.awaited.in_data.next.last = self.burst.val() == self.left.q.val();
        if self.awready.val() {
            self.aw_valid.d.next = false;
        }
        if self.asks.val() {
            self.aw_valid.d.next = true;
            self.aw_addr.d.next = self.at.q.val();
            self.aw_len.d.next = (self.burst.val() - 1).get_bits::<8>(0);
            self.at.d.next =
                self.at.q.val() + (bit_cast::<64, 10>(self.burst.val()) << self.bytes_log2.val());
            self.left.d.next = self.left.q.val() - self.burst.val();
        }
        if self.take.val() {
            self.at.d.next = self.desc_address.val() - bit_cast::<64, 6>(self.offset.val());
            self.left.d.next = self.beats.val().get_bits::<10>(0);
            self.tag.d.next = self.desc_tag.val();
        }
        self.awvalid.next = self.aw_valid.q.val();
        self.awaddr.next = self.aw_addr.q.val();
        self.awlen.next = self.aw_len.q.val();

        // Beats of data are rotated to where their bytes will stand.
        self.open.next = (!self.out_valid.q.val() | self.wready.val()) & (self.ahead.q.val() != 0);
        self.moves.next = self.beat_valid.q.val() & self.open.val() & !self.flush.q.val();
        self.data_ready.next = self.tasks.out_valid.val() & (!self.beat_valid.q.val() | self.moves.val());
        self.came.next = self.data_valid.val() & self.data_ready.val();
        self.last.next = self.count.q.val() + 1 == self.tasks.out_data.val().beats;
        self.shift.next = bit_cast::<9, 6>(self.tasks.out_data.val().offset) << 3;
        self.back.next = (self.width.val() - bit_cast::<10, 9>(self.shift.val())).get_bits::<9>(0);
        self.rotated.next = self.data_tdata.val();
        if self.tasks.out_data.val().offset != 0 {
            self.rotated.next =
                (self.data_tdata.val() << self.shift.val()) | (self.data_tdata.val() >> self.back.val());
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
            self.work.d.next = self.tasks.out_data.val();
            self.count.d.next = self.count.q.val() + 1;
            if self.last.val() {
                self.count.d.next = 0.into();
            }
        }

        // Each bus beat is the rest of one beat of data and the beginning of the next.
        self.present.next = self.work.q.val();
        if self.flush.q.val() {
            self.present.next = self.held_task.q.val();
        }
        self.emits.next = self.moves.val() | (self.flush.q.val() & self.open.val());
        self.front.next = bit_cast::<9, 6>(self.present.val().offset) << 3;
        self.mask.next = self.ones.val() << self.front.val();
        self.joined.next = (self.beat.q.val() & self.mask.val()) | (self.held.q.val() & !self.mask.val());
        self.first.next = self.beat_first.q.val() & !self.flush.q.val();
        self.ends.next = self.flush.q.val() | (self.beat_last.q.val() & !self.present.val().flush);
        self.tail_shift.next =
            (self.bytes.val() - bit_cast::<7, 6>(self.present.val().over)).get_bits::<6>(0);
        self.strobes.next = self.all.val();
        if self.first.val() {
            self.strobes.next = self.all.val() << self.present.val().offset;
        }
        if self.ends.val() & (self.present.val().over != 0) {
            self.strobes.next = self.strobes.val() & (self.all.val() >> self.tail_shift.val());
        }
        self.here.next = self.place.q.val();
        if self.first.val() {
            self.here.next = self.present.val().index;
        }
        self.closes.next = self.ends.val() | (self.here.val() + 1 == self.window.val());
        if self.wready.val() {
            self.out_valid.d.next = false;
        }
        if self.emits.val() {
            self.out.d.next = self.joined.val();
            self.out_strb.d.next = self.strobes.val();
            self.out_valid.d.next = true;
            self.out_last.d.next = self.closes.val();
            self.place.d.next = (self.here.val() + 1) & self.window_mask.val();
        }
        if self.open.val() {
            self.flush.d.next = self.moves.val() & self.beat_last.q.val() & self.present.val().flush;
        }
        if self.moves.val() {
            self.held.d.next = self.beat.q.val();
            self.held_task.d.next = self.work.q.val();
        }
        if self.asks.val() & !(self.emits.val() & self.closes.val()) {
            self.ahead.d.next = self.ahead.q.val() + 1;
        }
        if !self.asks.val() & self.emits.val() & self.closes.val() {
            self.ahead.d.next = self.ahead.q.val() - 1;
        }
        self.wvalid.next = self.out_valid.q.val();
        self.wdata.next = self.out.q.val();
        self.wstrb.next = self.out_strb.q.val();
        self.wlast.next = self.out_last.q.val();

        self.bready.next = true;
        self.answered.next = self.bvalid.val() & self.awaited.out_valid.val();
        self.awaited.out_ready.next = self.answered.val();
        self.fails.next = self.failed.q.val() | self.bresp.val().get_bit(1);
        self.told.d.next = self.answered.val() & self.awaited.out_data.val().last;
        if self.answered.val() {
            self.failed.d.next = self.fails.val() & !self.awaited.out_data.val().last;
            self.told_tag.d.next = self.awaited.out_data.val().tag;
            self.told_error.d.next = self.fails.val();
        }
        self.status_valid.next = self.told.q.val();
        self.status_tag.next = self.told_tag.q.val();
        self.status_error.next = self.told_error.q.val();

        if self.rst.val() {
            self.left.d.next = 0.into();
            self.aw_valid.d.next = false;
            self.ahead.d.next = 0.into();
            self.count.d.next = 0.into();
            self.beat_valid.d.next = false;
            self.flush.d.next = false;
            self.out_valid.d.next = false;
            self.failed.d.next = false;
            self.told.d.next = false;
        }
    }
}
