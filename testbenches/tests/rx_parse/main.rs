//! `wire::RxParse` and `wire::narrow::NarrowRxParse`: what is accepted comes out
//! whole, what is wrong does nothing but count one reason.
//!
//! Both have one contract but for the beat, so every test runs on both.

mod datagrams;
mod reasons;
mod shape;
mod tails;

use std::collections::VecDeque;
use tessera_abi::params::{Config, MAX_PACKETS, NIC512};
use tessera_abi::wire::{self, Form, Trh};
use tessera_rtl::wire::narrow::NarrowRxParse;
use tessera_rtl::wire::RxParse;
use tessera_sim::tb::{self, cycle, AxisDriver, Pattern, Rng, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::packets::{self, Layout, Packet, HERE, THERE};

/// Clocks from a frame's last beat to its word.
const WORD_LATENCY: u64 = 9;
/// Clocks from a frame's last beat to its first payload beat.
const PAYLOAD_LATENCY: u64 = 10;

/// Outcomes in order of precedence; the last four are accepted.
const OUTCOMES: [&str; 19] = [
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
const DATAGRAM: u32 = 0xAB_CD09;
const DATAGRAM_QKEY: u32 = 0x0F0F_1234;

fn small() -> Config {
    Config { rx_buffer_beats_log2: 7, rx_packets_log2: 7, endpoints_log2: 4, ..NIC512 }
}

/// The block that has beats of so many bytes.
fn design_of(beat: usize, config: &Config) -> Design {
    match beat {
        64 => tessera_testbenches::design("rx_parse", || RxParse::new(config)),
        16 => tessera_testbenches::design("narrow_rx_parse", || NarrowRxParse::new(config)),
        other => panic!("there is no parser for beats of {other} bytes"),
    }
}

/// Runs a test on both blocks. The narrow one first, and the wide one first below:
/// `mutate` looks for mistakes to make in the first design of each test.
fn on_both(test: &str, body: impl Fn(&mut Dut, &mut Rng)) {
    for beat in [16, 64] {
        tb::run(&format!("{test} {beat}"), &design_of(beat, &NIC512), &body);
    }
}

/// The same with all kinds of gaps and stalls; where sinks stall, buffers are small.
fn on_both_in_every_pattern(test: &str, body: impl Fn(&mut Dut, &mut Rng, Pattern, Pattern)) {
    for beat in [64, 16] {
        let (full, tight) = (design_of(beat, &NIC512), design_of(beat, &small()));
        for (idle, stall) in Pattern::matrix() {
            let design = if stall == Pattern::Always { &full } else { &tight };
            let name = format!("{test} {beat} {idle:?} {stall:?}");
            tb::run(&name, design, |dut, rng| body(dut, rng, idle, stall));
        }
    }
}

struct Bench<'a> {
    dut: &'a mut Dut,
    input: AxisDriver,
    data: StreamMonitor,
    feedback: StreamMonitor,
    payload: StreamMonitor,
    data_layout: Layout,
    feedback_layout: Layout,
    now: PortId,
    clock_now: u32,
    last: PortId,
    valid: PortId,
    frames: PortId,
    outcomes: [PortId; 19],
    /// Bytes of a beat.
    beat: usize,
    /// Time of arrival and clock of each last beat.
    arrivals: VecDeque<(u32, u64)>,
    results: VecDeque<&'static str>,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
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

    fn clock(&mut self) {
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
    fn run(&mut self, frames: usize) {
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
    fn expect(&mut self, packet: &Packet, route: &wire::Route, arrival: u32) {
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

    fn expect_payload(&mut self, payload: &[u8]) {
        let mut bytes = Vec::new();
        while bytes.len() < payload.len() {
            let (beat, last) = packets::beat_bytes(&self.payload.take().expect("payload").word);
            bytes.extend(beat);
            assert_eq!(last, bytes.len() == payload.len(), "tlast at byte {}", bytes.len());
        }
        assert_eq!(bytes, payload);
    }

    fn expect_nothing_more(&mut self) {
        assert_eq!((self.data.take(), self.feedback.take(), self.payload.take()), (None, None, None));
    }
}

fn any_route(rng: &mut Rng) -> wire::Route {
    let form = packets::any_form(rng);
    any_route_in(form, rng)
}

fn any_route_in(form: Form, rng: &mut Rng) -> wire::Route {
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

fn kind(packet: &Packet) -> &'static str {
    match packet.trh {
        Trh::Data(header) if header.probe => "rx_probe",
        Trh::Data(_) => "rx_data",
        Trh::Feedback(_) => "rx_feedback",
        Trh::Release(_) => "rx_release",
    }
}

/// RX-7. Sinks that never stall: everything is accepted. Sinks that stall:
/// what does not fit is dropped whole, the rest comes out whole.
#[test]
fn accepted_packets_come_out_whole() {
    on_both_in_every_pattern("rx_parse::whole", |dut, rng, idle, stall| {
        let mut bench = Bench::new(dut, idle, stall, rng);
        let sent: Vec<(Packet, wire::Route)> =
            (0..250).map(|_| (packets::any(rng), any_route(rng))).collect();
        for (packet, route) in &sent {
            bench.input.send(packets::frame(route, packet));
        }
        bench.run(sent.len());
        let mut dropped = 0;
        for (packet, route) in &sent {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            match bench.results.pop_front().unwrap() {
                "drop_overflow" => dropped += 1,
                result => {
                    assert_eq!(result, kind(packet), "{packet:?}");
                    bench.expect(packet, route, arrival);
                }
            }
        }
        bench.expect_nothing_more();
        assert!(stall != Pattern::Always || dropped == 0, "{dropped} dropped without need");
        assert!(dropped < sent.len(), "everything dropped");
    });
}

/// Sinks that take nothing: `overflow` without end, and all is well afterwards.
#[test]
fn overflow_drops_whole_frames() {
    for beat in [64, 16] {
        tb::run(&format!("rx_parse::overflow {beat}"), &design_of(beat, &small()), overflows);
    }
}

fn overflows(dut: &mut Dut, rng: &mut Rng) {
    let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
    let ready = ["data_ready", "feedback_ready", "payload_ready"].map(|name| bench.dut.port(name).unwrap());
    let sent: Vec<(Packet, wire::Route)> = (0..300).map(|_| (packets::any(rng), any_route(rng))).collect();
    for (packet, route) in &sent {
        bench.input.send(packets::frame(route, packet));
    }
    while bench.results.len() < sent.len() {
        ready.iter().for_each(|port| bench.dut.set(*port, 0u64));
        bench.dut.set(bench.now, 7u64);
        cycle(bench.dut, &mut [&mut bench.input]);
        let raised: Vec<&str> = (0..OUTCOMES.len())
            .filter(|i| bench.dut.sampled(bench.outcomes[*i]) == 1)
            .map(|i| OUTCOMES[i])
            .collect();
        assert_eq!(raised.len() as u64, bench.dut.sampled(bench.frames));
        bench.results.extend(raised);
    }
    let dropped = bench.results.iter().filter(|result| **result == "drop_overflow").count();
    // Words without payload wait for nothing but their own places.
    assert!((150..300).contains(&dropped), "{dropped} of 300 dropped");
    bench.clock_now = 6;
    let more: Vec<(Packet, wire::Route)> = (0..5).map(|_| (packets::any(rng), any_route(rng))).collect();
    for _ in 0..400 * 64 / bench.beat {
        bench.clock();
    }
    for (packet, route) in &more {
        bench.input.send(packets::frame(route, packet));
    }
    bench.run(sent.len() + more.len());
    for (packet, route) in sent.iter().chain(&more) {
        let result = bench.results.pop_front().unwrap();
        if result != "drop_overflow" {
            let arrival =
                if bench.results.len() < more.len() { bench.arrivals.pop_front().unwrap().0 } else { 7 };
            bench.expect(packet, route, arrival);
        }
    }
    bench.expect_nothing_more();
}

/// RX-6: the last index of a message is its count less one. A packet behind it
/// is dropped, whatever payload it brings: a whole one, what the last packet
/// would have, or none.
#[test]
fn an_index_of_count_is_behind_the_message() {
    on_both("rx_parse::behind", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let route = packets::route(&THERE, &HERE, 0, 0);
        let mut due = Vec::new();
        for payload_log2 in 8..=12u8 {
            let size = 1u32 << payload_log2;
            for count in [1, 2, 3, 257, 4096] {
                for short in [0, 1, size / 2, size - 1] {
                    let length = count * size - short;
                    for (index, payload) in [
                        (count - 1, size - short),
                        (count, size),
                        (count, size - short),
                        (count, 0),
                        (count + 1, size),
                    ] {
                        let mut packet = packets::data(rng, payload as usize);
                        let Trh::Data(header) = &mut packet.trh else { unreachable!() };
                        (header.payload_log2, header.index, header.length) = (payload_log2, index, length);
                        bench.input.send(packets::frame(&route, &packet));
                        due.push((index < count, packet));
                    }
                }
            }
        }
        bench.run(due.len());
        for (inside, packet) in &due {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            let outcome = if *inside { "rx_data" } else { "drop_fields" };
            assert_eq!(bench.results.pop_front().unwrap(), outcome, "{:?}", packet.trh);
            if *inside {
                bench.expect(packet, &route, arrival);
            }
        }
        bench.expect_nothing_more();
    });
}

/// RX-6: 2^24 packets are one too many. All their indexes would fit, and of a
/// PROBE nothing else is wrong.
#[test]
fn a_message_of_too_many_packets_is_malformed() {
    on_both("rx_parse::too_many", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let route = packets::route(&THERE, &HERE, 0, 0);
        let mut due = Vec::new();
        for (payload_log2, length) in
            [(8, MAX_PACKETS << 8), (8, (MAX_PACKETS << 8) + 1), (8, u32::MAX), (9, u32::MAX), (12, u32::MAX)]
        {
            let size = 1u64 << payload_log2;
            let count = u64::from(length).div_ceil(size);
            let possible = count <= u64::from(MAX_PACKETS);
            for index in [0, 1, MAX_PACKETS - 1, MAX_PACKETS] {
                let left = u64::from(length).saturating_sub(u64::from(index) * size).min(size);
                let data = packets::data(rng, left as usize);
                for (mut packet, right) in
                    [(packets::probe(rng), u64::from(index) <= count), (data, u64::from(index) < count)]
                {
                    let Trh::Data(header) = &mut packet.trh else { unreachable!() };
                    (header.payload_log2, header.index, header.length) = (payload_log2, index, length);
                    bench.input.send(packets::frame(&route, &packet));
                    due.push((possible && right, packet));
                }
            }
        }
        bench.run(due.len());
        for (right, packet) in &due {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            let outcome = if *right { kind(packet) } else { "drop_fields" };
            assert_eq!(bench.results.pop_front().unwrap(), outcome, "{:?}", packet.trh);
            if *right {
                bench.expect(packet, &route, arrival);
            }
        }
        bench.expect_nothing_more();
    });
}

/// RX-4: two limited members of a partition do not hear each other; one full
/// member of the two is enough.
#[test]
fn one_full_member_is_enough() {
    const FULL: u16 = 0x8000;
    on_both("rx_parse::members", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let own = bench.dut.port("settings.pkey").unwrap();
        for partition in [0x7FFF, 0x0000, 0x1234] {
            for (here, there) in [(FULL, FULL), (FULL, 0), (0, FULL), (0, 0)] {
                bench.dut.set(own, u64::from(partition | here));
                let packet = packets::data(rng, 40);
                let mut route = packets::route(&THERE, &HERE, 0, 0);
                route.pkey = partition | there;
                bench.input.send(packets::frame(&route, &packet));
                bench.run(1);
                let (arrival, _) = bench.arrivals.pop_front().unwrap();
                let outcome = bench.results.pop_front().unwrap();
                let what = format!("partition {partition:#x}, here {here:#x}, there {there:#x}");
                if here | there == FULL {
                    assert_eq!(outcome, "rx_data", "{what}");
                    bench.expect(&packet, &route, arrival);
                } else {
                    assert_eq!(outcome, "drop_p_key", "{what}");
                }
                bench.expect_nothing_more();
            }
        }
    });
}

/// RX-6: what a RELEASE has no use for is ignored; payload or a pad is not.
#[test]
fn a_release_is_a_header_and_nothing_more() {
    on_both("rx_parse::release", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for form in Form::ALL {
            let route = packets::route_in(form, &THERE, &HERE, 0, 0);
            let at = form.trh_at();
            for round in 0..40 {
                let packet = packets::release(rng);
                let mut frame = packets::frame(&route, &packet);
                let spoiled = match round % 4 {
                    0 => {
                        frame[form.bth_at() + 1] |= *rng.pick(&[0x10, 0x20, 0x30]);
                        true
                    }
                    1 => {
                        // The same as the end of a longer packet.
                        let data = packets::data(rng, 4);
                        frame = packets::frame(&route, &data);
                        frame[at] = frame[at] & 0xF0 | wire::TYPE_RELEASE;
                        true
                    }
                    _ => {
                        let ignored = (1..2).chain(3..4).chain(8..36);
                        ignored.for_each(|byte| frame[at + byte] = rng.bits(8) as u8);
                        false
                    }
                };
                wire::reseal(&mut frame);
                bench.input.send(frame);
                bench.run(1);
                let (arrival, _) = bench.arrivals.pop_front().unwrap();
                let outcome = bench.results.pop_front().unwrap();
                assert_eq!(outcome, if spoiled { "drop_fields" } else { "rx_release" });
                if !spoiled {
                    bench.expect(&packet, &route, arrival);
                }
                bench.expect_nothing_more();
            }
        }
    });
}

/// A NIC that is not enabled refuses what it would accept, and only that.
#[test]
fn disabled_comes_last() {
    on_both("rx_parse::disabled", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let enable = bench.dut.port("settings.enable").unwrap();
        bench.dut.set(enable, 0u64);
        let route = packets::route(&THERE, &HERE, 0, 0);
        for _ in 0..30 {
            let packet = packets::any(rng);
            bench.input.send(packets::frame(&route, &packet));
        }
        let mut wrong = packets::frame(&route, &packets::data(rng, 5));
        wrong[wire::TRH_AT + 3] &= 0xF;
        wire::reseal(&mut wrong);
        bench.input.send(wrong);
        bench.run(31);
        assert_eq!(bench.results.pop_back(), Some("drop_fields"));
        assert!(bench.results.iter().all(|result| *result == "drop_disabled"));
        bench.expect_nothing_more();
        // RX-5: an endpoint that was taken away.
        bench.dut.set(enable, 1u64);
        packets::write_endpoint(bench.dut, HERE.endpoint, HERE.qkey, false);
        bench.results.clear();
        bench.input.send(packets::frame(&route, &packets::data(rng, 5)));
        bench.run(1);
        assert_eq!(bench.results.pop_back(), Some("drop_endpoint"));
        bench.expect_nothing_more();
    });
}

/// RX-5: after a reset there is no endpoint, whatever the table's memory still
/// holds, and writing one brings back no other.
#[test]
fn a_reset_takes_every_endpoint_away() {
    on_both("rx_parse::endpoints", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let rst = bench.dut.port("rst").unwrap();
        let numbers: Vec<u32> = (0..256).map(|low| HERE.endpoint & !0xFF | low).collect();
        for number in &numbers {
            packets::write_endpoint(bench.dut, *number, HERE.qkey, true);
        }
        bench.dut.reset(rst, 3);
        let ask = |bench: &mut Bench, rng: &mut Rng, number: u32, outcome: &str| {
            let mut route = packets::route(&THERE, &HERE, 0, 0);
            route.dst_endpoint = number;
            bench.input.send(packets::frame(&route, &packets::data(rng, 3)));
            bench.results.clear();
            bench.run(1);
            assert_eq!(bench.results.pop_front(), Some(outcome), "endpoint {number:#x}");
        };
        for number in numbers.iter().step_by(15) {
            ask(&mut bench, rng, *number, "drop_endpoint");
        }
        for at in [1usize, 3, 77, 254] {
            packets::write_endpoint(bench.dut, numbers[at], HERE.qkey, true);
            ask(&mut bench, rng, numbers[at], "rx_data");
            ask(&mut bench, rng, numbers[at + 1], "drop_endpoint");
            ask(&mut bench, rng, numbers[at - 1], "drop_endpoint");
        }
        while bench.data.take().is_some() {}
        while bench.payload.take().is_some() {}
        bench.expect_nothing_more();
    });
}

/// RX-5: where there are fewer endpoints than 256, an index beyond them is none of
/// them, whatever is written to it.
#[test]
fn an_index_beyond_the_table_is_no_endpoint() {
    for beat in [64, 16] {
        tb::run(&format!("rx_parse::beyond {beat}"), &design_of(beat, &small()), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            for (valid, distance) in [(true, 16), (true, 0x80), (false, 16), (false, 0x70)] {
                let beyond = HERE.endpoint + distance;
                packets::write_endpoint(bench.dut, beyond, HERE.qkey, valid);
                for (number, outcome) in [(beyond, "drop_endpoint"), (HERE.endpoint, "rx_data")] {
                    let mut route = packets::route(&THERE, &HERE, 0, 0);
                    route.dst_endpoint = number;
                    let packet = packets::data(rng, 3);
                    bench.input.send(packets::frame(&route, &packet));
                    bench.results.clear();
                    bench.run(1);
                    assert_eq!(bench.results.pop_front(), Some(outcome), "{number:#x}, {valid}");
                    let (arrival, _) = bench.arrivals.pop_front().unwrap();
                    if outcome == "rx_data" {
                        bench.expect(&packet, &route, arrival);
                    }
                    bench.expect_nothing_more();
                }
            }
        });
    }
}

/// Minimal frames without a clock between them, and long ones.
#[test]
fn the_input_runs_at_line_rate() {
    on_both("rx_parse::rate", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let route = packets::route(&THERE, &HERE, 0, 0);
        let sent: Vec<Packet> = (0..600)
            .map(|i| match i {
                0..200 => packets::data(rng, 1 + i % 22),
                200..300 => packets::feedback(rng),
                300..320 => packets::data(rng, 4096),
                _ => packets::any(rng),
            })
            .collect();
        let beats: usize =
            sent.iter().map(|packet| packets::frame(&route, packet).len().div_ceil(bench.beat)).sum();
        sent.iter().for_each(|packet| bench.input.send(packets::frame(&route, packet)));
        let start = bench.dut.cycles();
        while bench.input.pending() > 0 {
            bench.clock();
        }
        assert_eq!(bench.dut.cycles() - start, beats as u64, "a beat per clock");
        bench.run(sent.len());
        for packet in &sent {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            assert_eq!(bench.results.pop_front().unwrap(), kind(packet));
            bench.expect(packet, &route, arrival);
        }
        bench.expect_nothing_more();

        let packet = packets::data(rng, 20);
        bench.input.send(packets::frame(&route, &packet));
        let mut at = (0, 0);
        while at.0 == 0 || at.1 == 0 {
            bench.clock();
            at.0 = bench.data.take_timed().map_or(at.0, |taken| taken.0);
            at.1 = bench.payload.take_timed().map_or(at.1, |taken| taken.0);
        }
        let (_, last) = bench.arrivals.pop_front().unwrap();
        assert_eq!((at.0 - last, at.1 - last), (WORD_LATENCY, PAYLOAD_LATENCY + 1), "word, spilled payload");
        // What is left of the payload.
        for _ in 0..20 {
            bench.clock();
        }
        while bench.payload.take().is_some() {}
        let packet = packets::data(rng, 90);
        bench.input.send(packets::frame(&route, &packet));
        bench.run(bench.results.len() + 1);
        let (_, last) = bench.arrivals.pop_front().unwrap();
        assert_eq!(bench.payload.take_timed().unwrap().0 - last, PAYLOAD_LATENCY);
    });
}
