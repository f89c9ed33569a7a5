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

mod fields;
mod steps;
mod wires;

use super::byte_order::ByteReverse;
use super::cleared_ram::ClearedRam;
use super::key_check::{KeyCheck, Right};
use super::ring_reader::{RingKind, RingReader};
use super::{bit_of, lsb};
use crate::kernel_of_parts;
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
    has_datagrams: Constant<Bit>,
    is_limited: Dff<Bit>,
    /// Running counts of entries read and ended, by endpoint; never reset.
    reads: ClearedRam<Bits<16>, 8>,
    /// Of the endpoint visited.
    has_read: Dff<Bits<16>>,
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
    /// Of the record at the front: its ring was written anew, the last clock counted; and that is known.
    stale: Dff<Bit>,
    known: Dff<Bit>,
    /// Just now, and in the last clock.
    anew: Signal<Local, Bit>,
    renewed: Dff<Bit>,
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
            has_datagrams: Constant::new(config.datagrams),
            is_limited: Default::default(),
            reads: ClearedRam::of_endpoints(config),
            has_read: Default::default(),
            ends_visit: ClearedRam::of_endpoints(config),
            ends_count: ClearedRam::new(config.endpoints_log2, "distributed").reads_old(),
            quotas: ClearedRam::of_endpoints(config),
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
            stale: Default::default(),
            known: Default::default(),
            anew: Default::default(),
            renewed: Default::default(),
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

kernel_of_parts!(SqFetch: wires::Wires, fields::Fields, steps::Steps);
