//! Send entries, last part: gathered, weighed and decided, clock by clock, and what leaves.

use super::{SqFetch, Step};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Steps;

impl Part<Steps> for SqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        self.last_of_record.next = (self.step.q.val() + 1) == self.reader.record_data.val().count;
        self.gather.next = false;
        // Behind one that is refused there is room a clock later: when the writer of completions takes it is late.
        self.out_free.next = !self.out_valid.q.val() | (self.out_good.q.val() & self.request_ready.val());
        if self.out_free.val() | self.refused_ready.val() & !self.out_good.q.val() {
            self.out_valid.d.next = false;
        }
        self.reader.beat_ready.next = !self.first_valid.q.val();
        self.reader.record_ready.next = false;
        if !self.first_valid.q.val() {
            self.first.d.next = self.reader.beat_data.val();
            self.first_valid.d.next = self.reader.beat_valid.val();
        }
        match self.state.q.val() {
            Step::Gather => {
                self.gather.next = self.first_valid.q.val()
                    & self.reader.beat_valid.val()
                    & self.reader.record_valid.val()
                    & self.known.q.val()
                    & (!self.stale.q.val() | !self.dropped.q.val());
                self.second.d.next = self.reader.beat_data.val();
                self.endpoint.d.next = self.reader.record_data.val().endpoint;
                self.entry.d.next =
                    self.reader.record_data.val().index + bit_cast::<16, 4>(self.step.q.val());
                self.failed.d.next = self.reader.failed.val();
                self.is_datagram.d.next = self.has_datagrams.val() & self.datagrams.read_data.val();
                self.is_limited.d.next = self.limited.read_data.val();
                if self.gather.val() {
                    self.reader.beat_ready.next = true;
                    self.reader.record_ready.next = self.last_of_record.val();
                    self.step.d.next = self.step.q.val() + 1;
                    if self.last_of_record.val() {
                        self.step.d.next = 0.into();
                    }
                    self.state.d.next = Step::Weigh;
                    if self.stale.q.val() {
                        self.dropped.d.next = true;
                        self.dropped_at.d.next = self.reader.record_data.val().endpoint;
                        self.first_valid.d.next = false;
                        self.state.d.next = Step::Gather;
                    }
                }
            }
            Step::Weigh => {
                self.is_write.d.next = self.opcode.val() == self.op_write.val();
                self.malformed.d.next = (!self.is_datagram.q.val()
                    & (self.opcode.val() != self.op_send.val())
                    & (self.opcode.val() != self.op_write.val()))
                    | (self.is_datagram.q.val() & (self.opcode.val() != self.op_ud.val()))
                    | (self.payload.val() < self.smallest.val())
                    | (self.payload.val() > self.largest.val())
                    | (!self.has_v6.val()
                        & (self.gid.reversed.val().get_bits::<96>(32) != self.mapped.val()))
                    | (!self.has_tags.val() & ((self.flags.val() & self.has_vlan.val()) != 0));
                self.count.d.next = self.packets.val().get_bits::<25>(0);
                if self.length.val() == 0 {
                    self.count.d.next = 1.into();
                }
                self.state.d.next = Step::Decide;
            }
            Step::Decide => {
                if self.out_free.val() {
                    self.out_valid.d.next = true;
                    self.out_good.d.next = false;
                    if self.failed.q.val() {
                        self.out_status.d.next = self.local_dma.val();
                    } else {
                        if self.malformed.q.val() | self.too_many.val() {
                            self.out_status.d.next = self.bad_request.val();
                        } else {
                            if self.keys.permitted.val() {
                                self.out_status.d.next = self.success.val();
                                self.out_good.d.next = true;
                            } else {
                                self.out_status.d.next = self.local_protection.val();
                            }
                        }
                    }
                    self.out.d.next.endpoint = self.endpoint.q.val();
                    self.out.d.next.entry = self.entry.q.val();
                    self.out.d.next.ud = self.is_datagram.q.val();
                    self.out.d.next.vlan = self.first.q.val().get_bits::<16>(self.at_vlan.val().index());
                    self.out.d.next.vlan_valid = (self.flags.val() & self.has_vlan.val()) != 0;
                    if !self.has_tags.val() {
                        self.out.d.next.vlan = 0.into();
                        self.out.d.next.vlan_valid = false;
                    }
                    self.out.d.next.dst_mac = self.mac.reversed.val().get_bits::<48>(0);
                    self.out.d.next.dst_gid = self.gid.reversed.val();
                    if !self.has_v6.val() {
                        self.out.d.next.dst_gid =
                            bit_cast::<128, 32>(self.gid.reversed.val().get_bits::<32>(0));
                    }
                    self.out.d.next.dst_endpoint = self.to.val().get_bits::<24>(0);
                    self.out.d.next.qkey = self.first.q.val().get_bits::<32>(self.at_qkey.val().index());
                    self.out.d.next.address = self.address.val();
                    self.out.d.next.length = self.length.val();
                    self.out.d.next.count = self.count.q.val().get_bits::<24>(0);
                    self.out.d.next.payload_log2 = self.payload.val().get_bits::<4>(0);
                    self.out.d.next.traffic_class = self.traffic.val().get_bits::<4>(0);
                    self.out.d.next.initial_window = self.window.val();
                    if self.is_limited.q.val()
                        & (self.share.q.val() != 0)
                        & ((self.window.val() == 0) | (self.share.q.val() < self.window.val()))
                    {
                        self.out.d.next.initial_window = self.share.q.val();
                    }
                    self.out.d.next.tag = self.first.q.val().get_bits::<64>(self.at_tag.val().index());
                    self.out.d.next.rkey = 0.into();
                    if self.is_write.q.val() {
                        self.out.d.next.tag =
                            self.second.q.val().get_bits::<64>(self.at_remote.val().index());
                        self.out.d.next.rkey = self.second.q.val().get_bits::<32>(self.at_rkey.val().index());
                    }
                    self.out.d.next.write = self.is_write.q.val();
                    if self.is_datagram.q.val() {
                        self.out.d.next.tag =
                            bit_cast::<64, 8>(self.traffic.val()) | (bit_cast::<64, 8>(self.hops.val()) << 8);
                        if self.hops.val() == 0 {
                            self.out.d.next.tag = bit_cast::<64, 8>(self.traffic.val())
                                | (bit_cast::<64, 8>(self.usual_hops.val()) << 8);
                        }
                    }
                    self.out.d.next.imm = self.first.q.val().get_bits::<32>(self.at_imm.val().index());
                    self.out.d.next.has_imm = (self.flags.val() & self.has_imm.val()) != 0;
                    self.out.d.next.in_round = (self.flags.val() & self.in_round.val()) != 0;
                    self.out.d.next.host_recovery = (self.flags.val() & self.host_recovery.val()) != 0;
                    self.out.d.next.round = self.first.q.val().get_bits::<16>(self.at_round.val().index())
                        & self.round_bits.val();
                    // The next entry's first beat moves up in the same clock.
                    self.reader.beat_ready.next = true;
                    self.first.d.next = self.reader.beat_data.val();
                    self.first_valid.d.next = self.reader.beat_valid.val();
                    self.state.d.next = Step::Gather;
                }
            }
        }

        // Whether a record's ring was written anew is late in the clock: its entries wait until the next knows.
        self.anew.next = self.endpoint_write.val()
            & (self.table_write.val().index == self.reader.record_data.val().endpoint);
        self.renewed.d.next = self.anew.val();
        self.stale.d.next = self.reader.stale.val() | self.anew.val() | self.renewed.q.val();
        self.known.d.next = self.reader.record_stands.val();
        self.taken.next = self.gather.val() & !self.stale.q.val();
        self.taker.next = self.reader.record_data.val().endpoint;
        self.request_valid.next = self.out_valid.q.val() & self.out_good.q.val();
        self.request_data.next = self.out.q.val();
        self.refused_valid.next = self.out_valid.q.val() & !self.out_good.q.val();
        if self.out_valid.q.val() & !self.out_good.q.val() & self.refused_ready.val() {
            self.refusal.d.next = true;
            self.refusal_at.d.next = self.out.q.val().endpoint;
        }
        self.refused_data.next.receive = false;
        self.refused_data.next.own = false;
        self.refused_data.next.event = 0.into();
        self.refused_data.next.status = self.out_status.q.val();
        self.refused_data.next.has_imm = false;
        self.refused_data.next.write = self.out.q.val().write;
        self.refused_data.next.grh = false;
        self.refused_data.next.vlan_valid = false;
        self.refused_data.next.endpoint = self.out.q.val().endpoint;
        self.refused_data.next.entry = self.out.q.val().entry;
        self.refused_data.next.length = self.out.q.val().length;
        self.refused_data.next.imm = 0.into();
        self.refused_data.next.tag = self.out.q.val().tag;
        if self.out.q.val().ud {
            self.refused_data.next.tag = 0.into();
        }
        self.refused_data.next.slot = 0.into();
        self.refused_data.next.generation = 0.into();
        self.refused_data.next.peer_endpoint = self.out.q.val().dst_endpoint;
        self.refused_data.next.peer_gid = self.out.q.val().dst_gid;

        if self.rst.val() {
            self.over.d.next = false;
            self.refusal.d.next = false;
            self.dropped.d.next = false;
            self.counting.d.next = false;
            self.known.d.next = false;
            self.state.d.next = Step::Gather;
            self.first_valid.d.next = false;
            self.step.d.next = 0.into();
            self.out_valid.d.next = false;
        }
    }
}
