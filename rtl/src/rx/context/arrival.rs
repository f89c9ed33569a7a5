//! What a packet says about its message, without memory: whether it belongs to
//! it, and the words it opens it with.
//!
//! Combinational. Verified by `testbenches/tests/rx_context/`.

use crate::prelude::*;
use crate::rx::{ContextFixed, ContextLive};
use crate::types::RxWork;
use tessera_abi::wire::flag;

#[derive(LogicBlock)]
pub struct Arrival {
    pub packet: Signal<In, RxWork>,
    pub fixed: Signal<In, ContextFixed>,
    /// A field that never changes differs (RO-9).
    pub differs: Signal<Out, Bit>,
    pub wants_answer: Signal<Out, Bit>,
    pub retx: Signal<Out, Bit>,
    /// The only packet of its message.
    pub whole: Signal<Out, Bit>,
    /// XOR of the bytes of the source GID.
    pub hash: Signal<Out, Bits<8>>,
    /// RO-8; its block and its credit are not in it.
    pub opened_fixed: Signal<Out, ContextFixed>,
    pub opened_live: Signal<Out, ContextLive>,
    word: Signal<Local, RxWork>,
    held: Signal<Local, ContextFixed>,
    fold64: Signal<Local, Bits<64>>,
    fold32: Signal<Local, Bits<32>>,
    fold16: Signal<Local, Bits<16>>,
    window: Signal<Local, Bits<24>>,
    has_imm: Signal<Local, Bit>,
    in_round: Signal<Local, Bit>,
    write: Signal<Local, Bit>,
    asks_host: Signal<Local, Bit>,
    flag_ar: Constant<Bits<8>>,
    flag_retx: Constant<Bits<8>>,
    flag_imm: Constant<Bits<8>>,
    flag_write: Constant<Bits<8>>,
    flag_round: Constant<Bits<8>>,
    flag_host: Constant<Bits<8>>,
    empty: Constant<Bits<32>>,
}

impl Arrival {
    /// The comparison and the opening words.
    pub fn new() -> Self {
        let code = |value: u8| Constant::new(u64::from(value).into());
        Self {
            packet: Default::default(),
            fixed: Default::default(),
            differs: Default::default(),
            wants_answer: Default::default(),
            retx: Default::default(),
            whole: Default::default(),
            hash: Default::default(),
            opened_fixed: Default::default(),
            opened_live: Default::default(),
            word: Default::default(),
            held: Default::default(),
            fold64: Default::default(),
            fold32: Default::default(),
            fold16: Default::default(),
            window: Default::default(),
            has_imm: Default::default(),
            in_round: Default::default(),
            write: Default::default(),
            asks_host: Default::default(),
            flag_ar: code(flag::AR),
            flag_retx: code(flag::RETX),
            flag_imm: code(flag::IMM),
            flag_write: code(flag::WRITE),
            flag_round: code(flag::ROUND),
            flag_host: code(flag::HOST_RECOVERY),
            empty: Constant::new(0u64.into()),
        }
    }
}

impl Logic for Arrival {
    #[hdl_gen]
    fn update(&mut self) {
        self.word.next = self.packet.val();
        self.held.next = self.fixed.val();
        self.has_imm.next = (self.word.val().flags & self.flag_imm.val()).any();
        self.in_round.next = (self.word.val().flags & self.flag_round.val()).any();
        self.write.next = (self.word.val().flags & self.flag_write.val()).any();
        self.asks_host.next = (self.word.val().flags & self.flag_host.val()).any();
        self.wants_answer.next = (self.word.val().flags & self.flag_ar.val()).any();
        self.retx.next = (self.word.val().flags & self.flag_retx.val()).any();
        self.whole.next = (self.word.val().count == 1) & !self.word.val().probe;
        self.differs.next = (self.word.val().length != self.held.val().length)
            | (self.word.val().payload_log2 != self.held.val().payload_log2)
            | (self.word.val().tag != self.held.val().tag)
            | (self.word.val().imm != self.held.val().imm)
            | (self.has_imm.val() ^ self.held.val().has_imm)
            | (self.in_round.val() ^ self.held.val().in_round)
            | (self.in_round.val() & (self.word.val().round != self.held.val().round))
            | (self.write.val() ^ self.held.val().write)
            | (self.asks_host.val() ^ self.held.val().asks_host)
            | (self.write.val() & (self.word.val().rkey != self.held.val().buffer.get_bits::<32>(0)))
            | (self.word.val().initial_window != self.held.val().initial_window)
            | (self.word.val().endpoint != self.held.val().endpoint)
            | (self.word.val().src_endpoint != self.held.val().src_endpoint);

        self.fold64.next =
            self.word.val().src_gid.get_bits::<64>(0) ^ self.word.val().src_gid.get_bits::<64>(64);
        self.fold32.next = self.fold64.val().get_bits::<32>(0) ^ self.fold64.val().get_bits::<32>(32);
        self.fold16.next = self.fold32.val().get_bits::<16>(0) ^ self.fold32.val().get_bits::<16>(16);
        self.hash.next = self.fold16.val().get_bits::<8>(0) ^ self.fold16.val().get_bits::<8>(8);

        self.opened_fixed.next.src_gid = self.word.val().src_gid;
        self.opened_fixed.next.src_endpoint = self.word.val().src_endpoint;
        self.opened_fixed.next.endpoint = self.word.val().endpoint;
        self.opened_fixed.next.slot = self.word.val().slot;
        self.opened_fixed.next.generation = self.word.val().generation;
        self.opened_fixed.next.length = self.word.val().length;
        self.opened_fixed.next.count = self.word.val().count;
        self.opened_fixed.next.payload_log2 = self.word.val().payload_log2;
        self.opened_fixed.next.tag = self.word.val().tag;
        self.opened_fixed.next.has_imm = self.has_imm.val();
        self.opened_fixed.next.imm = self.word.val().imm;
        self.opened_fixed.next.in_round = self.in_round.val();
        self.opened_fixed.next.round = self.word.val().round;
        self.opened_fixed.next.initial_window = self.word.val().initial_window;
        self.opened_fixed.next.write = self.write.val();
        self.opened_fixed.next.buffer = self.word.val().buffer;
        if self.write.val() {
            self.opened_fixed.next.buffer = bit_cast::<64, 32>(self.word.val().rkey);
        }
        self.opened_fixed.next.entry = self.word.val().entry;
        self.opened_fixed.next.own = self.word.val().own;
        self.opened_fixed.next.asks_host = self.asks_host.val();
        self.opened_fixed.next.host = self.word.val().host;
        self.opened_fixed.next.chunk_log2 = self.word.val().chunk_log2;
        self.opened_fixed.next.area_log2 = self.word.val().area_log2;

        self.window.next = bit_cast::<24, 8>(self.word.val().initial_window);
        if self.word.val().initial_window == 0 {
            self.window.next = 256.into();
        }
        if self.word.val().count < self.window.val() {
            self.opened_live.next.grant = self.word.val().count;
        } else {
            self.opened_live.next.grant = self.window.val();
        }
        self.opened_live.next.state = 1.into();
        self.opened_live.next.status = 0.into();
        self.opened_live.next.queued = false;
        self.opened_live.next.timed = false;
        self.opened_live.next.untied = false;
        self.opened_live.next.src_mac = self.word.val().src_mac;
        self.opened_live.next.vlan = self.word.val().vlan;
        self.opened_live.next.vlan_valid = self.word.val().vlan_valid;
        self.opened_live.next.cumulative = 0.into();
        self.opened_live.next.highest = 0.into();
        self.opened_live.next.credit = 0.into();
        self.opened_live.next.nacked = false;
        self.opened_live.next.lent = false;
        self.opened_live.next.sequence = 0.into();
        self.opened_live.next.duplicates = 0.into();
        self.opened_live.next.since = 0.into();
        self.opened_live.next.block0 = 0.into();
        self.opened_live.next.block1 = 0.into();
        self.opened_live.next.block2 = 0.into();
        self.opened_live.next.block3 = 0.into();
        // A message of one packet is never tracked in a block.
        self.opened_live.next.held = 1.into();
        if self.whole.val() {
            self.opened_live.next.held = 0.into();
        }
        self.opened_live.next.full = 0.into();
        self.opened_live.next.last_ce = false;
        self.opened_live.next.last_ev = 0.into();
        self.opened_live.next.last_timestamp = self.empty.val();
        self.opened_live.next.last_arrival = self.empty.val();
    }
}
