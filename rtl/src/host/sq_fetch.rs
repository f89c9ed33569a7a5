//! Send queue entries to requests.
//!
//! ```text
//!   doorbell, tables ──> ring_reader ──> first, second beat ──> check ──> out ──> request
//!   read_desc, _beat, _status ──┘                key_check ───────┘        └────> refused
//!                            gather             weigh             decide
//!   ended ──> entries that have ended ──> held by the endpoint ──> ring_reader
//! ```
//!
//! An entry is refused, in this order, with `local_dma` (its ring read failed),
//! `bad_request` (opcode not of the endpoint's kind, payload size, more packets
//! than an index can number; of a datagram more than one)
//! or `local_protection` (key, bounds; a message of no bytes needs neither).
//! An initial window of 0 becomes the register's, a hop limit of 0 the usual one. Endpoints take turns of up to
//! eight entries. While the NIC is not enabled no read starts.
//!
//! An endpoint with a quota has at most so many entries between their reading and
//! their end (TX-15): the rest stay in its ring, so nobody stands behind them. An
//! entry ends when its completion is taken, by `ended`, as `refused`, or dropped.
//! Nor do its entries ask for more than a sixteenth each of the bytes that may go
//! unasked: their initial windows are cut to that.
//!
//! Writing an endpoint's table entry sets its running indexes to 0; its entries
//! on the way here are dropped without a completion, but for the one that
//! already stands at `request` or `refused`.
//!
//! Contract: two clocks at least are between one that is `ended` or taken as `refused` and the next
//! of either: one block writes the completions of both, and a place for each is all that waits to be
//! counted; one entry per three clocks, sustained, and with single entries of
//! many endpoints one per four; 66 reads and 128 entries in flight cover a DMA
//! latency of 250 clocks. From the last beat and status to `request`: 4 clocks.
//!
//! Verified by `testbenches/tests/sq_fetch`.

use super::byte_order::ByteReverse;
use super::cleared_ram::ClearedRam;
use super::key_check::{KeyCheck, Right};
use super::ring_reader::{RingKind, RingReader};
use super::{bit_of, lsb};
use crate::prelude::*;
use crate::types::{Beat, DmaDescriptor, DmaStatus, Done, Doorbell, Settings, TableWrite, TxRequest};
use tessera_abi::params::{self, Config};
use tessera_abi::queue::{self, send};
use tessera_abi::regs::{endpoint, table};
use tessera_abi::status::Status;
use tessera_abi::wire;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Gather,
    Weigh,
    Decide,
}

#[derive(LogicBlock)]
pub struct SqFetch {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub doorbell: Signal<In, Doorbell>,
    pub table_write: Signal<In, TableWrite>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_data: Signal<Out, DmaDescriptor>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_beat_valid: Signal<In, Bit>,
    pub read_beat_data: Signal<In, Beat>,
    pub read_beat_ready: Signal<Out, Bit>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status_data: Signal<In, DmaStatus>,
    /// An entry is taken from its ring, which ends in one request or refusal.
    pub taken: Signal<Out, Bit>,
    pub taker: Signal<Out, Bits<8>>,
    pub request_valid: Signal<Out, Bit>,
    pub request_data: Signal<Out, TxRequest>,
    pub request_ready: Signal<In, Bit>,
    pub refused_valid: Signal<Out, Bit>,
    pub refused_data: Signal<Out, Done>,
    pub refused_ready: Signal<In, Bit>,
    /// An entry has ended: its completion goes out.
    pub ended: Signal<In, Bit>,
    pub ended_endpoint: Signal<In, Bits<8>>,
    /// Tables are cleared.
    pub ready: Signal<Out, Bit>,
    reader: RingReader,
    keys: KeyCheck,
    mac: ByteReverse,
    gid: ByteReverse,
    /// Plain UD endpoints, by index.
    datagrams: LutRam<Bit, 8>,
    is_datagram: Dff<Bit>,
    is_limited: Dff<Bit>,
    /// Running counts of entries read and ended, by endpoint; never reset.
    reads: ClearedRam<Bits<16>, 8>,
    ends_visit: ClearedRam<Bits<16>, 8>,
    ends_count: ClearedRam<Bits<16>, 8>,
    quotas: ClearedRam<Bits<16>, 8>,
    /// Endpoints with a quota, by index.
    limited: LutRam<Bit, 8>,
    /// The same for who has had an end.
    ends_limited: LutRam<Bit, 8>,
    /// Bits of an index that the table has.
    reach: Constant<Bits<8>>,
    /// Ends that wait to be counted.
    over: Dff<Bit>,
    over_at: Dff<Bits<8>>,
    refusal: Dff<Bit>,
    refusal_at: Dff<Bits<8>>,
    dropped: Dff<Bit>,
    dropped_at: Dff<Bits<8>>,
    counting: Dff<Bit>,
    counted_at: Dff<Bits<8>>,
    state: Dff<Step>,
    first: Dff<Bits<512>>,
    first_valid: Dff<Bit>,
    second: Dff<Bits<512>>,
    endpoint: Dff<Bits<8>>,
    entry: Dff<Bits<16>>,
    failed: Dff<Bit>,
    /// Entries of the record at the front that are done.
    step: Dff<Bits<4>>,
    malformed: Dff<Bit>,
    is_write: Dff<Bit>,
    count: Dff<Bits<25>>,
    out: Dff<TxRequest>,
    out_status: Dff<Bits<8>>,
    out_good: Dff<Bit>,
    out_valid: Dff<Bit>,
    lkey: Signal<Local, Bits<32>>,
    address: Signal<Local, Bits<64>>,
    length: Signal<Local, Bits<32>>,
    opcode: Signal<Local, Bits<8>>,
    payload: Signal<Local, Bits<8>>,
    traffic: Signal<Local, Bits<8>>,
    flags: Signal<Local, Bits<8>>,
    window: Signal<Local, Bits<8>>,
    /// Packets in a sixteenth of the bytes that may go unasked.
    sixteenth: Signal<Local, Bits<28>>,
    /// The longest window of an endpoint with a quota, 0 = any.
    share: Dff<Bits<8>>,
    hops: Signal<Local, Bits<8>>,
    to: Signal<Local, Bits<32>>,
    unit: Signal<Local, Bits<33>>,
    rounded: Signal<Local, Bits<33>>,
    packets: Signal<Local, Bits<33>>,
    gather: Signal<Local, Bit>,
    endpoint_write: Signal<Local, Bit>,
    quota: Signal<Local, Bits<16>>,
    counts: Signal<Local, Bits<8>>,
    last_of_record: Signal<Local, Bit>,
    out_free: Signal<Local, Bit>,
    too_many: Signal<Local, Bit>,
    one: Constant<Bits<33>>,
    op_send: Constant<Bits<8>>,
    op_write: Constant<Bits<8>>,
    op_ud: Constant<Bits<8>>,
    has_vlan: Constant<Bits<8>>,
    usual_hops: Constant<Bits<8>>,
    endpoint_table: Constant<Bits<4>>,
    smallest: Constant<Bits<8>>,
    largest: Constant<Bits<8>>,
    has_imm: Constant<Bits<8>>,
    /// Nothing in a NIC without rounds, as the round's bits.
    in_round: Constant<Bits<8>>,
    round_bits: Constant<Bits<16>>,
    has_v6: Constant<Bit>,
    has_tags: Constant<Bit>,
    mapped: Constant<Bits<96>>,
    host_recovery: Constant<Bits<8>>,
    most_packets: Constant<Bits<25>>,
    success: Constant<Bits<8>>,
    bad_request: Constant<Bits<8>>,
    local_protection: Constant<Bits<8>>,
    local_dma: Constant<Bits<8>>,
    at_quota: Constant<Bits<9>>,
    at_opcode: Constant<Bits<9>>,
    at_flags: Constant<Bits<9>>,
    at_payload: Constant<Bits<9>>,
    at_class: Constant<Bits<9>>,
    at_length: Constant<Bits<9>>,
    at_address: Constant<Bits<9>>,
    at_lkey: Constant<Bits<9>>,
    at_window: Constant<Bits<9>>,
    at_hops: Constant<Bits<9>>,
    at_vlan: Constant<Bits<9>>,
    at_tag: Constant<Bits<9>>,
    at_imm: Constant<Bits<9>>,
    at_round: Constant<Bits<9>>,
    at_qkey: Constant<Bits<9>>,
    at_endpoint: Constant<Bits<9>>,
    at_mac: Constant<Bits<9>>,
    at_gid: Constant<Bits<9>>,
    at_rkey: Constant<Bits<9>>,
    at_remote: Constant<Bits<9>>,
}

/// The kernel takes fields from the beat that holds them.
const _: () = {
    assert!(queue::SEND_ENTRY_LEN == 128);
    assert!(endpoint::DATAGRAM.0 == 2);
    assert!(send::MAC + 6 <= 64 && send::VLAN + 2 <= 64 && send::ENDPOINT + 4 <= 64 && send::GID >= 64);
    assert!(send::RKEY >= 64 && send::REMOTE_ADDRESS >= 64);
};

impl SqFetch {
    pub fn new(config: &Config) -> Self {
        let status = |status: Status| Constant::new((status as u64).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            doorbell: Default::default(),
            table_write: Default::default(),
            read_desc_valid: Default::default(),
            read_desc_data: Default::default(),
            read_desc_ready: Default::default(),
            read_beat_valid: Default::default(),
            read_beat_data: Default::default(),
            read_beat_ready: Default::default(),
            read_status_valid: Default::default(),
            read_status_data: Default::default(),
            taken: Default::default(),
            taker: Default::default(),
            request_valid: Default::default(),
            request_data: Default::default(),
            request_ready: Default::default(),
            refused_valid: Default::default(),
            refused_data: Default::default(),
            refused_ready: Default::default(),
            ended: Default::default(),
            ended_endpoint: Default::default(),
            ready: Default::default(),
            reader: RingReader::new(config, &RingKind::send()),
            keys: KeyCheck::new(config, Right::Any),
            mac: ByteReverse::new(),
            gid: ByteReverse::new(),
            datagrams: LutRam::new(),
            is_datagram: Default::default(),
            is_limited: Default::default(),
            reads: ClearedRam::new(config.endpoints_log2, "distributed").reads_old(),
            ends_visit: ClearedRam::new(config.endpoints_log2, "distributed").reads_old(),
            ends_count: ClearedRam::new(config.endpoints_log2, "distributed").reads_old(),
            quotas: ClearedRam::new(config.endpoints_log2, "distributed").reads_old(),
            limited: LutRam::new(),
            ends_limited: LutRam::new(),
            reach: Constant::new(((1u64 << config.endpoints_log2) - 1).into()),
            over: Default::default(),
            over_at: Default::default(),
            refusal: Default::default(),
            refusal_at: Default::default(),
            dropped: Default::default(),
            dropped_at: Default::default(),
            counting: Default::default(),
            counted_at: Default::default(),
            state: Default::default(),
            first: Default::default(),
            first_valid: Default::default(),
            second: Default::default(),
            endpoint: Default::default(),
            entry: Default::default(),
            failed: Default::default(),
            step: Default::default(),
            malformed: Default::default(),
            is_write: Default::default(),
            count: Default::default(),
            out: Default::default(),
            out_status: Default::default(),
            out_good: Default::default(),
            out_valid: Default::default(),
            lkey: Default::default(),
            address: Default::default(),
            length: Default::default(),
            opcode: Default::default(),
            payload: Default::default(),
            traffic: Default::default(),
            flags: Default::default(),
            window: Default::default(),
            sixteenth: Default::default(),
            share: Default::default(),
            hops: Default::default(),
            to: Default::default(),
            unit: Default::default(),
            rounded: Default::default(),
            packets: Default::default(),
            gather: Default::default(),
            endpoint_write: Default::default(),
            quota: Default::default(),
            counts: Default::default(),
            last_of_record: Default::default(),
            out_free: Default::default(),
            too_many: Default::default(),
            one: Constant::new(1u64.into()),
            op_send: Constant::new(u64::from(queue::OP_SEND).into()),
            op_write: Constant::new(u64::from(queue::OP_WRITE).into()),
            op_ud: Constant::new(u64::from(queue::OP_UD).into()),
            has_vlan: Constant::new(u64::from(queue::SEND_VLAN).into()),
            usual_hops: Constant::new(u64::from(wire::TTL).into()),
            endpoint_table: Constant::new(u64::from(table::ENDPOINT).into()),
            smallest: Constant::new(u64::from(params::MIN_PAYLOAD_LOG2).into()),
            largest: Constant::new(u64::from(params::MAX_PAYLOAD_LOG2).into()),
            has_imm: Constant::new(u64::from(queue::SEND_IMM).into()),
            in_round: Constant::new(u64::from(if config.rounds { queue::SEND_ROUND } else { 0 }).into()),
            round_bits: Constant::new(if config.rounds { 0xFFFFu64 } else { 0 }.into()),
            has_v6: Constant::new(config.ipv6),
            has_tags: Constant::new(config.vlan),
            mapped: Constant::new(0xFFFFu64.into()),
            host_recovery: Constant::new(u64::from(queue::SEND_HOST_RECOVERY).into()),
            most_packets: Constant::new(u64::from(params::MAX_PACKETS).into()),
            success: status(Status::Success),
            bad_request: status(Status::BadRequest),
            local_protection: status(Status::LocalProtection),
            local_dma: status(Status::LocalDma),
            at_quota: lsb(endpoint::TX_QUOTA),
            at_opcode: bit_of(send::OPCODE),
            at_flags: bit_of(send::FLAGS),
            at_payload: bit_of(send::PAYLOAD_LOG2),
            at_class: bit_of(send::TRAFFIC_CLASS),
            at_length: bit_of(send::LENGTH),
            at_address: bit_of(send::ADDRESS),
            at_lkey: bit_of(send::LKEY),
            at_window: bit_of(send::INITIAL_WINDOW),
            at_hops: bit_of(send::HOP_LIMIT),
            at_vlan: bit_of(send::VLAN),
            at_tag: bit_of(send::TAG),
            at_imm: bit_of(send::IMMEDIATE),
            at_round: bit_of(send::ROUND),
            at_qkey: bit_of(send::QKEY),
            at_endpoint: bit_of(send::ENDPOINT),
            at_mac: bit_of(send::MAC),
            at_gid: bit_of(send::GID),
            at_rkey: bit_of(send::RKEY),
            at_remote: bit_of(send::REMOTE_ADDRESS),
        }
    }
}

impl Logic for SqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            first,
            first_valid,
            second,
            endpoint,
            entry,
            failed,
            step,
            malformed,
            is_write
        );
        dff_setup!(self, clk, count, out, out_status, out_good, out_valid, is_datagram);
        dff_setup!(self, clk, is_limited, share);
        dff_setup!(self, clk, over, over_at, refusal, refusal_at, dropped, dropped_at, counting);
        dff_setup!(self, clk, counted_at);
        self.reads.clk.next = self.clk.val();
        self.reads.rst.next = self.rst.val();
        self.ends_visit.clk.next = self.clk.val();
        self.ends_visit.rst.next = self.rst.val();
        self.ends_count.clk.next = self.clk.val();
        self.ends_count.rst.next = self.rst.val();
        self.quotas.clk.next = self.clk.val();
        self.quotas.rst.next = self.rst.val();
        self.reader.clk.next = self.clk.val();
        self.reader.rst.next = self.rst.val();
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.ready.next = self.reader.ready.val()
            & self.keys.ready.val()
            & self.reads.ready.val()
            & self.ends_visit.ready.val()
            & self.ends_count.ready.val()
            & self.quotas.ready.val();

        self.reader.enable.next = self.settings.val().enable;
        self.reader.doorbell.next = self.doorbell.val();
        self.reader.table_write.next = self.table_write.val();
        self.keys.table_write.next = self.table_write.val();
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.quota.next = self.table_write.val().entry.get_bits::<16>(self.at_quota.val().index());
        self.quotas.write_enable.next = self.endpoint_write.val();
        self.quotas.write_address.next = self.table_write.val().index;
        self.quotas.write_data.next = self.quota.val();
        self.limited.clock.next = self.clk.val();
        self.limited.write_enable.next = self.endpoint_write.val();
        self.limited.write_address.next = self.table_write.val().index;
        self.limited.write_data.next = self.quota.val().any();
        self.limited.read_address.next = self.reader.record_data.val().endpoint & self.reach.val();
        self.ends_limited.clock.next = self.clk.val();
        self.ends_limited.write_enable.next = self.endpoint_write.val();
        self.ends_limited.write_address.next = self.table_write.val().index;
        self.ends_limited.write_data.next = self.quota.val().any();
        self.ends_limited.read_address.next = self.counted_at.q.val() & self.reach.val();
        self.datagrams.clock.next = self.clk.val();
        self.datagrams.write_enable.next = self.endpoint_write.val();
        self.datagrams.write_address.next = self.table_write.val().index;
        self.datagrams.write_data.next = self.table_write.val().entry.get_bit(2);
        self.datagrams.read_address.next = self.reader.record_data.val().endpoint & self.reach.val();
        // Send entries free their room in the beat FIFO, and in the quota.
        self.reader.look_index.next = 0.into();
        self.reader.freed.next = 0.into();
        self.reads.read_address.next = self.reader.visit_index.val();
        self.ends_visit.read_address.next = self.reader.visit_index.val();
        self.quotas.read_address.next = self.reader.visit_index.val();
        self.reader.held_now.next = self.reads.read_data.val() - self.ends_visit.read_data.val();
        self.reader.most_held.next = self.quotas.read_data.val();
        self.reads.write_enable.next = self.reader.issued.val();
        self.reads.write_address.next = self.reader.visit_index.val();
        self.reads.write_data.next =
            self.reads.read_data.val() + bit_cast::<16, 4>(self.reader.issued_count.val());
        // One end is counted in two clocks: read, write.
        self.counting.d.next = false;
        self.counts.next = self.dropped_at.q.val();
        if self.refusal.q.val() {
            self.counts.next = self.refusal_at.q.val();
        }
        if self.over.q.val() {
            self.counts.next = self.over_at.q.val();
        }
        if !self.counting.q.val() {
            self.counting.d.next = self.over.q.val() | self.refusal.q.val() | self.dropped.q.val();
            self.counted_at.d.next = self.counts.val();
            if self.over.q.val() {
                self.over.d.next = false;
            } else if self.refusal.q.val() {
                self.refusal.d.next = false;
            } else {
                self.dropped.d.next = false;
            }
        }
        if self.ended.val() {
            self.over.d.next = true;
            self.over_at.d.next = self.ended_endpoint.val();
        }
        self.ends_count.read_address.next = self.counts.val();
        self.ends_count.write_enable.next = self.counting.q.val();
        self.ends_count.write_address.next = self.counted_at.q.val();
        self.ends_count.write_data.next = self.ends_count.read_data.val() + 1;
        self.ends_visit.write_enable.next = self.counting.q.val();
        self.ends_visit.write_address.next = self.counted_at.q.val();
        self.ends_visit.write_data.next = self.ends_count.read_data.val() + 1;
        // Who has no quota waits for nothing.
        self.reader.poke_valid.next = self.counting.q.val() & self.ends_limited.read_data.val();
        self.reader.poke_index.next = self.counted_at.q.val();
        self.reader.skip_valid.next = false;
        self.reader.skip_index.next = 0.into();
        self.read_desc_valid.next = self.reader.read_desc_valid.val();
        self.read_desc_data.next = self.reader.read_desc_data.val();
        self.reader.read_desc_ready.next = self.read_desc_ready.val();
        self.reader.read_beat_valid.next = self.read_beat_valid.val();
        self.reader.read_beat_data.next = self.read_beat_data.val();
        self.read_beat_ready.next = self.reader.read_beat_ready.val();
        self.reader.read_status_valid.next = self.read_status_valid.val();
        self.reader.read_status_data.next = self.read_status_data.val();

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

        self.last_of_record.next = (self.step.q.val() + 1) == self.reader.record_data.val().count;
        self.gather.next = false;
        self.out_free.next = !self.out_valid.q.val()
            | (self.out_good.q.val() & self.request_ready.val())
            | (!self.out_good.q.val() & self.refused_ready.val());
        if self.out_free.val() {
            self.out_valid.d.next = false;
        }
        self.reader.beat_ready.next = !self.first_valid.q.val();
        self.reader.record_ready.next = false;
        if !self.first_valid.q.val() {
            self.first.d.next = self.reader.beat_data.val();
            self.first_valid.d.next = self.reader.beat_valid.val();
        }
        match self.state.q.val() {
            Step::Gather => {
                self.gather.next = self.first_valid.q.val()
                    & self.reader.beat_valid.val()
                    & self.reader.record_valid.val()
                    & (!self.reader.stale.val() | !self.dropped.q.val());
                self.second.d.next = self.reader.beat_data.val();
                self.endpoint.d.next = self.reader.record_data.val().endpoint;
                self.entry.d.next =
                    self.reader.record_data.val().index + bit_cast::<16, 4>(self.step.q.val());
                self.failed.d.next = self.reader.failed.val();
                self.is_datagram.d.next = self.datagrams.read_data.val();
                self.is_limited.d.next = self.limited.read_data.val();
                if self.gather.val() {
                    self.reader.beat_ready.next = true;
                    self.reader.record_ready.next = self.last_of_record.val();
                    self.step.d.next = self.step.q.val() + 1;
                    if self.last_of_record.val() {
                        self.step.d.next = 0.into();
                    }
                    self.state.d.next = Step::Weigh;
                    if self.reader.stale.val() {
                        self.dropped.d.next = true;
                        self.dropped_at.d.next = self.reader.record_data.val().endpoint;
                        self.first_valid.d.next = false;
                        self.state.d.next = Step::Gather;
                    }
                }
            }
            Step::Weigh => {
                self.is_write.d.next = self.opcode.val() == self.op_write.val();
                self.malformed.d.next = (!self.is_datagram.q.val()
                    & (self.opcode.val() != self.op_send.val())
                    & (self.opcode.val() != self.op_write.val()))
                    | (self.is_datagram.q.val() & (self.opcode.val() != self.op_ud.val()))
                    | (self.payload.val() < self.smallest.val())
                    | (self.payload.val() > self.largest.val())
                    | (!self.has_v6.val()
                        & (self.gid.reversed.val().get_bits::<96>(32) != self.mapped.val()))
                    | (!self.has_tags.val() & ((self.flags.val() & self.has_vlan.val()) != 0));
                self.count.d.next = self.packets.val().get_bits::<25>(0);
                if self.length.val() == 0 {
                    self.count.d.next = 1.into();
                }
                self.state.d.next = Step::Decide;
            }
            Step::Decide => {
                if self.out_free.val() {
                    self.out_valid.d.next = true;
                    self.out_good.d.next = false;
                    if self.failed.q.val() {
                        self.out_status.d.next = self.local_dma.val();
                    } else {
                        if self.malformed.q.val() | self.too_many.val() {
                            self.out_status.d.next = self.bad_request.val();
                        } else {
                            if self.keys.permitted.val() {
                                self.out_status.d.next = self.success.val();
                                self.out_good.d.next = true;
                            } else {
                                self.out_status.d.next = self.local_protection.val();
                            }
                        }
                    }
                    self.out.d.next.endpoint = self.endpoint.q.val();
                    self.out.d.next.entry = self.entry.q.val();
                    self.out.d.next.ud = self.is_datagram.q.val();
                    self.out.d.next.vlan = self.first.q.val().get_bits::<16>(self.at_vlan.val().index());
                    self.out.d.next.vlan_valid = (self.flags.val() & self.has_vlan.val()) != 0;
                    if !self.has_tags.val() {
                        self.out.d.next.vlan = 0.into();
                        self.out.d.next.vlan_valid = false;
                    }
                    self.out.d.next.dst_mac = self.mac.reversed.val().get_bits::<48>(0);
                    self.out.d.next.dst_gid = self.gid.reversed.val();
                    if !self.has_v6.val() {
                        self.out.d.next.dst_gid =
                            bit_cast::<128, 32>(self.gid.reversed.val().get_bits::<32>(0));
                    }
                    self.out.d.next.dst_endpoint = self.to.val().get_bits::<24>(0);
                    self.out.d.next.qkey = self.first.q.val().get_bits::<32>(self.at_qkey.val().index());
                    self.out.d.next.address = self.address.val();
                    self.out.d.next.length = self.length.val();
                    self.out.d.next.count = self.count.q.val().get_bits::<24>(0);
                    self.out.d.next.payload_log2 = self.payload.val().get_bits::<4>(0);
                    self.out.d.next.traffic_class = self.traffic.val().get_bits::<4>(0);
                    self.out.d.next.initial_window = self.window.val();
                    if self.is_limited.q.val()
                        & (self.share.q.val() != 0)
                        & ((self.window.val() == 0) | (self.share.q.val() < self.window.val()))
                    {
                        self.out.d.next.initial_window = self.share.q.val();
                    }
                    self.out.d.next.tag = self.first.q.val().get_bits::<64>(self.at_tag.val().index());
                    self.out.d.next.rkey = 0.into();
                    if self.is_write.q.val() {
                        self.out.d.next.tag =
                            self.second.q.val().get_bits::<64>(self.at_remote.val().index());
                        self.out.d.next.rkey = self.second.q.val().get_bits::<32>(self.at_rkey.val().index());
                    }
                    self.out.d.next.write = self.is_write.q.val();
                    if self.is_datagram.q.val() {
                        self.out.d.next.tag =
                            bit_cast::<64, 8>(self.traffic.val()) | (bit_cast::<64, 8>(self.hops.val()) << 8);
                        if self.hops.val() == 0 {
                            self.out.d.next.tag = bit_cast::<64, 8>(self.traffic.val())
                                | (bit_cast::<64, 8>(self.usual_hops.val()) << 8);
                        }
                    }
                    self.out.d.next.imm = self.first.q.val().get_bits::<32>(self.at_imm.val().index());
                    self.out.d.next.has_imm = (self.flags.val() & self.has_imm.val()) != 0;
                    self.out.d.next.in_round = (self.flags.val() & self.in_round.val()) != 0;
                    self.out.d.next.host_recovery = (self.flags.val() & self.host_recovery.val()) != 0;
                    self.out.d.next.round = self.first.q.val().get_bits::<16>(self.at_round.val().index())
                        & self.round_bits.val();
                    // The next entry's first beat moves up in the same clock.
                    self.reader.beat_ready.next = true;
                    self.first.d.next = self.reader.beat_data.val();
                    self.first_valid.d.next = self.reader.beat_valid.val();
                    self.state.d.next = Step::Gather;
                }
            }
        }

        self.taken.next = self.gather.val() & !self.reader.stale.val();
        self.taker.next = self.reader.record_data.val().endpoint;
        self.request_valid.next = self.out_valid.q.val() & self.out_good.q.val();
        self.request_data.next = self.out.q.val();
        self.refused_valid.next = self.out_valid.q.val() & !self.out_good.q.val();
        if self.out_valid.q.val() & !self.out_good.q.val() & self.refused_ready.val() {
            self.refusal.d.next = true;
            self.refusal_at.d.next = self.out.q.val().endpoint;
        }
        self.refused_data.next.receive = false;
        self.refused_data.next.own = false;
        self.refused_data.next.event = 0.into();
        self.refused_data.next.status = self.out_status.q.val();
        self.refused_data.next.has_imm = false;
        self.refused_data.next.write = self.out.q.val().write;
        self.refused_data.next.grh = false;
        self.refused_data.next.vlan_valid = false;
        self.refused_data.next.endpoint = self.out.q.val().endpoint;
        self.refused_data.next.entry = self.out.q.val().entry;
        self.refused_data.next.length = self.out.q.val().length;
        self.refused_data.next.imm = 0.into();
        self.refused_data.next.tag = self.out.q.val().tag;
        if self.out.q.val().ud {
            self.refused_data.next.tag = 0.into();
        }
        self.refused_data.next.slot = 0.into();
        self.refused_data.next.generation = 0.into();
        self.refused_data.next.peer_endpoint = self.out.q.val().dst_endpoint;
        self.refused_data.next.peer_gid = self.out.q.val().dst_gid;

        if self.rst.val() {
            self.over.d.next = false;
            self.refusal.d.next = false;
            self.dropped.d.next = false;
            self.counting.d.next = false;
            self.state.d.next = Step::Gather;
            self.first_valid.d.next = false;
            self.step.d.next = 0.into();
            self.out_valid.d.next = false;
        }
    }
}
