//! The table, last part: its states, clock by clock, the sweep and the seed; the picture is the
//! module's.

use super::{MatchTable, State};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Steps;

impl Part<Steps> for MatchTable {
    #[hdl_gen]
    fn update(&mut self) {
        // Steps.
        self.sweep_in.d.next = self.sweep_in.q.val() - 1;
        if self.sweep_in.q.val() == 0 {
            self.sweep_due.d.next = true;
        }
        match self.state.q.val() {
            State::Idle => {
                if self.starts_ask.val() {
                    self.state.d.next = State::Read;
                    self.kind.d.next = 0.into();
                    self.turn.d.next = true;
                    self.word.d.next.endpoint = self.ask_endpoint.val();
                    self.word.d.next.tag = self.ask_tag.val();
                } else {
                    if self.starts_post.val() {
                        self.state.d.next = State::Read;
                        self.turn.d.next = false;
                        self.word.d.next = self.post_data.val();
                        self.kind.d.next = 1.into();
                        if self.post_data.val().cancel {
                            self.kind.d.next = 2.into();
                        }
                    } else {
                        if self.sweeps.val() & self.cleared.q.val() & self.hash.keyed.val() {
                            self.state.d.next = State::SweepLook;
                            self.sweep_due.d.next = false;
                        }
                    }
                }
                self.set0.d.next = self.hash.hash0.val();
                self.set1.d.next = self.hash.hash1.val();
            }
            State::Read => {
                self.state.d.next = State::Compare;
                if (self.kind.q.val() != 3) | !self.exists.val() {
                    self.life.d.next = self.tenants.life.val();
                } else {
                    if self.tenants.life.val() == self.life.q.val() {
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Compare => {
                self.state.d.next = State::Choose;
            }
            State::Choose => {
                self.state.d.next = State::Act;
            }
            State::Act => {
                self.state.d.next = State::Idle;
                if self.kind.q.val() == 0 {
                    self.state.d.next = State::Held;
                }
            }
            State::Held => {}
            State::SweepLook => {
                if self.exists.val() {
                    // Whether its life is past is known two clocks later.
                    self.kind.d.next = 3.into();
                    self.word.d.next.endpoint = self.nodes.node.val().endpoint;
                    self.word.d.next.tag = self.nodes.node.val().tag;
                    self.word.d.next.handle = bit_cast::<16, 12>(self.sweep_at.q.val());
                    self.life.d.next = self.nodes.node.val().life;
                    self.state.d.next = State::Idle;
                    if self.nodes.live.val() {
                        self.state.d.next = State::SweepHash;
                    }
                    self.sweep_left.d.next = self.sweep_left.q.val() - 1;
                    self.sweep_at.d.next = self.sweep_at.q.val() + 1;
                    if self.sweep_at.q.val() == self.last_node.val() {
                        self.sweep_at.d.next = 0.into();
                    }
                }
            }
            State::SweepHash => {
                self.set0.d.next = self.hash.hash0.val();
                self.set1.d.next = self.hash.hash1.val();
                self.state.d.next = State::Read;
            }
        }
        self.asking.next = (self.kind.q.val() == 0)
            & (self.state.q.val() != State::Idle)
            & (self.state.q.val() != State::SweepLook);
        if self.settle.val() & self.asking.val() {
            self.state.d.next = State::Idle;
        }
        if self.tenants.rewritten.val() {
            self.sweep_left.d.next = self.total.val();
        }
        self.purging.next =
            self.sweeps.val() | (self.kind.q.val() == 3) & (self.state.q.val() != State::Idle);

        // The seed, as in `lookup`: taken while nothing is held.
        self.was_enabled.d.next = self.settings.val().enable;
        if self.settings.val().enable & !self.was_enabled.q.val() {
            self.want_key.d.next = true;
        }
        self.hash.load.next = false;
        if self.want_key.q.val() & (self.state.q.val() == State::Idle) & self.cleared.q.val() {
            self.want_key.d.next = false;
            self.hash.load.next = self.nodes.free.val() == self.total.val();
        }

        if self.clear_at.q.val() != self.sets.val() {
            self.clear_at.d.next = self.clear_at.q.val() + 1;
        } else {
            self.cleared.d.next = (self.nodes.ready.val() | !self.exists.val()) & self.tenants.ready.val();
        }
        self.ready.next = self.cleared.q.val();

        if self.rst.val() {
            self.stands.d.next = false;
            self.state.d.next = State::Idle;
            self.was_enabled.d.next = false;
            self.want_key.d.next = false;
            self.clear_at.d.next = 0.into();
            self.cleared.d.next = false;
            self.kind.d.next = 0.into();
            self.turn.d.next = false;
            self.sweep_at.d.next = 0.into();
            self.sweep_left.d.next = 0.into();
            self.sweep_in.d.next = 0.into();
            self.sweep_due.d.next = false;
            self.done_full.d.next = false;
            self.full.d.next = false;
        }
    }
}
