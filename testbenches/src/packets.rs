//! Random packets, and their form on the ports of the packet path.

use tessera_abi::regs::{endpoint, table};
use tessera_abi::wire::{self, DataHeader, FeedbackHeader, Form, MessageId, ReleaseHeader, Route, Trh};
use tessera_sim::tb::{Rng, Word};
use tessera_sim::verilator::Dut;

/// Names and places of the fields of a record port.
pub struct Layout {
    fields: Vec<(String, usize, usize)>,
    words: usize,
}

impl Layout {
    /// The fields of `port`.
    pub fn of(dut: &Dut, port: &str) -> Self {
        let fields = dut.model().fields(port);
        assert!(!fields.is_empty(), "{port} is no record");
        Self { words: dut.port(port).unwrap().words(), fields }
    }

    /// A word of zeros.
    pub fn word(&self) -> Word {
        Word(vec![0; self.words])
    }

    fn field(&self, name: &str) -> (usize, usize) {
        let found = self.fields.iter().find(|field| field.0 == name);
        found.map(|field| (field.1, field.2)).unwrap_or_else(|| panic!("no field {name}"))
    }

    /// Sets a field of up to 64 bits.
    pub fn put(&self, word: &mut Word, name: &str, value: impl Into<u64>) {
        let (lsb, width) = self.field(name);
        word.set_bits(lsb, width, value.into());
    }

    /// Sets a field whose first byte is its most significant.
    pub fn put_bytes(&self, word: &mut Word, name: &str, bytes: &[u8]) {
        let (lsb, width) = self.field(name);
        assert_eq!(width, 8 * bytes.len(), "bytes of {name}");
        for (i, byte) in bytes.iter().rev().enumerate() {
            word.set_bits(lsb + 8 * i, 8, u64::from(*byte));
        }
    }

    /// A field of up to 64 bits.
    pub fn get(&self, word: &Word, name: &str) -> u64 {
        let (lsb, width) = self.field(name);
        word.bits(lsb, width)
    }

    /// A field as bytes, the most significant first.
    pub fn bytes(&self, word: &Word, name: &str) -> Vec<u8> {
        let (lsb, width) = self.field(name);
        (0..width / 8).rev().map(|i| word.bits(lsb + 8 * i, 8) as u8).collect()
    }
}

/// A NIC as the packet path knows it, with one endpoint in use.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    /// MAC address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: [u8; 4],
    /// IPv6 address.
    pub ip6: [u8; 16],
    /// Partition key.
    pub pkey: u16,
    /// Endpoint number, 24 bits.
    pub endpoint: u32,
    /// Q_Key of the endpoint.
    pub qkey: u32,
}

/// The NIC under test.
pub const HERE: Station = Station {
    mac: [2, 0x10, 0x20, 0x30, 0x40, 0x51],
    ip: [10, 1, 2, 3],
    ip6: [0x20, 0x01, 0x0D, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    pkey: 0xFFFF,
    endpoint: 0xAB_CD07,
    qkey: 0x1234_5678,
};

/// Its peer.
pub const THERE: Station = Station {
    mac: [2, 0xA0, 0xB0, 0xC0, 0xD0, 0xE2],
    ip: [192, 168, 77, 201],
    ip6: [0xFD, 0x5A, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xE1],
    pkey: 0xFFFF,
    endpoint: 0x13_5742,
    qkey: 0x9ABC_DEF1,
};

/// The VLAN whose frames `set_up` lets in.
pub const VLAN: u16 = 0x123;

impl Station {
    /// Its address for frames of a form.
    pub fn gid(&self, form: Form) -> [u8; 16] {
        if form.v6 {
            self.ip6
        } else {
            wire::ipv4_gid(self.ip)
        }
    }
}

/// Sets up settings and endpoint table for `station` and resets the block.
pub fn set_up(dut: &mut Dut, station: &Station) {
    let mac = station.mac.iter().fold(0u64, |mac, byte| mac << 8 | u64::from(*byte));
    for (name, value) in [
        ("settings.enable", 1),
        ("settings.local_mac", mac),
        ("settings.local_ip", u64::from(u32::from_be_bytes(station.ip))),
        ("settings.pkey", u64::from(station.pkey)),
        ("settings.vlan_id", u64::from(VLAN)),
    ] {
        let port = dut.port(name).unwrap();
        dut.set(port, value);
    }
    let ip6 = u128::from_be_bytes(station.ip6);
    let port = dut.port("settings.local_ip6").unwrap();
    dut.set_wide(port, &[ip6 as u64, (ip6 >> 64) as u64]);
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 3);
    if dut.port("ready").is_ok() {
        crate::host::cleared(dut);
    }
    write_endpoint(dut, station.endpoint, station.qkey, true);
}

/// Writes an entry of the endpoint table, one clock, and lets it settle in.
pub fn write_endpoint(dut: &mut Dut, number: u32, qkey: u32, valid: bool) {
    write_endpoint_of_kind(dut, number, qkey, valid, false);
}

/// The same for either kind of endpoint.
pub fn write_endpoint_of_kind(dut: &mut Dut, number: u32, qkey: u32, valid: bool, datagram: bool) {
    let word = endpoint_entry(dut, number, qkey, valid, datagram);
    let port = dut.port("table_write").unwrap();
    dut.set_wide(port, &word.0);
    dut.clock();
    dut.set_wide(port, &vec![0; word.0.len()]);
    dut.clock_by(3);
}

/// The word on `table_write` that writes it.
pub fn endpoint_entry(dut: &Dut, number: u32, qkey: u32, valid: bool, datagram: bool) -> Word {
    let layout = Layout::of(dut, "table_write");
    let mut entry = Word(vec![0; 8]);
    entry.set_bits(endpoint::VALID.0, 1, u64::from(valid));
    entry.set_bits(endpoint::DATAGRAM.0, 1, u64::from(datagram));
    entry.set_bits(endpoint::NUMBER_HI.0, endpoint::NUMBER_HI.1, u64::from(number >> 8));
    entry.set_bits(endpoint::QKEY.0, endpoint::QKEY.1, u64::from(qkey));
    let mut word = layout.word();
    layout.put(&mut word, "valid", true);
    layout.put(&mut word, "table", table::ENDPOINT);
    layout.put(&mut word, "index", number & 0xFF);
    let (lsb, _) = layout.field("entry");
    for (i, bits) in entry.0.iter().enumerate() {
        word.set_bits(lsb + 64 * i, 64, *bits);
    }
    word
}

/// A packet in the making; addresses come later.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its TRH. EV, timestamp, delay and echo are the builder's business.
    pub trh: Trh,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// Lengths at every edge of alignment, padding and beats.
pub const EDGE_LENGTHS: &[usize] = &[
    0, 1, 2, 3, 4, 5, 23, 24, 25, 26, 27, 28, 37, 38, 39, 40, 61, 62, 63, 64, 65, 66, 85, 86, 87, 88, 89, 90,
    91, 127, 128, 129, 255, 256, 1023, 1024, 2048, 4093, 4094, 4095, 4096,
];

/// A length at an edge, or any.
pub fn any_length(rng: &mut Rng) -> usize {
    if rng.chance(0.5) {
        *rng.pick(EDGE_LENGTHS)
    } else {
        rng.below(4097) as usize
    }
}

/// Flags of DATA and PROBE that this version knows.
fn data_flags(rng: &mut Rng) -> u8 {
    (rng.bits(8) as u8) & !wire::flag::ROUND
}

/// A DATA packet with this payload length, right in all its fields.
pub fn data(rng: &mut Rng, payload_len: usize) -> Packet {
    let fitting: Vec<u8> = (8..=12).filter(|log2| payload_len <= 1 << log2).collect();
    let payload_log2 = *rng.pick(&fitting);
    let size = 1u32 << payload_log2;
    let (mut index, mut length) = (0, 0);
    if payload_len > 0 {
        let far = rng.below(1 << 19) as u32;
        index = *rng.pick(&[0, 1, far & 0xFF, far]);
        length = index * size + payload_len as u32;
        if payload_len as u32 == size {
            let more = rng.below(1 << 20) as u32;
            length += *rng.pick(&[0, 1, size - 1, size, more]);
        }
    }
    Packet {
        trh: Trh::Data(header(rng, false, payload_log2, index, length)),
        payload: rng.bytes(payload_len),
    }
}

/// A PROBE, right in all its fields.
pub fn probe(rng: &mut Rng) -> Packet {
    let payload_log2 = rng.range(8..13) as u8;
    let length = rng.bits(30) as u32;
    let count = wire::packet_count(length, payload_log2).unwrap();
    let index = rng.below(u64::from(count) + 1) as u32;
    Packet { trh: Trh::Data(header(rng, true, payload_log2, index, length)), payload: Vec::new() }
}

fn header(rng: &mut Rng, probe: bool, payload_log2: u8, index: u32, length: u32) -> DataHeader {
    DataHeader {
        probe,
        flags: data_flags(rng),
        ev: rng.bits(8) as u8,
        payload_log2,
        traffic_class: rng.bits(4) as u8,
        message: MessageId(rng.bits(32) as u32),
        index,
        initial_window: rng.bits(8) as u8,
        length,
        tag: rng.next_u64(),
        rkey: rng.bits(32) as u32,
        immediate: rng.bits(32) as u32,
        round: rng.bits(16) as u16,
        rtt: rng.bits(16) as u16,
        timestamp: rng.bits(32) as u32,
    }
}

/// A FEEDBACK with any numbers.
pub fn feedback(rng: &mut Rng) -> Packet {
    let bitmap = rng.bytes(32);
    let trh = Trh::Feedback(FeedbackHeader {
        flags: rng.bits(8) as u8,
        ev: rng.bits(8) as u8,
        status: rng.bits(8) as u8,
        message: MessageId(rng.bits(32) as u32),
        cumulative: rng.bits(24) as u32,
        sequence: rng.bits(8) as u8,
        grant: rng.bits(24) as u32,
        duplicates: rng.bits(8) as u8,
        base: rng.bits(24) as u32,
        limit: rng.bits(24) as u32,
        delay: rng.bits(16) as u16,
        echo: rng.bits(32) as u32,
        bitmap: bitmap.try_into().unwrap(),
    });
    Packet { trh, payload: Vec::new() }
}

/// A RELEASE of any message.
pub fn release(rng: &mut Rng) -> Packet {
    let trh = Trh::Release(ReleaseHeader {
        ev: rng.bits(8) as u8,
        message: MessageId(rng.bits(32) as u32),
        timestamp: rng.bits(32) as u32,
    });
    Packet { trh, payload: Vec::new() }
}

/// A packet of any kind.
pub fn any(rng: &mut Rng) -> Packet {
    match rng.below(8) {
        0 => probe(rng),
        1 | 2 => feedback(rng),
        3 => release(rng),
        _ => {
            let length = any_length(rng);
            data(rng, length)
        }
    }
}

/// Any form of frame.
pub fn any_form(rng: &mut Rng) -> Form {
    *rng.pick(&Form::ALL)
}

/// The way from `from` to `to`, over IPv4 without tag.
pub fn route(from: &Station, to: &Station, ev: u8, psn: u32) -> Route {
    route_in(Form::ALL[0], from, to, ev, psn)
}

/// The way from `from` to `to` in frames of a form.
pub fn route_in(form: Form, from: &Station, to: &Station, ev: u8, psn: u32) -> Route {
    let sport = wire::SPORT_BASE + u16::from(ev);
    Route {
        dst_mac: to.mac,
        src_mac: from.mac,
        vlan: form.tagged.then_some(0xA000 | VLAN),
        src_gid: from.gid(form),
        dst_gid: to.gid(form),
        tos: wire::TOS,
        hop_limit: wire::TTL,
        flow_label: if form.v6 { sport.into() } else { 0 },
        sport,
        pkey: from.pkey,
        dst_endpoint: to.endpoint,
        psn,
        qkey: to.qkey,
        src_endpoint: from.endpoint,
    }
}

/// The frame of a packet, ICRC included.
pub fn frame(route: &Route, packet: &Packet) -> Vec<u8> {
    let mut frame = vec![0; tessera_abi::params::MAX_FRAME];
    let len = wire::emit(route, &packet.trh, &packet.payload, &mut frame).unwrap();
    frame.truncate(len);
    frame
}

/// A plain datagram's frame, ICRC included.
pub fn datagram(route: &Route, immediate: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; tessera_abi::params::MAX_FRAME];
    let len = wire::emit_datagram(route, immediate, payload, &mut frame).unwrap();
    frame.truncate(len);
    frame
}

/// Where a `TxPacket` or `TxFeedback` goes.
pub fn put_destination(layout: &Layout, word: &mut Word, form: Form, to: &Station) {
    layout.put_bytes(word, "dst_mac", &to.mac);
    layout.put_bytes(word, "dst_gid", &to.gid(form));
    layout.put(word, "vlan", if form.tagged { 0xA000 | VLAN } else { 0 });
    layout.put(word, "vlan_valid", form.tagged);
}

/// `packet` as the `TxPacket` that asks `builder`'s NIC to send it to `to`.
pub fn tx_packet(layout: &Layout, form: Form, to: &Station, local: &Station, packet: &Packet) -> Word {
    let Trh::Data(header) = packet.trh else { panic!("only DATA and PROBE are TxPackets") };
    let mut word = layout.word();
    put_destination(layout, &mut word, form, to);
    layout.put(&mut word, "dst_endpoint", to.endpoint);
    layout.put(&mut word, "qkey", to.qkey);
    layout.put(&mut word, "endpoint", local.endpoint & 0xFF);
    layout.put(&mut word, "probe", header.probe);
    layout.put(&mut word, "flags", header.flags);
    layout.put(&mut word, "payload_log2", header.payload_log2);
    layout.put(&mut word, "traffic_class", header.traffic_class);
    layout.put(&mut word, "slot", header.message.slot());
    layout.put(&mut word, "generation", header.message.generation());
    layout.put(&mut word, "index", header.index);
    layout.put(&mut word, "initial_window", header.initial_window);
    layout.put(&mut word, "length", header.length);
    layout.put(&mut word, "tag", header.tag);
    layout.put(&mut word, "rkey", header.rkey);
    layout.put(&mut word, "imm", header.immediate);
    layout.put(&mut word, "round", header.round);
    layout.put(&mut word, "rtt", header.rtt);
    layout.put(&mut word, "payload_len", packet.payload.len() as u64);
    word
}

/// Bytes of a beat of the wide packet path, and of the narrow one.
pub const WIDE: usize = 64;
/// See [`WIDE`].
pub const NARROW: usize = 16;

/// Bytes of a beat of a `types::Beat` or `types::NarrowBeat` port: eight bits and a keep for
/// each, and the last flag.
pub fn beat_size(dut: &Dut, port: &str) -> usize {
    (dut.port(port).unwrap().width() - 1) / 9
}

/// The same of a word of such a port.
fn size_of(word: &Word) -> usize {
    match word.0.len() {
        10 => WIDE,
        3 => NARROW,
        other => panic!("a word of {other} times 64 bits is no beat"),
    }
}

/// Beats of `bytes` as `types::Beat` words: data, keep, last.
pub fn beats(bytes: &[u8]) -> Vec<Word> {
    beats_of(bytes, WIDE)
}

/// The same in beats of `size` bytes.
pub fn beats_of(bytes: &[u8], size: usize) -> Vec<Word> {
    let count = bytes.len().div_ceil(size);
    let chunks = bytes.chunks(size).enumerate();
    chunks
        .map(|(i, chunk)| {
            let mut word = Word(vec![0; (9 * size + 1).div_ceil(64)]);
            for (at, byte) in chunk.iter().enumerate() {
                word.0[at / 8] |= u64::from(*byte) << (8 * (at % 8));
            }
            word.set_bits(8 * size, size, u64::MAX >> (64 - chunk.len()));
            word.set_bits(9 * size, 1, u64::from(i + 1 == count));
            word
        })
        .collect()
}

/// Fills the bytes of a beat that its keep leaves out.
pub fn fill(beat: &mut Word, mut noise: impl FnMut() -> u8) {
    let size = size_of(beat);
    for at in beat.bits(8 * size, size).trailing_ones() as usize..size {
        beat.set_bits(8 * at, 8, noise().into());
    }
}

/// The kept bytes of a beat word, and whether it is the last.
pub fn beat_bytes(word: &Word) -> (Vec<u8>, bool) {
    let size = size_of(word);
    let keep = word.bits(8 * size, size);
    let count = keep.trailing_ones() as usize;
    assert_eq!(keep.count_ones() as usize, count, "tkeep {keep:#x} has a hole");
    let last = word.bits(9 * size, 1) == 1;
    assert!(last || count == size, "a partial beat inside a frame");
    ((0..count).map(|at| (word.0[at / 8] >> (8 * (at % 8))) as u8).collect(), last)
}
