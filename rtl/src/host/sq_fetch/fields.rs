//! Send entries, second part: the fields of the one at hand, its key and its packets.

use super::{SqFetch, Step};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Fields;

impl Part<Fields> for SqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        // Fields of the entry.
        self.opcode.next = self.first.q.val().get_bits::<8>(self.at_opcode.val().index());
        self.flags.next = self.first.q.val().get_bits::<8>(self.at_flags.val().index());
        self.payload.next = self.first.q.val().get_bits::<8>(self.at_payload.val().index());
        self.traffic.next = self.first.q.val().get_bits::<8>(self.at_class.val().index());
        self.length.next = self.first.q.val().get_bits::<32>(self.at_length.val().index());
        self.address.next = self.first.q.val().get_bits::<64>(self.at_address.val().index());
        self.lkey.next = self.first.q.val().get_bits::<32>(self.at_lkey.val().index());
        self.window.next = self.first.q.val().get_bits::<8>(self.at_window.val().index());
        if self.window.val() == 0 {
            self.window.next = self.settings.val().initial_window;
        }
        //= TX-15
        self.sixteenth.next =
            self.settings.val().unsolicited_limit.get_bits::<28>(4) >> self.payload.val().get_bits::<4>(0);
        self.share.d.next = self.sixteenth.val().get_bits::<8>(0);
        if self.sixteenth.val() == 0 {
            self.share.d.next = 1.into();
        }
        if self.sixteenth.val().get_bits::<20>(8).any() {
            self.share.d.next = 0.into();
        }
        self.hops.next = self.first.q.val().get_bits::<8>(self.at_hops.val().index());
        self.to.next = self.first.q.val().get_bits::<32>(self.at_endpoint.val().index());
        self.mac.value.next =
            bit_cast::<128, 48>(self.first.q.val().get_bits::<48>(self.at_mac.val().index())) << 80;
        self.gid.value.next = self.second.q.val().get_bits::<128>(self.at_gid.val().index());
        self.keys.key.next = self.lkey.val();
        // The check begins with the clock of the gathering.
        self.keys.endpoint.next = self.endpoint.q.val();
        if self.state.q.val() == Step::Gather {
            self.keys.endpoint.next = self.reader.record_data.val().endpoint;
        }
        self.keys.address.next = self.address.val();
        self.keys.length.next = self.length.val();

        // count = ceil(length / payload size), of use only if the size is right.
        self.unit.next = self.one.val() << self.payload.val().get_bits::<4>(0);
        self.rounded.next = bit_cast::<33, 32>(self.length.val()) + self.unit.val() - self.one.val();
        self.packets.next = self.rounded.val() >> self.payload.val().get_bits::<4>(0);
        self.too_many.next = self.count.q.val() > self.most_packets.val();
        if self.is_datagram.q.val() {
            self.too_many.next = self.count.q.val() != 1;
        }
    }
}
