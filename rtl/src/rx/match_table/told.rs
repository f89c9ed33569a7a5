//! The table, third part: the answer to an ask, and what is told in `done`.

use super::{MatchTable, State};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Told;

impl Part<Told> for MatchTable {
    #[hdl_gen]
    fn update(&mut self) {
        // In registers: `lookup` decides by the answer in the clock in which it comes, and the node
        // comes out of a memory late.
        self.stands.d.next = (self.state.q.val() == State::Held) & !self.settle.val();
        self.known.next = self.stands.q.val();
        self.answer.next = self.shown.q.val();
        self.shown.d.next.available = self.is_found.val();
        self.shown.d.next.coming = false;
        self.shown.d.next.address = 0.into();
        self.shown.d.next.length = 0.into();
        self.shown.d.next.entry = 0.into();
        self.shown.d.next.room = 0.into();
        if self.exists.val() {
            self.shown.d.next.address = self.nodes.node.val().address;
            self.shown.d.next.length = self.nodes.node.val().length;
            self.shown.d.next.entry = self.nodes.node.val().entry;
            self.shown.d.next.room = self.nodes.node.val().length;
        }
        self.shown.d.next.chunks = false;
        self.shown.d.next.chunk_log2 = 0.into();
        self.shown.d.next.area_log2 = 0.into();
        self.shown.d.next.capacity = 0.into();

        // What is told.
        if self.done_ready.val() {
            self.done_full.d.next = false;
        }
        self.tells.next = false;
        self.full.d.next = false;
        if self.act.val() & ((self.kind.q.val() == 1) | (self.kind.q.val() == 2)) {
            self.tells.next = true;
            self.done.d.next.receive = true;
            self.done.d.next.own = true;
            self.done.d.next.has_imm = false;
            self.done.d.next.write = false;
            self.done.d.next.grh = false;
            self.done.d.next.vlan_valid = false;
            self.done.d.next.endpoint = self.word.q.val().endpoint;
            self.done.d.next.entry = self.word.q.val().entry;
            self.done.d.next.imm = 0.into();
            self.done.d.next.tag = self.word.q.val().tag;
            self.done.d.next.slot = 0.into();
            self.done.d.next.generation = 0.into();
            self.done.d.next.peer_endpoint = 0.into();
            self.done.d.next.peer_gid = 0.into();
            self.done.d.next.length = bit_cast::<32, 12>(self.nodes.number.val());
            self.done.d.next.status = 0.into();
            self.done.d.next.event = 1.into();
            if self.kind.q.val() == 2 {
                self.done.d.next.event = 3.into();
                self.done.d.next.length = 0.into();
                if !self.unlink.val() {
                    self.done.d.next.status = self.not_posted.val();
                }
            } else {
                if !self.insert.val() {
                    self.done.d.next.event = 0.into();
                    self.done.d.next.length = self.word.q.val().length;
                    self.done.d.next.status = self.bad_request.val();
                    if self.tenants.tags.val() {
                        self.done.d.next.status = self.no_tag_space.val();
                        self.full.d.next = true;
                    }
                }
            }
        }
        if self.settle.val() & self.unexpected.val() {
            self.tells.next = true;
            self.done.d.next.receive = true;
            self.done.d.next.own = false;
            self.done.d.next.event = 2.into();
            self.done.d.next.status = 0.into();
            self.done.d.next.write = false;
            self.done.d.next.grh = false;
            self.done.d.next.vlan_valid = false;
            self.done.d.next.has_imm = (self.opened.val().flags & self.imm_flag.val()) != 0;
            self.done.d.next.endpoint = self.opened.val().endpoint;
            self.done.d.next.entry = self.opened.val().entry;
            self.done.d.next.length = self.opened.val().length;
            self.done.d.next.imm = self.opened.val().imm;
            self.done.d.next.tag = self.opened.val().tag;
            self.done.d.next.slot = self.opened.val().slot;
            self.done.d.next.generation = self.opened.val().generation;
            self.done.d.next.peer_endpoint = self.opened.val().src_endpoint;
            self.done.d.next.peer_gid = self.opened.val().src_gid;
        }
        if self.tells.val() {
            self.done_full.d.next = true;
        }
        self.done_valid.next = self.done_full.q.val();
        self.done_data.next = self.done.q.val();
        self.event_full.next = self.full.q.val();
    }
}
