//! The headers of a frame about to be built, each where it belongs.
//!
//! ```text
//!            ┌─ IPv4 or IPv6 ──────────────┐
//!  tx_fields ┼─ UDP to DETH, behind that ──┼─> head
//!            └─ TRH or immediate, behind ──┘
//! ```
//!
//! Contract: combinational, otherwise that of `tx_fields`; bytes behind the
//! headers are zero, and so are the entropy value and AR.
//!
//! Verified by `testbenches/tests/tx_build.rs` against `abi::wire`.

use super::endpoint_keys::KeyWord;
use super::tx_beats::Ticket;
use super::tx_fields::TxFields;
use crate::prelude::*;
use crate::types::{Settings, TxFeedback, TxPacket};

#[derive(LogicBlock)]
pub struct TxHead {
    pub settings: Signal<In, Settings>,
    /// `response` is to be built, FEEDBACK or a RELEASE, else `packet`.
    pub is_feedback: Signal<In, Bit>,
    /// Its destination's GID holds no IPv4 address.
    pub v6: Signal<In, Bit>,
    pub packet: Signal<In, TxPacket>,
    pub response: Signal<In, TxFeedback>,
    /// Ticks.
    pub stamp: Signal<In, Bits<32>>,
    /// Of the local endpoint.
    pub endpoint: Signal<In, Bits<8>>,
    pub keys: Signal<In, KeyWord>,
    pub head: Signal<Out, Bits<1152>>,
    pub ticket: Signal<Out, Ticket>,
    /// Beats of the frame without ICRC, less one.
    pub more_beats: Signal<Out, Bits<8>>,
    pub ip_length: Signal<Out, Bits<16>>,
    pub source_sum: Signal<Out, Bits<20>>,
    pub tos_ttl: Signal<Out, Bits<16>>,
    /// The IPv4 address of a GID that holds one.
    pub dst_ip: Signal<Out, Bits<32>>,

    fields: TxFields,
    behind: Signal<Local, Bits<480>>,
    rear: Signal<Local, Bits<704>>,
}

impl TxHead {
    pub fn new() -> Self {
        Self {
            settings: Default::default(),
            is_feedback: Default::default(),
            v6: Default::default(),
            packet: Default::default(),
            response: Default::default(),
            stamp: Default::default(),
            endpoint: Default::default(),
            keys: Default::default(),
            head: Default::default(),
            ticket: Default::default(),
            more_beats: Default::default(),
            ip_length: Default::default(),
            source_sum: Default::default(),
            tos_ttl: Default::default(),
            dst_ip: Default::default(),
            fields: TxFields::new(),
            behind: Default::default(),
            rear: Default::default(),
        }
    }
}

impl Logic for TxHead {
    #[hdl_gen]
    fn update(&mut self) {
        self.fields.settings.next = self.settings.val();
        self.fields.is_feedback.next = self.is_feedback.val();
        self.fields.v6.next = self.v6.val();
        self.fields.packet.next = self.packet.val();
        self.fields.response.next = self.response.val();
        // They come late, and go in a stage behind.
        self.fields.ev.next = 0.into();
        self.fields.asks.next = false;
        self.fields.stamp.next = self.stamp.val();
        self.fields.endpoint.next = self.endpoint.val();
        self.fields.keys.next = self.keys.val();
        self.ticket.next = self.fields.ticket.val();
        self.ip_length.next = self.fields.ip_length.val();
        self.source_sum.next = self.fields.source_sum.val();
        self.tos_ttl.next = self.fields.tos_ttl.val();
        self.dst_ip.next = self.fields.dst_ip.val();
        self.more_beats.next = bit_cast::<8, 7>(self.fields.reach.val().get_bits::<7>(6));

        self.behind.next = bit_cast::<480, 320>(self.fields.parts.val().trh) | self.fields.parts.val().answer;
        if self.fields.ticket.val().ud {
            self.behind.next = 0.into();
            if self.fields.immediate.val() {
                self.behind.next = bit_cast::<480, 32>(self.fields.parts.val().trh.get_bits::<32>(0));
            }
        }
        self.rear.next = (bit_cast::<704, 480>(self.behind.val()) << 224)
            | bit_cast::<704, 224>(self.fields.parts.val().transport);
        if self.fields.ticket.val().v6 {
            self.head.next = (bit_cast::<1152, 704>(self.rear.val()) << 432)
                | bit_cast::<1152, 432>(self.fields.parts.val().six);
        } else {
            self.head.next = (bit_cast::<1152, 704>(self.rear.val()) << 272)
                | bit_cast::<1152, 272>(self.fields.parts.val().four);
        }
    }
}
