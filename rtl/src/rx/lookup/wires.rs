//! A packet's way, first part: what is joined to what, who is asked, and which sets are read.

use super::{Lookup, State};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Wires;

impl Part<Wires> for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            was_enabled,
            want_key,
            clear_at,
            cleared,
            packet,
            set0,
            set1,
            answered,
            receive,
            is_consume,
            is_settle,
            is_take,
            is_unexpected,
            is_stale,
            is_busy_receive,
            is_busy_resources,
            is_busy_conflict,
            is_busy_quota,
            is_no_context,
            is_finished,
            is_opened,
            is_ud_receive,
            disturbed,
            tries,
            budget,
            pressed,
            sweep_set,
            sweep_in,
            sweep_due,
            sweep_first,
            behind,
            has_judged,
            has_buried,
            is_low,
            reclaim_at,
            reclaim_way,
            reclaim_of,
            reclaim_turn,
            lives_to,
            released_to,
            is_tagged,
            has_opened
        );
        self.ends.clk.next = self.clk.val();
        self.ends.rst.next = self.rst.val();
        self.tally.clk.next = self.clk.val();
        self.tally.rst.next = self.rst.val();
        self.tenants.clk.next = self.clk.val();
        self.tenants.rst.next = self.rst.val();
        self.numbers.clk.next = self.clk.val();
        self.numbers.rst.next = self.rst.val();
        self.reply.clk.next = self.clk.val();
        self.reply.rst.next = self.rst.val();
        self.hash.clk.next = self.clk.val();
        self.hash.rst.next = self.rst.val();

        // What state we are in.
        self.in_act.next = self.state.q.val() == State::Act;
        self.in_clear.next = self.state.q.val() == State::SweepClear;
        self.sweeping.next = (self.state.q.val() == State::SweepRead)
            | (self.state.q.val() == State::SweepCompare)
            | self.in_clear.val();
        self.ask_valid.next =
            (self.state.q.val() == State::Read) & ((self.packet.q.val().flags & self.est_flag.val()) == 0);
        self.ask_ring.next = self.tenants.ring.val();
        self.looking.next = (self.state.q.val() == State::Read)
            | (self.state.q.val() == State::ReadAgain)
            | (self.state.q.val() == State::Compare)
            | (self.state.q.val() == State::Choose)
            | self.in_act.val();
        // The tag of a write is an address; a datagram and a RELEASE have none.
        self.by_tag.next = self.tenants.tags.val()
            & !self.packet.q.val().ud
            & !self.packet.q.val().release
            & ((self.packet.q.val().flags & self.write_flag.val()) == 0);
        self.match_ask.next =
            self.looking.val() & self.by_tag.val() & ((self.packet.q.val().flags & self.est_flag.val()) == 0);
        self.match_endpoint.next = self.packet.q.val().endpoint;
        self.match_tag.next = self.packet.q.val().tag;

        // The hash of the packet on offer, which comes out of a memory: made while it stands there. (Also in the
        // clock in which the tables are filled to the end: the last word is of no key, which has 164 bits of 165.)
        self.hash.seed.next = self.settings.val().seed;
        self.hash.gid.next = self.packet_data.val().src_gid;
        self.hash.endpoint.next = self.packet_data.val().src_endpoint;
        self.hash.slot.next = self.packet_data.val().slot;

        // The tables: the sets of the packet, or of the sweep, which comes once
        // what was read for the packet has been compared.
        self.clears.next = self.in_clear.val() | self.behind.q.val();
        if self.sweeping.val() | (self.state.q.val() == State::Choose) | self.in_act.val() {
            self.tables.set0.next = self.sweep_set.q.val();
            self.tables.set1.next = self.sweep_set.q.val();
        } else {
            self.tables.set0.next = self.set0.q.val();
            self.tables.set1.next = self.set1.q.val();
        }
        self.reclaim_chooses.next = self.state.q.val() == State::ReclaimChoose;
        self.reclaim_acts.next = self.state.q.val() == State::ReclaimAct;
        self.reclaim_reads.next =
            (self.state.q.val() == State::ReclaimRead) | self.reclaim_chooses.val() | self.reclaim_acts.val();
        self.tables.way.next = self.reclaim_way.q.val();
        self.ends.look_at.next = self.reclaim_at.q.val();
        // The entry is judged out of the register that a packet's is in.
        self.reclaimable.next = self.reclaim_acts.val()
            & self.reclaim.val().active
            & (self.tables.found_held.val().state == 1)
            & (self.tables.found_held.val().value.get_bits::<12>(0) == self.reclaim_at.q.val())
            & (self.reclaim_of.q.val() == self.reclaim.val().endpoint);
        self.reclaims.next = self.reclaimable.val() & self.reply.free.val();
        self.tables.clk.next = self.clk.val();
        self.tables.present.next = self.now.val().get_bits::<18>(8);
        self.tables.choose.next = self.state.q.val() == State::Choose;
        self.tables.choose_way.next = self.reclaim_chooses.val();
        self.tables.key.next.gid = self.packet.q.val().src_gid;
        self.tables.key.next.endpoint = self.packet.q.val().src_endpoint;
        self.tables.key.next.slot = self.packet.q.val().slot;
        self.tables.key.next.generation = self.packet.q.val().generation;
    }
}
