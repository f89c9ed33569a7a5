//! Payload of frames to be judged: aligned to byte 0, buffered, kept or taken
//! back. In front of a datagram's goes its GRH area.
//!
//! ```text
//!  beat, 6 clocks late ─> with the beat before: from the start on ─> buffer ─> payload
//!  start, as late                   GRH area over the first 40 ^      ^ commit, roll back
//! ```
//!
//! A datagram's payload is written as if it began 40 bytes earlier; what stands
//! there is overwritten by its IP header (IPv4: behind 20 bytes of zeros).
//!
//! Contract: `next_valid` and `next_ud` are `late_valid` and `late_start.ud` of the
//! next clock; `verdict` comes with a frame's last late beat. Payload is written beat
//! by beat; a frame's last bytes may need one more write, for which a frame's first
//! beat leaves room: it writes nothing. `lost`: a beat of the frame found no room.
//! `accept` decides; without it the frame never was.
//! In the clock of that one more write the frame behind may end, too, if it is
//! of one beat: nothing of it was written, so nothing is taken back.
//!
//! Verified by `testbenches/tests/rx_parse`.

use super::rx_heads::Start;
use super::rx_verdict::Verdict;
use crate::prelude::*;
use crate::stream::CommitFifo;
use crate::types::Beat;
use tessera_abi::params::Config;
use tessera_abi::wire;

/// A buffered payload beat; the count takes less room than `tkeep`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct StoredBeat {
    pub tdata: Bits<512>,
    pub tlast: Bit,
    /// Bytes of a last beat, 0 = 64.
    pub bytes: Bits<6>,
}

// The kernel slices by literals; this is what they must be.
const _: () = {
    let [v4, _, v6, _] = wire::Form::ALL;
    assert!(v4.trh_at() + wire::TRH_DATA_LEN == 64 + 38 && v6.trh_at() + wire::TRH_DATA_LEN == 64 + 58);
    assert!(v4.trh_at() - wire::GRH_LEN == 22 && v6.trh_at() - wire::GRH_LEN == 42);
};

#[derive(LogicBlock)]
pub struct RxPayload {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub late_valid: Signal<In, Bit>,
    pub late_last: Signal<In, Bit>,
    pub late_beat: Signal<In, Bits<512>>,
    /// Of the beat's frame, from its second beat on.
    pub late_start: Signal<In, Start>,
    /// The same of the beat that comes in the next clock: what is written is known by then.
    pub next_valid: Signal<In, Bit>,
    pub next_ud: Signal<In, Bit>,
    pub verdict: Signal<In, Verdict>,
    /// The frame has payload and is kept.
    pub accept: Signal<In, Bit>,
    /// There was room for the whole frame.
    pub fits: Signal<Out, Bit>,
    pub payload_valid: Signal<Out, Bit>,
    pub payload_data: Signal<Out, Beat>,
    pub payload_ready: Signal<In, Bit>,

    /// Beats of the frame seen: 0, 1, 2 = more.
    depth: Dff<Bits<2>>,
    /// The beat is written; it is a datagram's first.
    write: Dff<Bit>,
    first: Dff<Bit>,
    prior: Dff<Bits<512>>,
    lost: Dff<Bit>,
    flush: Dff<Bit>,
    flush_bytes: Dff<Bits<6>>,
    flush_start: Dff<Start>,
    buffer: CommitFifo<StoredBeat, 15>,

    /// `depth` behind this beat.
    seen: Signal<Local, Bits<2>>,
    begins: Signal<Local, Start>,
    joined: Signal<Local, Bits<512>>,
    area: Signal<Local, Bits<320>>,
    stored: Signal<Local, StoredBeat>,
    all_bytes: Constant<Bits<64>>,
}

impl RxPayload {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            late_valid: Default::default(),
            late_last: Default::default(),
            late_beat: Default::default(),
            late_start: Default::default(),
            next_valid: Default::default(),
            next_ud: Default::default(),
            verdict: Default::default(),
            accept: Default::default(),
            fits: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            depth: Default::default(),
            write: Default::default(),
            first: Default::default(),
            prior: Default::default(),
            lost: Default::default(),
            flush: Default::default(),
            flush_bytes: Default::default(),
            flush_start: Default::default(),
            buffer: CommitFifo::new(config.rx_buffer_beats_log2),
            seen: Default::default(),
            begins: Default::default(),
            joined: Default::default(),
            area: Default::default(),
            stored: Default::default(),
            all_bytes: Constant::new(u64::MAX.into()),
        }
    }
}

impl Logic for RxPayload {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, depth, write, first, prior, lost, flush, flush_bytes, flush_start);
        self.buffer.clk.next = self.clk.val();
        self.buffer.rst.next = self.rst.val();

        self.begins.next = self.late_start.val();
        if self.flush.q.val() {
            self.begins.next = self.flush_start.q.val();
        }
        self.fits.next = self.buffer.room.val() & !self.lost.q.val();
        self.seen.next = self.depth.q.val();
        if self.late_valid.val() {
            self.prior.d.next = self.late_beat.val();
            if self.depth.q.val() != 2 {
                self.seen.next = self.depth.q.val() + 1;
            }
            if self.write.q.val() & !self.buffer.room.val() {
                self.lost.d.next = true;
            }
            if self.late_last.val() {
                self.seen.next = 0.into();
                self.lost.d.next = false;
            }
        }
        // A datagram's stream begins in the first beat, others' in the second.
        self.depth.d.next = self.seen.val();
        self.first.d.next = self.next_valid.val() & self.next_ud.val() & (self.seen.val() == 1);
        self.write.d.next =
            self.next_valid.val() & ((self.next_ud.val() & (self.seen.val() == 1)) | (self.seen.val() == 2));

        self.joined.next = (bit_cast::<512, 304>(self.late_beat.val().get_bits::<304>(0)) << 208)
            | bit_cast::<512, 208>(self.prior.q.val().get_bits::<208>(304));
        if self.begins.val().ud {
            if self.begins.val().v6 {
                if self.begins.val().imm {
                    self.joined.next = (bit_cast::<512, 368>(self.late_beat.val().get_bits::<368>(0)) << 144)
                        | bit_cast::<512, 144>(self.prior.q.val().get_bits::<144>(368));
                } else {
                    self.joined.next = (bit_cast::<512, 336>(self.late_beat.val().get_bits::<336>(0)) << 176)
                        | bit_cast::<512, 176>(self.prior.q.val().get_bits::<176>(336));
                }
            } else {
                if self.begins.val().imm {
                    self.joined.next = (bit_cast::<512, 208>(self.late_beat.val().get_bits::<208>(0)) << 304)
                        | bit_cast::<512, 304>(self.prior.q.val().get_bits::<304>(208));
                } else {
                    self.joined.next = (bit_cast::<512, 176>(self.late_beat.val().get_bits::<176>(0)) << 336)
                        | bit_cast::<512, 336>(self.prior.q.val().get_bits::<336>(176));
                }
            }
        } else {
            if self.begins.val().v6 {
                self.joined.next = (bit_cast::<512, 464>(self.late_beat.val().get_bits::<464>(0)) << 48)
                    | bit_cast::<512, 48>(self.prior.q.val().get_bits::<48>(464));
            }
        }
        self.area.next = bit_cast::<320, 160>(self.prior.q.val().get_bits::<160>(112)) << 160;
        if self.begins.val().v6 {
            self.area.next = self.prior.q.val().get_bits::<320>(112);
        }
        self.stored.next.tdata = self.joined.val();
        if self.first.q.val() {
            self.stored.next.tdata = (bit_cast::<512, 192>(self.joined.val().get_bits::<192>(320)) << 320)
                | bit_cast::<512, 320>(self.area.val());
        }
        self.stored.next.tlast = (self.late_last.val() & !self.verdict.val().spill) | self.flush.q.val();
        self.stored.next.bytes = self.verdict.val().payload_len.get_bits::<6>(0);
        if self.flush.q.val() {
            self.stored.next.bytes = self.flush_bytes.q.val();
        }
        self.flush.d.next = self.accept.val() & self.verdict.val().spill;
        self.flush_bytes.d.next = self.verdict.val().payload_len.get_bits::<6>(0);
        self.flush_start.d.next = self.late_start.val();
        self.buffer.in_data.next = self.stored.val();
        self.buffer.in_valid.next =
            (self.write.q.val() & self.buffer.room.val() & !self.lost.q.val()) | self.flush.q.val();
        self.buffer.commit.next = self.flush.q.val() | (self.accept.val() & !self.verdict.val().spill);
        // What is open while the spilled bytes are written is the accepted frame's.
        self.buffer.rollback.next =
            self.late_valid.val() & self.late_last.val() & !self.accept.val() & !self.flush.q.val();

        self.buffer.out_ready.next = self.payload_ready.val();
        self.payload_valid.next = self.buffer.out_valid.val();
        self.payload_data.next.tdata = self.buffer.out_data.val().tdata;
        self.payload_data.next.tlast = self.buffer.out_data.val().tlast;
        self.payload_data.next.tkeep = self.all_bytes.val();
        if self.buffer.out_data.val().tlast & self.buffer.out_data.val().bytes.any() {
            self.payload_data.next.tkeep = !(self.all_bytes.val() << self.buffer.out_data.val().bytes);
        }

        if self.rst.val() {
            self.depth.d.next = 0.into();
            self.write.d.next = false;
            self.first.d.next = false;
            self.lost.d.next = false;
            self.flush.d.next = false;
        }
    }
}
