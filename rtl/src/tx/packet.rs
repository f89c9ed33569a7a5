//! Makes the packet of a turn or a retransmission while `act` decides whether
//! it goes.
//!
//! ```text
//!  job, state, message ──> flags, offset ──> address, length ──> packet
//! ```
//!
//! Contract: `packet` is that of the last `turn` or `step`, two clocks after
//! its job, and stands until the next one's job: one packet at a time is between
//! its job and the next block (`outlet`).
//!
//! Verified as part of `testbenches/tests/tx_slots/`, rule TX-2.

use super::words::{Job, SlotState};
use crate::prelude::*;
use crate::types::{TxPacket, TxRequest};
use tessera_abi::wire::flag;

#[derive(LogicBlock)]
pub struct PacketMaker {
    pub clk: Signal<In, Clock>,
    pub job: Signal<In, Job>,
    pub state: Signal<In, SlotState>,
    pub message: Signal<In, TxRequest>,
    pub packet: Signal<Out, TxPacket>,
    index: Signal<Local, Bits<24>>,
    following: Signal<Local, Bits<24>>,
    probe: Signal<Local, Bit>,
    ar: Signal<Local, Bits<8>>,
    retx: Signal<Local, Bits<8>>,
    imm: Signal<Local, Bits<8>>,
    in_round: Signal<Local, Bits<8>>,
    host: Signal<Local, Bits<8>>,
    write: Signal<Local, Bits<8>>,
    est: Signal<Local, Bits<8>>,
    /// All but where its payload lies and how long it is: the address here is that of the whole message.
    draft: Dff<TxPacket>,
    offset: Dff<Bits<36>>,
    drafted: Dff<Bit>,
    left: Signal<Local, Bits<32>>,
    size: Signal<Local, Bits<32>>,
    one: Constant<Bits<32>>,
    address: Dff<Bits<64>>,
    payload_len: Dff<Bits<13>>,
    flag_ar: Constant<Bits<8>>,
    flag_retx: Constant<Bits<8>>,
    flag_imm: Constant<Bits<8>>,
    flag_round: Constant<Bits<8>>,
    flag_host: Constant<Bits<8>>,
    flag_write: Constant<Bits<8>>,
    flag_est: Constant<Bits<8>>,
}

impl PacketMaker {
    pub fn new() -> Self {
        let flag = |flag: u8| Constant::new(u64::from(flag).into());
        Self {
            clk: Default::default(),
            job: Default::default(),
            state: Default::default(),
            message: Default::default(),
            packet: Default::default(),
            index: Default::default(),
            following: Default::default(),
            probe: Default::default(),
            ar: Default::default(),
            retx: Default::default(),
            imm: Default::default(),
            in_round: Default::default(),
            host: Default::default(),
            write: Default::default(),
            est: Default::default(),
            draft: Default::default(),
            offset: Default::default(),
            drafted: Default::default(),
            left: Default::default(),
            size: Default::default(),
            one: Constant::new(1u64.into()),
            address: Default::default(),
            payload_len: Default::default(),
            flag_ar: flag(flag::AR),
            flag_retx: flag(flag::RETX),
            flag_imm: flag(flag::IMM),
            flag_round: flag(flag::ROUND),
            flag_host: flag(flag::HOST_RECOVERY),
            flag_write: flag(flag::WRITE),
            flag_est: flag(flag::EST),
        }
    }
}

impl Logic for PacketMaker {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, draft, offset, drafted, address, payload_len);

        self.probe.next = self.job.val().turn & self.state.val().probe;
        if self.job.val().step {
            self.index.next = self.job.val().index;
        } else {
            self.index.next = self.state.val().sent;
        }
        self.following.next = self.index.val() + 1;
        self.ar.next = 0.into();
        if !self.probe.val()
            & ((self.following.val() == self.state.val().limit)
                | (self.following.val() == self.message.val().count))
        {
            self.ar.next = self.flag_ar.val();
        }
        self.retx.next = 0.into();
        if self.job.val().step {
            self.retx.next = self.flag_retx.val();
        }
        self.imm.next = 0.into();
        if self.message.val().has_imm {
            self.imm.next = self.flag_imm.val();
        }
        self.in_round.next = 0.into();
        if self.message.val().in_round {
            self.in_round.next = self.flag_round.val();
        }
        self.host.next = 0.into();
        if self.message.val().host_recovery {
            self.host.next = self.flag_host.val();
        }
        self.write.next = 0.into();
        if self.message.val().write {
            self.write.next = self.flag_write.val();
        }
        self.est.next = 0.into();
        if self.state.val().heard {
            self.est.next = self.flag_est.val();
        }
        // It stands until the next one's job, which enters when it has been taken: no copy of it is offered.
        if self.job.val().turn | self.job.val().step {
            self.draft.d.next.dst_mac = self.message.val().dst_mac;
            self.draft.d.next.vlan = self.message.val().vlan;
            self.draft.d.next.vlan_valid = self.message.val().vlan_valid;
            self.draft.d.next.ud = false;
            self.draft.d.next.dst_gid = self.message.val().dst_gid;
            self.draft.d.next.dst_endpoint = self.message.val().dst_endpoint;
            self.draft.d.next.qkey = self.message.val().qkey;
            self.draft.d.next.endpoint = self.message.val().endpoint;
            self.draft.d.next.probe = self.probe.val();
            self.draft.d.next.flags = self.ar.val()
                | self.retx.val()
                | self.write.val()
                | self.imm.val()
                | self.in_round.val()
                | self.host.val()
                | self.est.val();
            self.draft.d.next.payload_log2 = self.message.val().payload_log2;
            self.draft.d.next.traffic_class = self.message.val().traffic_class;
            self.draft.d.next.slot = self.job.val().slot;
            self.draft.d.next.generation = self.state.val().generation;
            self.draft.d.next.index = self.index.val();
            self.draft.d.next.initial_window = self.message.val().initial_window;
            self.draft.d.next.length = self.message.val().length;
            self.draft.d.next.tag = self.message.val().tag;
            self.draft.d.next.rkey = self.message.val().rkey;
            self.draft.d.next.imm = self.message.val().imm;
            self.draft.d.next.round = self.message.val().round;
            self.draft.d.next.rtt = self.state.val().srtt;
            self.draft.d.next.address = self.message.val().address;
            self.draft.d.next.payload_len = 0.into();
        }
        self.offset.d.next = bit_cast::<36, 24>(self.index.val()) << self.message.val().payload_log2;
        self.drafted.d.next = self.job.val().turn | self.job.val().step;

        self.left.next = self.draft.q.val().length - self.offset.q.val().get_bits::<32>(0);
        self.size.next = self.one.val() << self.draft.q.val().payload_log2;
        if self.drafted.q.val() {
            self.address.d.next = self.draft.q.val().address + bit_cast::<64, 36>(self.offset.q.val());
            self.payload_len.d.next = 0.into();
            if !self.draft.q.val().probe {
                if self.left.val() < self.size.val() {
                    self.payload_len.d.next = self.left.val().get_bits::<13>(0);
                } else {
                    self.payload_len.d.next = self.size.val().get_bits::<13>(0);
                }
            }
        }
        self.packet.next = self.draft.q.val();
        self.packet.next.address = self.address.q.val();
        self.packet.next.payload_len = self.payload_len.q.val();
    }
}
