//! Receives, last part: what becomes of an entry that is refused, and the reset.

use super::{RqFetch, Step};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Refusing;

impl Part<Refusing> for RqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        // Refusals.
        if self.refuse.val() {
            self.out_valid.d.next = true;
            self.out.d.next.receive = true;
            self.out.d.next.status = self.local_protection.val();
            if self.keys.permitted.val() | self.cancel.val() {
                self.out.d.next.status = self.bad_request.val();
            }
            if self.reader.failed.val() {
                self.out.d.next.status = self.local_dma.val();
            }
            self.out.d.next.has_imm = false;
            self.out.d.next.write = false;
            self.out.d.next.grh = false;
            self.out.d.next.vlan_valid = false;
            self.out.d.next.endpoint = self.reader.record_data.val().endpoint;
            self.out.d.next.own = true;
            self.out.d.next.event = 0.into();
            self.out.d.next.entry = self.index.val();
            self.out.d.next.length = self.length.val();
            self.out.d.next.imm = 0.into();
            self.out.d.next.tag = 0.into();
            self.out.d.next.slot = 0.into();
            self.out.d.next.generation = 0.into();
            self.out.d.next.peer_endpoint = 0.into();
            self.out.d.next.peer_gid = 0.into();
        }
        self.refused_valid.next = self.out_valid.q.val();
        self.refused_data.next = self.out.q.val();

        if self.rst.val() {
            self.state.d.next = Step::Gather;
            self.wipe.d.next = false;
            self.upper.d.next = false;
            self.step.d.next = 0.into();
            self.out_valid.d.next = false;
            self.asked.d.next = false;
            self.looked.d.next = false;
            self.answered.d.next = false;
            self.last_valid.d.next = false;
        }
    }
}
