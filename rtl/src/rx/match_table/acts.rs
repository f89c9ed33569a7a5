//! The table, second part: whether a receive is put in or taken out, and what is written for it.

use super::{MatchTable, State};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Acts;

impl Part<Acts> for MatchTable {
    #[hdl_gen]
    fn update(&mut self) {
        // Act.
        self.act.next = self.state.q.val() == State::Act;
        self.room.next = self.exists.val()
            & self.nodes.available.val()
            & !self.tenants.used_up.val()
            & (self.is_found.val() | self.tables.vacancy.val().any());
        self.insert.next =
            self.act.val() & (self.kind.q.val() == 1) & self.tenants.tags.val() & self.room.val();
        self.is_life.d.next = ((self.word.q.val().handle & self.beyond.val()) == 0)
            & self.nodes.live.val()
            & (self.nodes.node.val().endpoint == self.word.q.val().endpoint)
            & (self.nodes.node.val().life == self.life.q.val());
        self.is_low.d.next =
            self.nodes.node.val().tag.get_bits::<32>(0) == self.word.q.val().tag.get_bits::<32>(0);
        self.is_high.d.next =
            self.nodes.node.val().tag.get_bits::<32>(32) == self.word.q.val().tag.get_bits::<32>(32);
        self.is_target.d.next =
            (self.kind.q.val() == 3) | (self.nodes.node.val().entry == self.word.q.val().target);
        self.holds.next = self.is_found.val()
            & self.is_life.q.val()
            & self.is_low.q.val()
            & self.is_high.q.val()
            & self.is_target.q.val();
        self.unlink.next = (self.act.val() & self.holds.val() & self.kind.q.val().get_bit(1))
            | ((self.state.q.val() == State::Held)
                & self.settle.val()
                & self.take.val()
                & self.is_found.val());

        self.is_head.next = self.nodes.at.val() == self.head.val();
        self.is_tail.next = self.nodes.at.val() == self.tail.val();
        self.new_head.next = self.head.val();
        self.new_tail.next = self.tail.val();
        if self.unlink.val() {
            if self.is_head.val() {
                self.new_head.next = self.nodes.links.val().behind;
            }
            if self.is_tail.val() {
                self.new_tail.next = self.nodes.links.val().before;
            }
        }
        self.write_hot.next = 0.into();
        self.tables.write_names.next = false;
        self.tables.new_held.next.state = 1.into();
        self.tables.new_held.next.status = 0.into();
        if self.insert.val() {
            self.new_tail.next = self.nodes.number.val();
            self.write_hot.next = self.tables.found.val();
            if !self.is_found.val() {
                self.new_head.next = self.nodes.number.val();
                self.write_hot.next = self.tables.vacancy.val();
                self.tables.write_names.next = true;
            }
        }
        if self.unlink.val() {
            self.write_hot.next = self.tables.found.val();
            if self.is_head.val() & self.is_tail.val() {
                self.tables.new_held.next.state = 0.into();
            }
        }
        self.tables.new_held.next.value =
            (bit_cast::<24, 12>(self.new_tail.val()) << 12) | bit_cast::<24, 12>(self.new_head.val());
        self.tables.write_set0.next = self.set0.q.val();
        self.tables.write_set1.next = self.set1.q.val();
        if !self.cleared.q.val() {
            self.write_hot.next = 0xff.into();
            self.tables.new_held.next.state = 0.into();
            self.tables.write_set0.next = self.clear_at.q.val().get_bits::<13>(0);
            self.tables.write_set1.next = self.clear_at.q.val().get_bits::<13>(0);
        }
        self.tables.write.next = self.write_hot.val();

        self.nodes.insert.next = self.insert.val();
        self.nodes.joins.next = self.is_found.val();
        self.nodes.tail.next = self.tail.val();
        self.nodes.new_node.next.address = self.word.q.val().address;
        self.nodes.new_node.next.length = self.word.q.val().length;
        self.nodes.new_node.next.entry = self.word.q.val().entry;
        self.nodes.new_node.next.endpoint = self.word.q.val().endpoint;
        self.nodes.new_node.next.life = self.life.q.val();
        self.nodes.new_node.next.tag = self.word.q.val().tag;
        self.nodes.unlink.next = self.unlink.val();
        self.nodes.is_head.next = self.is_head.val();
        self.nodes.is_tail.next = self.is_tail.val();
        self.tenants.more.next = self.insert.val();
        self.tenants.fewer.next = self.unlink.val();
    }
}
