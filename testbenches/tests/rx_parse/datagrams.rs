//! Plain UD: the payload comes out behind its GRH area, and nothing of it is
//! taken for a TRH.

use super::*;

pub struct Sent {
    pub route: wire::Route,
    pub immediate: Option<u32>,
    pub payload: Vec<u8>,
}

fn any_datagram(rng: &mut Rng) -> Sent {
    let mut route = any_route(rng);
    (route.dst_endpoint, route.qkey) = (DATAGRAM, DATAGRAM_QKEY);
    let length = packets::any_length(rng);
    let mut payload = rng.bytes(length);
    if rng.chance(0.3) {
        // One that looks like a packet of the other kind.
        let looks = packets::any(rng);
        let inner = packets::frame(&packets::route(&THERE, &HERE, 0, 0), &looks);
        payload = inner[wire::TRH_AT..inner.len() - wire::ICRC_LEN].to_vec();
        payload.truncate(4096);
    }
    Sent { route, immediate: rng.chance(0.5).then(|| rng.bits(32) as u32), payload }
}

pub fn frame(sent: &Sent) -> Vec<u8> {
    packets::datagram(&sent.route, sent.immediate, &sent.payload)
}

pub fn expect(bench: &mut Bench, sent: &Sent, arrival: u32) {
    let word = bench.data.take().expect("a data word").word;
    let (layout, route) = (&bench.data_layout, &sent.route);
    assert_eq!(layout.bytes(&word, "src_mac"), route.src_mac);
    assert_eq!(layout.bytes(&word, "src_gid"), route.src_gid);
    let flags = if sent.immediate.is_some() { wire::flag::IMM } else { 0 };
    for (name, value) in [
        ("ud", 1),
        ("vlan_valid", route.vlan.is_some().into()),
        ("vlan", route.vlan.map_or(layout.get(&word, "vlan"), u64::from)),
        ("src_endpoint", route.src_endpoint.into()),
        ("endpoint", (route.dst_endpoint & 0xFF).into()),
        ("flags", flags.into()),
        ("imm", sent.immediate.map_or(layout.get(&word, "imm"), u64::from)),
        ("arrival", arrival.into()),
        ("payload_len", sent.payload.len() as u64 + 40),
    ] {
        assert_eq!(layout.get(&word, name), value, "{name} of {:?}", sent.route);
    }
    let bytes = [&wire::grh(&frame(sent)).unwrap()[..], &sent.payload].concat();
    bench.expect_payload(&bytes);
}

/// A packet of one of the two kinds.
enum Either {
    Datagram(Sent),
    Message(Box<Packet>, wire::Route),
}

/// UD-2: whatever the form, lengths and gaps, and between packets of the other
/// kind.
#[test]
fn datagrams_come_out_behind_their_grh() {
    on_both_in_every_pattern("rx_parse::datagrams", |dut, rng, idle, stall| {
        let mut bench = Bench::new(dut, idle, stall, rng);
        let sent: Vec<Either> = (0..200)
            .map(|_| {
                if rng.chance(0.6) {
                    Either::Datagram(any_datagram(rng))
                } else {
                    Either::Message(Box::new(packets::any(rng)), any_route(rng))
                }
            })
            .collect();
        for one in &sent {
            bench.input.send(match one {
                Either::Datagram(sent) => frame(sent),
                Either::Message(packet, route) => packets::frame(route, packet),
            });
        }
        bench.run(sent.len());
        let mut dropped = 0;
        for one in &sent {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            match (bench.results.pop_front().unwrap(), one) {
                ("drop_overflow", _) => dropped += 1,
                (result, Either::Datagram(sent)) => {
                    assert_eq!(result, "rx_ud", "{:?}", sent.route);
                    expect(&mut bench, sent, arrival);
                }
                (result, Either::Message(packet, route)) => {
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

/// UD-2: every length, in every form, with and without immediate.
#[test]
fn every_length_and_place_is_right() {
    on_both("rx_parse::ud_lengths", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for form in Form::ALL {
            for immediate in [None, Some(0x1234_5678)] {
                let sent: Vec<Sent> = (0..140)
                    .map(|length| {
                        let mut route = any_route_in(form, rng);
                        (route.dst_endpoint, route.qkey) = (DATAGRAM, DATAGRAM_QKEY);
                        Sent { route, immediate, payload: rng.bytes(length) }
                    })
                    .collect();
                sent.iter().for_each(|sent| bench.input.send(frame(sent)));
                bench.results.clear();
                bench.run(sent.len());
                for sent in &sent {
                    let (arrival, _) = bench.arrivals.pop_front().unwrap();
                    assert_eq!(bench.results.pop_front().unwrap(), "rx_ud");
                    expect(&mut bench, sent, arrival);
                }
            }
        }
        bench.expect_nothing_more();
    });
}

/// UD-1, UD-2: what is wrong of a datagram, and that a NIC which is not enabled
/// says so last.
#[test]
fn wrong_datagrams_are_dropped() {
    on_both("rx_parse::ud_reasons", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        type Spoil = (&'static str, &'static str, fn(&mut Vec<u8>, Form));
        let spoils: &[Spoil] = &[
            ("rx_ud", "nothing", |_, _| {}),
            ("drop_q_key", "q_key", |f, form| f[form.deth_at()] ^= 1),
            ("drop_endpoint", "number", |f, form| f[form.bth_at() + 5] ^= 1),
            ("drop_bth", "opcode", |f, form| f[form.bth_at()] ^= 2),
            ("drop_fields", "pad of nothing", |f, form| f[form.bth_at() + 1] |= 0x10),
            ("drop_fields", "no room for the immediate", |f, form| {
                f[form.bth_at()] = wire::OPCODE_UD_SEND_IMM
            }),
        ];
        for enabled in [1u64, 0] {
            let enable = bench.dut.port("settings.enable").unwrap();
            bench.dut.set(enable, enabled);
            for form in Form::ALL {
                for (outcome, what, change) in spoils {
                    let mut route = any_route_in(form, rng);
                    (route.dst_endpoint, route.qkey) = (DATAGRAM, DATAGRAM_QKEY);
                    let sent = Sent { route, immediate: None, payload: Vec::new() };
                    let mut bytes = frame(&sent);
                    change(&mut bytes, form);
                    wire::reseal(&mut bytes);
                    bench.input.send(bytes);
                    bench.results.clear();
                    bench.run(1);
                    let (arrival, _) = bench.arrivals.pop_back().unwrap();
                    let right = *outcome == "rx_ud";
                    let due = if right && enabled == 0 { "drop_disabled" } else { outcome };
                    assert_eq!(bench.results.pop_front(), Some(due), "{what} {form:?}");
                    if due == "rx_ud" {
                        expect(&mut bench, &sent, arrival);
                    }
                    bench.expect_nothing_more();
                }
            }
        }
        // 4096 bytes are the most; an endpoint of the other kind wants a TRH.
        let enable = bench.dut.port("settings.enable").unwrap();
        bench.dut.set(enable, 1u64);
        for (length, outcome) in [(4096, "rx_ud"), (4100, "drop_fields")] {
            let mut route = any_route_in(Form::ALL[0], rng);
            (route.dst_endpoint, route.qkey) = (DATAGRAM, DATAGRAM_QKEY);
            let sent = Sent { route, immediate: None, payload: rng.bytes(length) };
            bench.input.send(frame(&sent));
            bench.results.clear();
            bench.run(1);
            assert_eq!(bench.results.pop_front(), Some(outcome), "{length} bytes");
            let (arrival, _) = bench.arrivals.pop_back().unwrap();
            if outcome == "rx_ud" {
                expect(&mut bench, &sent, arrival);
            }
        }
        packets::write_endpoint(bench.dut, DATAGRAM, DATAGRAM_QKEY, true);
        let mut route = any_route_in(Form::ALL[0], rng);
        (route.dst_endpoint, route.qkey) = (DATAGRAM, DATAGRAM_QKEY);
        let sent = Sent { route, immediate: None, payload: vec![0; 100] };
        bench.input.send(frame(&sent));
        bench.results.clear();
        bench.run(1);
        assert_eq!(bench.results.pop_front(), Some("drop_trh"));
        bench.expect_nothing_more();
    });
}

/// UD-1: the kind of an endpoint changes in any clock of a frame to it, which
/// was steered as the one and may not be judged as the other. Of what follows
/// nothing is lost.
//= UD-1 test
#[test]
fn an_endpoint_that_changes_its_kind_takes_no_frame_by_halves() {
    const NUMBER: u32 = 0xAB_CD33;
    for form in [Form::ALL[0], Form::ALL[2]] {
        on_both(&format!("rx_parse::changes {form:?}"), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            let table = bench.dut.port("table_write").unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for (before, length) in [false, true]
                .into_iter()
                .flat_map(|kind| [1, 60, 100, 128, 151, 172, 400].map(move |length| (kind, length)))
            {
                // The longest frame has 9 beats, or 33 narrow ones; its verdict comes 8 clocks later.
                for at in 0..if bench.beat == 64 { 20 } else { 45 } {
                    packets::write_endpoint_of_kind(bench.dut, NUMBER, HERE.qkey, true, before);
                    let mut route = any_route_in(form, rng);
                    (route.dst_endpoint, route.qkey) = (NUMBER, HERE.qkey);
                    let packet = packets::data(rng, length);
                    let bytes = packets::frame(&route, &packet);
                    bench.input.send(bytes.clone());
                    let (datagram, message) = (any_datagram(rng), packets::data(rng, 77));
                    let way = any_route(rng);
                    bench.input.send(frame(&datagram));
                    bench.input.send(packets::frame(&way, &message));
                    let write = packets::endpoint_entry(bench.dut, NUMBER, HERE.qkey, true, !before);
                    for clock in 0..=at {
                        let word = if clock == at { write.0.clone() } else { vec![0; write.0.len()] };
                        bench.dut.set_wide(table, &word);
                        bench.clock();
                    }
                    bench.dut.set_wide(table, &vec![0; write.0.len()]);
                    bench.run(3);
                    let what = format!("{before} before clock {at}, {length} bytes");
                    let (arrival, _) = bench.arrivals.pop_front().unwrap();
                    let outcome = bench.results.pop_front().unwrap();
                    seen.insert((before, outcome));
                    match outcome {
                        "rx_data" => bench.expect(&packet, &route, arrival),
                        "rx_ud" => {
                            let pad = packet.payload.len().next_multiple_of(4) - packet.payload.len();
                            let payload = bytes[form.trh_at()..bytes.len() - pad - wire::ICRC_LEN].to_vec();
                            expect(&mut bench, &Sent { route, immediate: None, payload }, arrival);
                        }
                        outcome => assert_eq!(outcome, "drop_endpoint", "{what}"),
                    }
                    let (arrival, _) = bench.arrivals.pop_front().unwrap();
                    assert_eq!(bench.results.pop_front(), Some("rx_ud"), "{what}");
                    expect(&mut bench, &datagram, arrival);
                    let (arrival, _) = bench.arrivals.pop_front().unwrap();
                    assert_eq!(bench.results.pop_front(), Some("rx_data"), "{what}");
                    bench.expect(&message, &way, arrival);
                    bench.expect_nothing_more();
                }
            }
            let all = [false, true]
                .into_iter()
                .flat_map(|kind| ["rx_data", "rx_ud", "drop_endpoint"].map(move |outcome| (kind, outcome)));
            assert_eq!(seen, all.collect(), "not every moment was met");
        });
    }
}
