//! What `payload_reader` and its narrow sibling decide: which read is next, when a packet may go on.
//!
//! ```text
//!  packet ─> issue ─┬─> order ─────────────────────────> release ─> built
//!      read_desc <──┤                                      ^  │
//!                   └─> lengths ─┐             read_status ┘  v
//!               read_beat_valid ─┴─> put    the buffer      take ─> payload_valid
//! ```
//!
//! The buffer is the reader's, as wide as its beats; here it has a size, its front, and what
//! goes in and out.
//!
//! Contract: that of `payload_reader`.
//!
//! Verified by `testbenches/tests/payload_reader.rs`.

use crate::prelude::*;
use crate::stream::{Fifo, PairFifo};
use crate::types::{DmaDescriptor, DmaStatus, TxPacket, TxSent};
use tessera_abi::params::Config;

/// What is decided and looked up by a packet in its first clock: it does not wait for the block RAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct PacketAhead {
    pub has_payload: Bit,
    pub dst_gid: Bits<128>,
}

#[derive(LogicBlock)]
pub struct PayloadOrder {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub packet_valid: Signal<In, Bit>,
    pub packet_data: Signal<In, TxPacket>,
    pub packet_ready: Signal<Out, Bit>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_data: Signal<Out, DmaDescriptor>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_beat_valid: Signal<In, Bit>,
    pub read_beat_ready: Signal<Out, Bit>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status: Signal<In, DmaStatus>,
    pub built_valid: Signal<Out, Bit>,
    pub built_data: Signal<Out, TxPacket>,
    pub built_ready: Signal<In, Bit>,
    pub payload_valid: Signal<Out, Bit>,
    pub payload_ready: Signal<In, Bit>,
    /// A packet was dropped because its read failed.
    pub failed: Signal<Out, TxSent>,
    /// The buffer: a beat goes in, the last of a read of so many bytes; there is room.
    pub put: Signal<Out, Bit>,
    pub put_last: Signal<Out, Bit>,
    pub put_length: Signal<Out, Bits<13>>,
    pub room: Signal<In, Bit>,
    /// One is in front, the last of its read; it goes.
    pub filled: Signal<In, Bit>,
    pub front_last: Signal<In, Bit>,
    pub take: Signal<Out, Bit>,

    waiting: Dff<Bit>,
    packet: Dff<TxPacket>,
    desc_valid: Dff<Bit>,
    desc: Dff<DmaDescriptor>,
    tag: Dff<Bits<8>>,
    order: PairFifo<TxPacket, PacketAhead, 6>,
    /// Of the same packets, filled and emptied with `order`.
    lengths: Fifo<Bits<13>, 6>,
    statuses: Fifo<Bit, 7>,
    /// Buffer places that are promised to no read.
    places: Dff<Bits<16>>,
    /// Beats of the current read already stored.
    stored: Dff<Bits<9>>,
    /// Frames handed on with `built` whose payload has not left.
    released: Dff<Bits<7>>,
    /// Throwing the payload of a failed read away.
    discarding: Dff<Bit>,
    dropped: Dff<TxSent>,

    go: Signal<Local, Bit>,
    has_payload: Signal<Local, Bit>,
    /// Beats of the payload, less one; what a read that goes takes off `places`, as an addend.
    last_beat: Signal<Local, Bits<13>>,
    promised: Signal<Local, Bits<16>>,
    read_rounded: Signal<Local, Bits<13>>,
    last_number: Signal<Local, Bits<9>>,
    store: Signal<Local, Bit>,
    store_last: Signal<Local, Bit>,
    due: Signal<Local, Bit>,
    handed: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    thrown: Signal<Local, Bit>,
    freed: Signal<Local, Bit>,
    frame_out: Signal<Local, Bit>,
    depth: Constant<Bits<16>>,
    beat_log2: Constant<Bits<4>>,
    has_datagrams: Constant<Bit>,
}

impl PayloadOrder {
    /// For beats of `2^beat_log2` bytes and a buffer of `2^buffer_log2` bytes.
    ///
    /// # Panics
    /// When a payload of 4096 bytes does not fit the buffer, or the buffer its counter.
    pub fn new(config: &Config, beat_log2: usize, buffer_log2: usize) -> Self {
        let packets = config.tx_packets_log2;
        assert!((12..16 + beat_log2).contains(&buffer_log2), "a payload buffer of 2^{buffer_log2} bytes");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            read_desc_valid: Default::default(),
            read_desc_data: Default::default(),
            read_desc_ready: Default::default(),
            read_beat_valid: Default::default(),
            read_beat_ready: Default::default(),
            read_status_valid: Default::default(),
            read_status: Default::default(),
            built_valid: Default::default(),
            built_data: Default::default(),
            built_ready: Default::default(),
            payload_valid: Default::default(),
            payload_ready: Default::default(),
            failed: Default::default(),
            put: Default::default(),
            put_last: Default::default(),
            put_length: Default::default(),
            room: Default::default(),
            filled: Default::default(),
            front_last: Default::default(),
            take: Default::default(),
            waiting: Default::default(),
            packet: Default::default(),
            desc_valid: Default::default(),
            desc: Default::default(),
            tag: Default::default(),
            order: PairFifo::new(packets),
            lengths: Fifo::new(packets),
            // Never full: every status belongs to a packet of `order`.
            statuses: Fifo::new(packets + 1),
            places: Default::default(),
            stored: Default::default(),
            released: Default::default(),
            discarding: Default::default(),
            dropped: Default::default(),
            go: Default::default(),
            has_payload: Default::default(),
            last_beat: Default::default(),
            promised: Default::default(),
            read_rounded: Default::default(),
            last_number: Default::default(),
            store: Default::default(),
            store_last: Default::default(),
            due: Default::default(),
            handed: Default::default(),
            leaves: Default::default(),
            thrown: Default::default(),
            freed: Default::default(),
            frame_out: Default::default(),
            depth: Constant::new((1u64 << (buffer_log2 - beat_log2)).into()),
            beat_log2: Constant::new((beat_log2 as u64).into()),
            has_datagrams: Constant::new(config.datagrams),
        }
    }
}

impl Logic for PayloadOrder {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, waiting, packet, desc_valid, desc, tag, places, stored, released);
        dff_setup!(self, clk, discarding, dropped);
        self.order.clk.next = self.clk.val();
        self.order.rst.next = self.rst.val();
        self.lengths.clk.next = self.clk.val();
        self.lengths.rst.next = self.rst.val();
        self.statuses.clk.next = self.clk.val();
        self.statuses.rst.next = self.rst.val();

        // Issue: a descriptor where there is payload, places for all of it: as many bytes of
        // places as it has are enough.
        self.has_payload.next = self.packet.q.val().payload_len.any();
        self.go.next = self.waiting.q.val()
            & self.order.in_ready.val()
            & (!self.has_payload.val()
                | (!self.desc_valid.q.val()
                    & self.lengths.in_ready.val()
                    & (bit_cast::<22, 13>(self.packet.q.val().payload_len)
                        <= (bit_cast::<22, 16>(self.places.q.val()) << self.beat_log2.val()))));
        // By a register: whether the one that waits goes is no part of what its producer does.
        self.packet_ready.next = !self.waiting.q.val();
        if self.go.val() {
            self.waiting.d.next = false;
        }
        if self.packet_ready.val() {
            self.waiting.d.next = self.packet_valid.val();
            self.packet.d.next = self.packet_data.val();
        }
        if self.read_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.go.val() & self.has_payload.val() {
            self.desc_valid.d.next = true;
            self.desc.d.next.address = self.packet.q.val().address;
            self.desc.d.next.length = self.packet.q.val().payload_len;
            self.desc.d.next.tag = self.tag.q.val();
            self.tag.d.next = self.tag.q.val() + 1;
        }
        self.read_desc_valid.next = self.desc_valid.q.val();
        self.read_desc_data.next = self.desc.q.val();
        self.order.in_valid.next = self.go.val();
        self.order.in_data.next = self.packet.q.val();
        self.order.in_near.next.has_payload = self.has_payload.val();
        self.order.in_near.next.dst_gid = self.packet.q.val().dst_gid;
        self.lengths.in_valid.next = self.go.val() & self.has_payload.val();
        self.lengths.in_data.next = self.packet.q.val().payload_len;

        // Store: the length at the head of `lengths` says which beat ends a
        // read. It is there long before any of its beats, but a beat that came
        // without one would wait.
        self.read_rounded.next = self.lengths.out_data.val() - 1;
        self.last_number.next = bit_cast::<9, 13>(self.read_rounded.val() >> self.beat_log2.val());
        self.read_beat_ready.next = self.lengths.out_valid.val() & self.room.val();
        self.store.next = self.read_beat_valid.val() & self.read_beat_ready.val();
        self.store_last.next = self.stored.q.val() == self.last_number.val();
        if self.store.val() {
            self.stored.d.next = self.stored.q.val() + 1;
            if self.store_last.val() {
                self.stored.d.next = 0.into();
            }
        }
        self.lengths.out_ready.next = self.store.val() & self.store_last.val();
        self.put.next = self.store.val();
        self.put_last.next = self.store_last.val();
        self.put_length.next = self.lengths.out_data.val();
        self.statuses.in_valid.next = self.read_status_valid.val();
        self.statuses.in_data.next = self.read_status.val().error;

        // Release, in order.
        self.due.next = self.order.out_valid.val()
            & (!self.order.out_near.val().has_payload
                | (self.statuses.out_valid.val() & !self.statuses.out_data.val()));
        self.built_valid.next = self.due.val();
        self.built_data.next = self.order.out_data.val();
        self.built_data.next.dst_gid = self.order.out_near.val().dst_gid;
        self.built_data.next.ud = self.has_datagrams.val() & self.order.out_data.val().ud;
        self.handed.next = self.due.val() & self.built_ready.val();
        self.thrown.next = self.discarding.q.val() & self.filled.val() & self.front_last.val();
        self.order.out_ready.next = self.handed.val() | self.thrown.val();
        self.statuses.out_ready.next =
            (self.handed.val() & self.order.out_near.val().has_payload) | self.thrown.val();
        if self.order.out_valid.val()
            & self.order.out_near.val().has_payload
            & self.statuses.out_valid.val()
            & self.statuses.out_data.val()
            & (self.released.q.val() == 0)
        {
            self.discarding.d.next = true;
        }
        self.dropped.d.next.valid = self.thrown.val();
        self.dropped.d.next.slot = self.order.out_data.val().slot;
        self.dropped.d.next.error = true;
        self.dropped.d.next.ud = self.has_datagrams.val() & self.order.out_data.val().ud;
        if self.thrown.val() {
            self.discarding.d.next = false;
        }
        self.failed.next = self.dropped.q.val();

        self.payload_valid.next = self.filled.val() & self.released.q.val().any();
        self.leaves.next = self.filled.val() & self.released.q.val().any() & self.payload_ready.val();
        self.take.next = (self.released.q.val().any() & self.payload_ready.val()) | self.discarding.q.val();
        self.frame_out.next = self.leaves.val() & self.front_last.val();
        if self.handed.val() & self.order.out_near.val().has_payload & !self.frame_out.val() {
            self.released.d.next = self.released.q.val() + 1;
        } else if !(self.handed.val() & self.order.out_near.val().has_payload) & self.frame_out.val() {
            self.released.d.next = self.released.q.val() - 1;
        }

        // Places come back as beats leave. One sum: the complement of one beat less is what a read takes.
        self.freed.next = self.leaves.val() | (self.discarding.q.val() & self.filled.val());
        self.last_beat.next = (self.packet.q.val().payload_len - 1) >> self.beat_log2.val();
        self.promised.next = 0.into();
        if self.go.val() & self.has_payload.val() {
            self.promised.next = !bit_cast::<16, 13>(self.last_beat.val());
        }
        self.places.d.next =
            self.places.q.val() + self.promised.val() + bit_cast::<16, 1>(self.freed.val().into());

        if self.rst.val() {
            self.waiting.d.next = false;
            self.desc_valid.d.next = false;
            self.tag.d.next = 0.into();
            self.places.d.next = self.depth.val();
            self.stored.d.next = 0.into();
            self.released.d.next = 0.into();
            self.discarding.d.next = false;
            self.dropped.d.next.valid = false;
        }
    }
}
