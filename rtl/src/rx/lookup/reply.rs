//! The words that leave `lookup`: work for the context, answers without one.
//!
//! ```text
//!  packet, decision ── act ──┬─> work word ────> work
//!                            └─> RO-7 answer ──> feedback
//! ```
//!
//! Contract: offered from the clock after `act`, which comes only while `free`.
//!
//! Verified as part of `testbenches/tests/lookup`.

use crate::prelude::*;
use crate::types::{Receive, RxData, RxWork, TxFeedback};
use tessera_abi::queue::area;
use tessera_abi::wire::{fb, flag};

#[derive(LogicBlock)]
pub struct LookupReply {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// Takes over the packet and what was decided.
    pub act: Signal<In, Bit>,
    pub packet: Signal<In, RxData>,
    pub receive: Signal<In, Receive>,
    /// It is a tagged one.
    pub own: Signal<In, Bit>,
    /// What opens is host-recovered.
    pub host: Signal<In, Bit>,
    /// Of the context found or opened.
    pub number: Signal<In, Bits<12>>,
    pub work: Signal<In, Bit>,
    pub verdict: Signal<In, Bits<2>>,
    /// A datagram that goes into the receive.
    pub deliver: Signal<In, Bit>,
    pub replies: Signal<In, Bit>,
    pub flags: Signal<In, Bits<8>>,
    pub status: Signal<In, Bits<8>>,
    pub all: Signal<In, Bit>,
    pub denied: Signal<In, Bit>,
    /// The word is about a context of an endpoint that was destroyed, not the packet.
    pub destroyed: Signal<In, Bit>,
    /// Both outputs are empty: `act` may come.
    pub free: Signal<Out, Bit>,
    pub work_valid: Signal<Out, Bit>,
    pub work_data: Signal<Out, RxWork>,
    pub work_ready: Signal<In, Bit>,
    pub feedback_valid: Signal<Out, Bit>,
    pub feedback_data: Signal<Out, TxFeedback>,
    pub feedback_ready: Signal<In, Bit>,

    work_word: Dff<RxWork>,
    work_waits: Dff<Bit>,
    /// Of the answer, what the work word has not.
    flags_said: Dff<Bits<8>>,
    status_said: Dff<Bits<8>>,
    count_said: Dff<Bits<24>>,
    feedback_waits: Dff<Bit>,

    ce_flag: Signal<Local, Bits<8>>,
    count: Signal<Local, Bits<24>>,
    behind_low: Signal<Local, Bits<37>>,
    behind_high: Signal<Local, Bits<28>>,
    area_len: Signal<Local, Bits<64>>,

    ce: Constant<Bits<8>>,
    write_flag: Constant<Bits<8>>,
    smallest_area: Constant<Bits<64>>,
}

impl LookupReply {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            act: Default::default(),
            packet: Default::default(),
            receive: Default::default(),
            own: Default::default(),
            host: Default::default(),
            number: Default::default(),
            work: Default::default(),
            verdict: Default::default(),
            deliver: Default::default(),
            replies: Default::default(),
            flags: Default::default(),
            status: Default::default(),
            all: Default::default(),
            denied: Default::default(),
            destroyed: Default::default(),
            free: Default::default(),
            work_valid: Default::default(),
            work_data: Default::default(),
            work_ready: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            work_word: Default::default(),
            work_waits: Default::default(),
            flags_said: Default::default(),
            status_said: Default::default(),
            count_said: Default::default(),
            feedback_waits: Default::default(),
            ce_flag: Default::default(),
            count: Default::default(),
            behind_low: Default::default(),
            behind_high: Default::default(),
            area_len: Default::default(),
            ce: Constant::new((u64::from(fb::CE)).into()),
            write_flag: Constant::new((u64::from(flag::WRITE)).into()),
            smallest_area: Constant::new(area::ALIGN.into()),
        }
    }
}

impl Logic for LookupReply {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, work_word, work_waits, flags_said, status_said, count_said, feedback_waits);
        self.area_len.next = self.smallest_area.val() << self.receive.val().area_log2;
        // An area has 2 MiB at most. In two parts beside each other: the receive is chosen late.
        self.behind_low.next = bit_cast::<37, 36>(self.receive.val().address.get_bits::<36>(0))
            + bit_cast::<37, 36>(self.area_len.val().get_bits::<36>(0));
        self.behind_high.next = self.receive.val().address.get_bits::<28>(36);
        if self.behind_low.val().get_bit(36) {
            self.behind_high.next = self.receive.val().address.get_bits::<28>(36) + 1;
        }
        self.free.next = !self.work_waits.q.val() & !self.feedback_waits.q.val();

        if self.work_ready.val() {
            self.work_waits.d.next = false;
        }
        if self.act.val() {
            self.work_waits.d.next = self.work.val();
            self.work_word.d.next.verdict = self.verdict.val();
            self.work_word.d.next.released = self.packet.val().release & !self.destroyed.val();
            self.work_word.d.next.destroyed = self.destroyed.val();
            self.work_word.d.next.context = self.number.val();
            self.work_word.d.next.buffer = self.receive.val().address;
            // HR-2: a send's payload lies behind the area.
            if self.receive.val().chunks & !self.packet.val().ud {
                self.work_word.d.next.buffer = (bit_cast::<64, 28>(self.behind_high.val()) << 36)
                    | bit_cast::<64, 36>(self.behind_low.val().get_bits::<36>(0));
            }
            if (self.packet.val().flags & self.write_flag.val()) != 0 {
                self.work_word.d.next.buffer = self.packet.val().tag;
            }
            self.work_word.d.next.entry = self.receive.val().entry;
            self.work_word.d.next.own = self.own.val();
            self.work_word.d.next.host = self.host.val();
            self.work_word.d.next.chunk_log2 = self.receive.val().chunk_log2;
            self.work_word.d.next.area_log2 = self.receive.val().area_log2;
            self.work_word.d.next.src_mac = self.packet.val().src_mac;
            self.work_word.d.next.vlan = self.packet.val().vlan;
            self.work_word.d.next.vlan_valid = self.packet.val().vlan_valid;
            self.work_word.d.next.src_gid = self.packet.val().src_gid;
            self.work_word.d.next.src_endpoint = self.packet.val().src_endpoint;
            self.work_word.d.next.endpoint = self.packet.val().endpoint;
            self.work_word.d.next.ce = self.packet.val().ce;
            self.work_word.d.next.ud = self.deliver.val();
            self.work_word.d.next.probe = self.packet.val().probe;
            self.work_word.d.next.flags = self.packet.val().flags;
            self.work_word.d.next.ev = self.packet.val().ev;
            self.work_word.d.next.payload_log2 = self.packet.val().payload_log2;
            self.work_word.d.next.traffic_class = self.packet.val().traffic_class;
            self.work_word.d.next.slot = self.packet.val().slot;
            self.work_word.d.next.generation = self.packet.val().generation;
            self.work_word.d.next.index = self.packet.val().index;
            self.work_word.d.next.initial_window = self.packet.val().initial_window;
            self.work_word.d.next.length = self.packet.val().length;
            self.work_word.d.next.count = self.packet.val().count;
            self.work_word.d.next.tag = self.packet.val().tag;
            self.work_word.d.next.rkey = self.packet.val().rkey;
            self.work_word.d.next.denied = self.denied.val();
            self.work_word.d.next.imm = self.packet.val().imm;
            self.work_word.d.next.round = self.packet.val().round;
            self.work_word.d.next.rtt = self.packet.val().rtt;
            self.work_word.d.next.timestamp = self.packet.val().timestamp;
            self.work_word.d.next.arrival = self.packet.val().arrival;
            self.work_word.d.next.payload_len = self.packet.val().payload_len;
            if self.destroyed.val() {
                self.work_word.d.next.payload_len = 0.into();
            }
        }
        self.work_valid.next = self.work_waits.q.val();
        self.work_data.next = self.work_word.q.val();

        if self.packet.val().ce {
            self.ce_flag.next = self.ce.val();
        } else {
            self.ce_flag.next = 0.into();
        }
        if self.all.val() {
            self.count.next = self.packet.val().count;
        } else {
            self.count.next = 0.into();
        }
        // Where it goes and what it echoes is in the work word, which stands as long.
        if self.feedback_ready.val() {
            self.feedback_waits.d.next = false;
        }
        if self.act.val() {
            self.feedback_waits.d.next = self.replies.val();
            self.flags_said.d.next = self.flags.val() | self.ce_flag.val();
            self.status_said.d.next = self.status.val();
            self.count_said.d.next = self.count.val();
        }
        self.feedback_valid.next = self.feedback_waits.q.val();
        self.feedback_data.next.release = false;
        self.feedback_data.next.dst_mac = self.work_word.q.val().src_mac;
        self.feedback_data.next.vlan = self.work_word.q.val().vlan;
        self.feedback_data.next.vlan_valid = self.work_word.q.val().vlan_valid;
        self.feedback_data.next.dst_gid = self.work_word.q.val().src_gid;
        self.feedback_data.next.dst_endpoint = self.work_word.q.val().src_endpoint;
        self.feedback_data.next.endpoint = self.work_word.q.val().endpoint;
        self.feedback_data.next.flags = self.flags_said.q.val();
        self.feedback_data.next.ev_echo = self.work_word.q.val().ev;
        self.feedback_data.next.status = self.status_said.q.val();
        self.feedback_data.next.slot = self.work_word.q.val().slot;
        self.feedback_data.next.generation = self.work_word.q.val().generation;
        self.feedback_data.next.cumulative = self.count_said.q.val();
        self.feedback_data.next.sequence = 0.into();
        self.feedback_data.next.grant = self.count_said.q.val();
        self.feedback_data.next.duplicates = 0.into();
        self.feedback_data.next.base = 0.into();
        self.feedback_data.next.limit = 0.into();
        self.feedback_data.next.sample = true;
        self.feedback_data.next.arrival = self.work_word.q.val().arrival;
        self.feedback_data.next.echo = self.work_word.q.val().timestamp;
        self.feedback_data.next.bitmap = 0.into();

        if self.rst.val() {
            self.work_waits.d.next = false;
            self.feedback_waits.d.next = false;
        }
    }
}
