//! The writer, third part: the queue, whether its ring has room, and the entry's bytes.

use super::{CqWriter, Step};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Entry;

impl Part<Entry> for CqWriter {
    #[hdl_gen]
    fn update(&mut self) {
        // The queue's number, then its ring.
        self.endpoints.read_address.next = self.picked.val().endpoint;
        self.route.next = self.endpoints.read_data.val().of_sends;
        if self.word.q.val().receive {
            self.route.next = self.endpoints.read_data.val().of_receives;
        }
        self.asked.next = self.number.q.val();
        if self.state.q.val() == Step::Route {
            self.asked.next = self.route.val();
        }
        self.rings.read_address.next = self.asked.val();
        self.bases.read_address.next = self.asked.val();
        self.heads.read_address.next = self.asked.val();
        self.tails.read_address.next = self.asked.val();

        self.size.next = self.one.val() << self.rings.read_data.val().log2;
        self.filled.next = self.tails.read_data.val() - self.heads.read_data.val();
        self.lost.next = !self.rings.read_data.val().exists | (self.filled.val() >= self.size.val());
        self.place.next = self.tails.read_data.val() & (self.size.val() - self.one.val());
        self.pass.next = self.tails.read_data.val() >> self.rings.read_data.val().log2;

        // The entry.
        self.gid.value.next = self.word.q.val().peer_gid;
        if !self.has_v6.val() & self.word.q.val().peer_gid.any() {
            self.gid.value.next = self.word.q.val().peer_gid | (bit_cast::<128, 96>(self.mapped.val()) << 32);
        }
        self.opcode.next = self.sent.val();
        if self.word.q.val().receive {
            self.opcode.next = self.received.val() + bit_cast::<8, 2>(self.word.q.val().event);
        }
        self.flags.next = 0.into();
        if self.word.q.val().has_imm {
            self.flags.next = self.imm_flag.val();
        }
        if self.word.q.val().write {
            self.flags.next = self.flags.val() | self.write_flag.val();
        }
        if self.word.q.val().grh {
            self.flags.next = self.flags.val() | self.grh_flag.val();
        }
        if self.word.q.val().vlan_valid {
            self.flags.next = self.flags.val() | self.vlan_flag.val();
        }
        self.phase.next = 1.into();
        if self.pass.val().get_bit(0) {
            self.phase.next = 0.into();
        }
        self.message.next = (bit_cast::<32, 12>(self.word.q.val().slot) << 20)
            | bit_cast::<32, 20>(self.word.q.val().generation);
        self.lower.next = (bit_cast::<512, 8>(self.opcode.val()) << self.at_opcode.val())
            | (bit_cast::<512, 8>(self.word.q.val().status) << self.at_status.val())
            | (bit_cast::<512, 8>(self.flags.val()) << self.at_flags.val())
            | (bit_cast::<512, 8>(self.word.q.val().endpoint) << self.at_endpoint.val())
            | (bit_cast::<512, 16>(self.word.q.val().entry) << self.at_entry.val())
            | (bit_cast::<512, 32>(self.word.q.val().length) << self.at_length.val())
            | (bit_cast::<512, 32>(self.word.q.val().imm) << self.at_imm.val());
        self.upper.next = (bit_cast::<512, 64>(self.word.q.val().tag) << self.at_tag.val())
            | (bit_cast::<512, 32>(self.message.val()) << self.at_message.val())
            | (bit_cast::<512, 24>(self.word.q.val().peer_endpoint) << self.at_peer.val())
            | (bit_cast::<512, 128>(self.gid.reversed.val()) << self.at_gid.val())
            | (bit_cast::<512, 32>(self.now.val()) << self.at_time.val())
            | (bit_cast::<512, 8>(self.ring.q.val()) << self.at_ring.val())
            | (bit_cast::<512, 8>(self.phase.val()) << self.at_phase.val());
    }
}
