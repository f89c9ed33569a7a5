//! The table, first part: what is joined to what, what starts next, and what is read for it.

use super::{MatchTable, State};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Wires;

impl Part<Wires> for MatchTable {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, was_enabled, want_key, clear_at, cleared, kind, turn, word, life, set0);
        dff_setup!(
            self, clk, set1, sweep_at, sweep_left, sweep_in, sweep_due, done, done_full, full, stands, shown,
            is_life, is_low, is_high, is_target
        );
        self.hash.clk.next = self.clk.val();
        self.hash.rst.next = self.rst.val();
        self.tables.clk.next = self.clk.val();
        self.nodes.clk.next = self.clk.val();
        self.nodes.rst.next = self.rst.val();
        self.tenants.clk.next = self.clk.val();
        self.tenants.rst.next = self.rst.val();
        self.tenants.table_write.next = self.table_write.val();

        // What to do next: an ask, a post, a sweep step; a step that is due first.
        self.sweeps.next = self.exists.val() & (self.sweep_left.q.val() != 0);
        self.may_start.next = self.cleared.q.val()
            & (self.state.q.val() == State::Idle)
            & (self.hash.keyed.val() | !self.exists.val())
            & !self.want_key.q.val()
            & !self.done_full.q.val()
            & !self.settle.val()
            & !(self.sweeps.val() & self.sweep_due.q.val());
        self.asks.next = self.ask.val() & !(self.turn.q.val() & self.post_valid.val());
        self.starts_ask.next = self.may_start.val() & self.asks.val();
        self.starts_post.next = self.may_start.val() & !self.asks.val() & self.post_valid.val();
        self.post_ready.next = self.starts_post.val();

        // The hash of what starts; a node of a past life brings its own words.
        self.hash.seed.next = self.settings.val().seed;
        self.hash.tag.next = self.post_data.val().tag;
        self.hash.endpoint.next = self.post_data.val().endpoint;
        self.tenants.endpoint.next = self.word.q.val().endpoint;
        if self.state.q.val() == State::Idle {
            self.tenants.endpoint.next = self.post_data.val().endpoint;
            if self.asks.val() {
                self.hash.tag.next = self.ask_tag.val();
                self.hash.endpoint.next = self.ask_endpoint.val();
                self.tenants.endpoint.next = self.ask_endpoint.val();
            }
        }
        if self.state.q.val() == State::SweepHash {
            self.hash.tag.next = self.word.q.val().tag;
            self.hash.endpoint.next = self.word.q.val().endpoint;
        }

        self.tables.set0.next = self.set0.q.val();
        self.tables.set1.next = self.set1.q.val();
        self.tables.present.next = 0.into();
        self.tables.choose_way.next = false;
        self.tables.way.next = 0.into();
        self.tables.choose.next = self.state.q.val() == State::Choose;
        self.tables.key.next.gid = bit_cast::<128, 64>(self.word.q.val().tag);
        self.tables.key.next.endpoint =
            (bit_cast::<24, 16>(self.life.q.val()) << 8) | bit_cast::<24, 8>(self.word.q.val().endpoint);
        self.tables.key.next.slot = 0.into();
        self.tables.key.next.generation = 0.into();
        self.is_found.next = self.exists.val() & self.tables.found.val().any();
        self.head.next = self.tables.found_held.val().value.get_bits::<12>(0);
        self.tail.next = self.tables.found_held.val().value.get_bits::<12>(12);

        // The node at hand: the oldest for an ask, else the one named.
        self.nodes.at.next = self.word.q.val().handle.get_bits::<12>(0);
        if (self.kind.q.val() == 0)
            & ((self.state.q.val() == State::Act) | (self.state.q.val() == State::Held))
        {
            self.nodes.at.next = self.head.val();
        }
        if self.state.q.val() == State::Idle {
            self.nodes.at.next = self.sweep_at.q.val();
        }
    }
}
