//! A parser between the MAC and its sinks, whatever its beat.

use std::collections::VecDeque;
use tessera_abi::params::{Config, NIC512};
use tessera_abi::wire::{self, Form, Trh};
use tessera_rtl::wire::narrow::NarrowRxParse;
use tessera_rtl::wire::RxParse;
use tessera_sim::tb::{self, cycle, AxisDriver, Pattern, Rng, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::packets::{self, Layout, Packet, HERE, THERE};

/// Clocks from a frame's last beat to its word.
pub const WORD_LATENCY: u64 = 10;
/// Clocks from a frame's last beat to its first payload beat.
pub const PAYLOAD_LATENCY: u64 = 10;

/// Clocks from a frame's last beat to the answer in it, which the narrow parser puts together from slices.
pub fn feedback_latency(beat: usize) -> u64 {
    if beat == 64 {
        10
    } else {
        19
    }
}

/// Outcomes in order of precedence; the last four are accepted.
pub const OUTCOMES: [&str; 19] = [
    "drop_frame",
    "drop_not_ours",
    "drop_ip_header",
    "drop_length",
    "drop_icrc",
    "drop_cnp",
    "drop_bth",
    "drop_p_key",
    "drop_endpoint",
    "drop_q_key",
    "drop_trh",
    "drop_fields",
    "drop_disabled",
    "drop_overflow",
    "rx_data",
    "rx_probe",
    "rx_feedback",
    "rx_release",
    "rx_ud",
];

/// A plain UD endpoint beside the one of `HERE`.
pub const DATAGRAM: u32 = 0xAB_CD09;
pub const DATAGRAM_QKEY: u32 = 0x0F0F_1234;

pub fn small() -> Config {
    Config { rx_buffer_beats_log2: 7, rx_packets_log2: 7, endpoints_log2: 4, ..NIC512 }
}

/// The block that has beats of so many bytes.
pub fn design_of(beat: usize, config: &Config) -> Design {
    match beat {
        64 => tessera_testbenches::design_for("rx_parse", config, RxParse::new),
        16 => tessera_testbenches::design_for("narrow_rx_parse", config, NarrowRxParse::new),
        other => panic!("there is no parser for beats of {other} bytes"),
    }
}

/// Runs a test on both blocks. The narrow one first, and the wide one first below:
/// `mutate` looks for mistakes to make in the first design of each test.
pub fn on_both(test: &str, body: impl Fn(&mut Dut, &mut Rng)) {
    for beat in [16, 64] {
        tb::run(&format!("{test} {beat}"), &design_of(beat, &NIC512), &body);
    }
}

/// The same with all kinds of gaps and stalls; where sinks stall, buffers are small.
pub fn on_both_in_every_pattern(test: &str, body: impl Fn(&mut Dut, &mut Rng, Pattern, Pattern)) {
    for beat in [64, 16] {
        let (full, tight) = (design_of(beat, &NIC512), design_of(beat, &small()));
        for (idle, stall) in Pattern::matrix() {
            let design = if stall == Pattern::Always { &full } else { &tight };
            let name = format!("{test} {beat} {idle:?} {stall:?}");
            tb::run(&name, design, |dut, rng| body(dut, rng, idle, stall));
        }
    }
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub input: AxisDriver,
    pub data: StreamMonitor,
    pub feedback: StreamMonitor,
    pub payload: StreamMonitor,
    pub data_layout: Layout,
    pub feedback_layout: Layout,
    pub now: PortId,
    pub clock_now: u32,
    pub last: PortId,
    pub valid: PortId,
    pub frames: PortId,
    pub outcomes: [PortId; 19],
    /// Bytes of a beat.
    pub beat: usize,
    /// Time of arrival and clock of each last beat.
    pub arrivals: VecDeque<(u32, u64)>,
    pub results: VecDeque<&'static str>,
}

impl<'a> Bench<'a> {
    pub fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let input = AxisDriver::new(dut, "s_axis", idle, rng).unwrap();
        let monitor =
            |name: &str, dut: &Dut, rng: &mut Rng| StreamMonitor::new(dut, name, stall, rng).unwrap();
        let data = monitor("data", dut, rng);
        let feedback = monitor("feedback", dut, rng);
        let payload = monitor("payload", dut, rng);
        let port = |name: &str| dut.port(name).unwrap();
        let (valid, last, now, frames) =
            (port("s_axis_tvalid"), port("s_axis_tlast"), port("now"), port("rx_frames"));
        let outcomes = OUTCOMES.map(port);
        let beat = port("s_axis_tkeep").width();
        let (data_layout, feedback_layout) = (Layout::of(dut, "data_data"), Layout::of(dut, "feedback_data"));
        dut.set(valid, 0u64);
        packets::set_up(dut, &HERE);
        packets::write_endpoint_of_kind(dut, DATAGRAM, DATAGRAM_QKEY, true, true);
        Bench {
            dut,
            input,
            data,
            feedback,
            payload,
            data_layout,
            feedback_layout,
            now,
            clock_now: rng.bits(32) as u32,
            last,
            valid,
            frames,
            outcomes,
            beat,
            arrivals: VecDeque::new(),
            results: VecDeque::new(),
        }
    }

    pub fn clock(&mut self) {
        self.clock_now = self.clock_now.wrapping_add(1);
        self.dut.set(self.now, self.clock_now);
        cycle(self.dut, &mut [&mut self.input, &mut self.data, &mut self.feedback, &mut self.payload]);
        if self.dut.sampled(self.valid) == 1 && self.dut.sampled(self.last) == 1 {
            self.arrivals.push_back((self.clock_now, self.dut.cycles()));
        }
        let raised: Vec<&str> = (0..OUTCOMES.len())
            .filter(|i| self.dut.sampled(self.outcomes[*i]) == 1)
            .map(|i| OUTCOMES[i])
            .collect();
        assert_eq!(raised.len() as u64, self.dut.sampled(self.frames), "one outcome per frame: {raised:?}");
        self.results.extend(raised);
    }

    /// Until `frames` outcomes are known and every output is quiet.
    pub fn run(&mut self, frames: usize) {
        let (mut clocks, mut quiet) = (0, 0);
        while quiet < 100 {
            let before = (self.data.total(), self.feedback.total(), self.payload.total());
            self.clock();
            let moved = before != (self.data.total(), self.feedback.total(), self.payload.total());
            quiet = if moved || self.results.len() < frames { 0 } else { quiet + 1 };
            clocks += 1;
            assert!(
                clocks < 3000 + 400 * 64 / self.beat * frames,
                "{} of {frames} outcomes",
                self.results.len()
            );
        }
        assert_eq!(self.results.len(), frames);
    }

    /// Compares the outputs with what the accepted packets carry.
    pub fn expect(&mut self, packet: &Packet, route: &wire::Route, arrival: u32) {
        match packet.trh {
            Trh::Data(header) => {
                let layout = &self.data_layout;
                let word = self.data.take().expect("a data word").word;
                assert_eq!(layout.bytes(&word, "src_mac"), route.src_mac);
                assert_eq!(layout.bytes(&word, "src_gid"), route.src_gid);
                let mut expected = layout.word();
                layout.put_bytes(&mut expected, "src_mac", &route.src_mac);
                // Of a frame without tag the bits mean nothing.
                let tci = route.vlan.map_or(layout.get(&word, "vlan"), u64::from);
                layout.put_bytes(&mut expected, "src_gid", &route.src_gid);
                let count = wire::packet_count(header.length, header.payload_log2).unwrap();
                for (name, value) in [
                    ("vlan", tci),
                    ("vlan_valid", route.vlan.is_some().into()),
                    ("ud", 0),
                    ("src_endpoint", u64::from(route.src_endpoint)),
                    ("endpoint", u64::from(route.dst_endpoint & 0xFF)),
                    ("ce", u64::from(route.tos & 3 == wire::ECN_CE)),
                    ("probe", u64::from(header.probe)),
                    ("release", 0),
                    ("flags", header.flags.into()),
                    ("ev", header.ev.into()),
                    ("payload_log2", header.payload_log2.into()),
                    ("traffic_class", header.traffic_class.into()),
                    ("slot", header.message.slot().into()),
                    ("generation", header.message.generation().into()),
                    ("index", header.index.into()),
                    ("initial_window", header.initial_window.into()),
                    ("length", header.length.into()),
                    ("count", count.into()),
                    ("tag", header.tag),
                    ("rkey", header.rkey.into()),
                    ("imm", header.immediate.into()),
                    ("round", header.round.into()),
                    ("rtt", header.rtt.into()),
                    ("timestamp", header.timestamp.into()),
                    ("arrival", arrival.into()),
                    ("payload_len", packet.payload.len() as u64),
                ] {
                    assert_eq!(layout.get(&word, name), value, "{name} of {header:?}");
                    layout.put(&mut expected, name, value);
                }
                assert_eq!(word, expected, "a field that nobody compared");
                self.expect_payload(&packet.payload);
            }
            Trh::Feedback(header) => {
                let layout = &self.feedback_layout;
                let word = self.feedback.take().expect("a feedback word").word;
                let mut expected = layout.word();
                layout.put_bytes(&mut expected, "src_gid", &route.src_gid);
                layout.put_bytes(&mut expected, "src_mac", &route.src_mac);
                let tci = route.vlan.map_or(layout.get(&word, "vlan"), u64::from);
                assert_eq!(layout.bytes(&word, "src_mac"), route.src_mac);
                let bitmap: Vec<u8> = header.bitmap.iter().rev().copied().collect();
                layout.put_bytes(&mut expected, "bitmap", &bitmap);
                for (name, value) in [
                    ("vlan", tci),
                    ("vlan_valid", route.vlan.is_some().into()),
                    ("src_endpoint", u64::from(route.src_endpoint)),
                    ("endpoint", u64::from(route.dst_endpoint & 0xFF)),
                    ("flags", header.flags.into()),
                    ("ev", header.ev.into()),
                    ("status", header.status.into()),
                    ("slot", header.message.slot().into()),
                    ("generation", header.message.generation().into()),
                    ("cumulative", header.cumulative.into()),
                    ("sequence", header.sequence.into()),
                    ("grant", header.grant.into()),
                    ("duplicates", header.duplicates.into()),
                    ("base", header.base.into()),
                    ("limit", header.limit.into()),
                    ("delay", header.delay.into()),
                    ("echo", header.echo.into()),
                    ("arrival", arrival.into()),
                ] {
                    assert_eq!(layout.get(&word, name), value, "{name} of {header:?}");
                    layout.put(&mut expected, name, value);
                }
                assert_eq!(word, expected);
            }
            //= RX-6 test
            Trh::Release(header) => {
                let layout = &self.data_layout;
                let word = self.data.take().expect("a word").word;
                assert_eq!(layout.bytes(&word, "src_mac"), route.src_mac);
                assert_eq!(layout.bytes(&word, "src_gid"), route.src_gid);
                for (name, value) in [
                    ("release", 1),
                    ("ud", 0),
                    ("probe", 0),
                    ("flags", 0),
                    ("denied", 0),
                    ("payload_len", 0),
                    ("src_endpoint", u64::from(route.src_endpoint)),
                    ("endpoint", u64::from(route.dst_endpoint & 0xFF)),
                    ("slot", header.message.slot().into()),
                    ("generation", header.message.generation().into()),
                    ("arrival", arrival.into()),
                ] {
                    assert_eq!(layout.get(&word, name), value, "{name} of {header:?}");
                }
            }
        }
    }

    pub fn expect_payload(&mut self, payload: &[u8]) {
        let mut bytes = Vec::new();
        while bytes.len() < payload.len() {
            let (beat, last) = packets::beat_bytes(&self.payload.take().expect("payload").word);
            bytes.extend(beat);
            assert_eq!(last, bytes.len() == payload.len(), "tlast at byte {}", bytes.len());
        }
        assert_eq!(bytes, payload);
    }

    pub fn expect_nothing_more(&mut self) {
        assert_eq!((self.data.take(), self.feedback.take(), self.payload.take()), (None, None, None));
    }
}

pub fn any_route(rng: &mut Rng) -> wire::Route {
    let form = packets::any_form(rng);
    any_route_in(form, rng)
}

pub fn any_route_in(form: Form, rng: &mut Rng) -> wire::Route {
    let mut route = packets::route_in(form, &THERE, &HERE, rng.bits(8) as u8, rng.bits(24) as u32);
    route.src_mac = rng.bytes(6).try_into().unwrap();
    let v4 = [rng.range(1..224) as u8, rng.bits(8) as u8, rng.bits(8) as u8, rng.bits(8) as u8];
    let mut v6: [u8; 16] = rng.bytes(16).try_into().unwrap();
    v6[0] = rng.range(1..255) as u8;
    route.src_gid = if form.v6 { v6 } else { wire::ipv4_gid(v4) };
    route.src_endpoint = rng.bits(24) as u32;
    route.tos = rng.bits(8) as u8;
    route.hop_limit = rng.bits(8) as u8;
    route.flow_label = if form.v6 { rng.bits(20) as u32 } else { 0 };
    route.vlan = form.tagged.then(|| (rng.bits(4) as u16) << 12 | *rng.pick(&[0, packets::VLAN]));
    route.pkey = if rng.chance(0.5) { 0xFFFF } else { 0x7FFF };
    route
}

pub fn kind(packet: &Packet) -> &'static str {
    match packet.trh {
        Trh::Data(header) if header.probe => "rx_probe",
        Trh::Data(_) => "rx_data",
        Trh::Feedback(_) => "rx_feedback",
        Trh::Release(_) => "rx_release",
    }
}
