//! `wire::RxParse` and `wire::narrow::NarrowRxParse`: what is accepted comes out
//! whole, what is wrong does nothing but count one reason.
//!
//! Both have one contract but for the beat, so every test runs on both.

mod bench;
mod datagrams;
mod reasons;
mod shape;
mod tails;

use bench::*;
use tessera_abi::params::{Config, MAX_PACKETS};
use tessera_abi::wire::{self, Form, Trh};
use tessera_sim::tb::{self, cycle, Pattern, Rng};
use tessera_sim::verilator::Dut;
use tessera_testbenches::packets::{self, Packet, HERE, THERE};

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

/// RS-1. Whenever a reset comes on an answer's way, it is not seen afterwards, and the next one comes out whole.
#[test]
fn a_reset_leaves_no_answer() {
    on_both("rx_parse::reset", |dut, rng| {
        let route = packets::route_in(Form::ALL[0], &THERE, &HERE, 0, 0);
        for clocks in 0..30 {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            bench.input.send(packets::frame(&route, &packets::feedback(rng)));
            while bench.arrivals.is_empty() {
                bench.clock();
            }
            for _ in 0..clocks {
                bench.clock();
            }
            // What would still come is kept to be seen.
            let ready = bench.dut.port("feedback_ready").unwrap();
            bench.dut.set(ready, 0u64);
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            bench.run(0);
            bench.expect_nothing_more();
            let packet = packets::feedback(rng);
            bench.input.send(packets::frame(&route, &packet));
            bench.run(1);
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            assert_eq!(bench.results.pop_front().unwrap(), "rx_feedback", "{clocks} clocks");
            bench.expect(&packet, &route, arrival);
            bench.expect_nothing_more();
        }
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
        // At once, while what the memory holds is still being cleared, from the first on; and then.
        let ready = bench.dut.port("ready").unwrap();
        assert!(!bench.dut.is_high(ready));
        ask(&mut bench, rng, numbers[255], "drop_endpoint");
        tessera_testbenches::host::cleared(bench.dut);
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

/// Decision 0069: a NIC without IPv6 and tags knows neither EtherType; of a GID it keeps the IPv4 address, of a
/// round nothing.
#[test]
fn forms_that_are_left_out_are_not_ours() {
    for beat in [64, 16] {
        let config = Config { ipv6: false, vlan: false, rounds: false, ..small() };
        tb::run(&format!("rx_parse::left_out {beat}"), &design_of(beat, &config), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            for form in Form::ALL {
                for flags in [0, wire::flag::ROUND] {
                    let mut packet = packets::data(rng, 9);
                    if let Trh::Data(header) = &mut packet.trh {
                        header.flags = flags;
                        header.round = 77;
                    }
                    let route = packets::route_in(form, &THERE, &HERE, 0, 0);
                    bench.input.send(packets::frame(&route, &packet));
                    bench.results.clear();
                    bench.run(1);
                    let known = form == Form::ALL[0];
                    let outcome = if known { "rx_data" } else { "drop_not_ours" };
                    assert_eq!(bench.results.pop_front(), Some(outcome), "{form:?}");
                    while bench.payload.take().is_some() {}
                    let Some(word) = bench.data.take() else { continue };
                    let gid = [word.word.bits(65, 64), word.word.bits(129, 64)];
                    assert_eq!(gid, [u64::from(u32::from_be_bytes(THERE.ip)), 0]);
                    let get = |name: &str| bench.data.shape().get(&word.word, name);
                    assert_eq!((get("flags"), get("round")), (0, 0));
                }
            }
        });
    }
}

/// Decision 0084: to a NIC without datagrams every endpoint is one of messages, whatever its entry says, and no GRH
/// area comes in front of a payload.
#[test]
fn without_datagrams_every_endpoint_is_of_messages() {
    for beat in [64, 16] {
        let config = Config { datagrams: false, ..small() };
        tb::run(&format!("rx_parse::no_datagrams {beat}"), &design_of(beat, &config), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            for _ in 0..200 {
                let (packet, mut route) = (packets::any(rng), any_route(rng));
                if rng.chance(0.5) {
                    (route.dst_endpoint, route.qkey) = (bench::DATAGRAM, bench::DATAGRAM_QKEY);
                }
                let immediate = rng.chance(0.5).then_some(7);
                let other = wire::Route {
                    dst_endpoint: bench::DATAGRAM,
                    qkey: bench::DATAGRAM_QKEY,
                    ..any_route(rng)
                };
                bench.input.send(packets::datagram(&other, immediate, &vec![0; packets::any_length(rng)]));
                bench.input.send(packets::frame(&route, &packet));
                bench.results.clear();
                bench.run(2);
                let outcome = if immediate.is_some() { "drop_endpoint" } else { "drop_trh" };
                assert_eq!(bench.results.pop_front(), Some(outcome));
                assert_eq!(bench.results.pop_front(), Some(kind(&packet)));
                bench.arrivals.pop_front().unwrap();
                let (arrival, _) = bench.arrivals.pop_front().unwrap();
                bench.expect(&packet, &route, arrival);
                bench.expect_nothing_more();
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

        let packet = packets::feedback(rng);
        bench.input.send(packets::frame(&route, &packet));
        let mut at = 0;
        while at == 0 {
            bench.clock();
            at = bench.feedback.take_timed().map_or(0, |taken| taken.0);
        }
        let (_, last) = bench.arrivals.pop_front().unwrap();
        assert_eq!(at - last, feedback_latency(bench.beat), "answer");
    });
}
