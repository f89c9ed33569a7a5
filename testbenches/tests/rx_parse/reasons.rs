//! Each wrong counts under its reason, in order, whatever the form.

use super::*;

/// Puts a right ICRC behind a changed frame, whatever it says it is.
fn seal(frame: &mut [u8], form: Form) {
    let end = frame.len() - wire::ICRC_LEN;
    let mut right = frame.to_vec();
    right[form.ip_at()] = right[form.ip_at()] & 0xF | if form.v6 { 0x60 } else { 0x40 };
    let crc = tessera_abi::icrc::rocev2(&right[form.ip_at()..end]);
    frame[end..].copy_from_slice(&crc);
}

/// A way to spoil a DATA frame of some payload, and what it then is; whether it
/// is one of IPv4 or IPv6 alone.
type Spoil = (&'static str, &'static str, Option<bool>, fn(&mut Vec<u8>, &mut Rng, Form));

const SPOILS: &[Spoil] = &[
    ("drop_not_ours", "mac", None, |f, rng, _| f[rng.below(6) as usize] ^= 1 << rng.below(8)),
    ("drop_not_ours", "ethertype", None, |f, rng, form| {
        f[form.ip_at() - 2 + rng.below(2) as usize] ^= 1 << rng.below(8)
    }),
    ("drop_not_ours", "vlan", None, |f, _, form| {
        if form.tagged {
            f[15] ^= 0x40;
        } else {
            f[0] ^= 4;
        }
    }),
    ("drop_not_ours", "version", None, |f, rng, form| f[form.ip_at()] ^= 0x10 << rng.below(4)),
    ("drop_not_ours", "protocol", None, |f, rng, form| {
        f[form.ip_at() + if form.v6 { 6 } else { 9 }] ^= 1 << rng.below(8)
    }),
    ("drop_not_ours", "address", None, |f, rng, form| {
        f[form.udp_at() - 1 - rng.below(if form.v6 { 16 } else { 4 }) as usize] ^= 1 << rng.below(8)
    }),
    ("drop_not_ours", "port", None, |f, rng, form| {
        f[form.udp_at() + 2 + rng.below(2) as usize] ^= 1 << rng.below(8)
    }),
    ("drop_ip_header", "options", Some(false), |f, rng, form| f[form.ip_at()] ^= 1 << rng.below(4)),
    ("drop_ip_header", "more fragments", Some(false), |f, _, form| f[form.ip_at() + 6] ^= 0x20),
    ("drop_ip_header", "offset", Some(false), |f, rng, form| {
        let bit = rng.below(13);
        f[form.ip_at() + 7 - (bit / 8) as usize] ^= 1 << (bit % 8);
    }),
    ("drop_ip_header", "multicast", Some(false), |f, rng, form| {
        f[form.ip_at() + 12] = rng.range(224..240) as u8
    }),
    ("drop_ip_header", "unspecified", Some(false), |f, _, form| f[form.ip_at() + 12..][..4].fill(0)),
    ("drop_ip_header", "broadcast", Some(false), |f, _, form| f[form.ip_at() + 12..][..4].fill(255)),
    ("drop_ip_header", "extension", Some(true), |f, rng, form| {
        f[form.ip_at() + 6] = *rng.pick(&wire::IPV6_EXTENSIONS)
    }),
    ("drop_ip_header", "multicast", Some(true), |f, _, form| f[form.ip_at() + 8] = 0xFF),
    ("drop_ip_header", "unspecified", Some(true), |f, _, form| f[form.ip_at() + 8..][..16].fill(0)),
    ("drop_ip_header", "mapped", Some(true), |f, rng, form| {
        let v4 = rng.bytes(4).try_into().unwrap();
        f[form.ip_at() + 8..][..16].copy_from_slice(&wire::ipv4_gid(v4));
    }),
    ("drop_length", "ip length", None, |f, rng, form| {
        f[form.ip_at() + if form.v6 { 4 } else { 2 } + rng.below(2) as usize] ^= 1 << rng.below(8)
    }),
    ("drop_length", "udp length", None, |f, rng, form| {
        f[form.udp_at() + 4 + rng.below(2) as usize] ^= 1 << rng.below(8)
    }),
    ("drop_cnp", "cnp", None, |f, _, form| f[form.bth_at()] = wire::OPCODE_CNP),
    ("drop_bth", "opcode", None, |f, rng, form| {
        if f[form.bth_at()] != wire::OPCODE_CNP {
            f[form.bth_at()] = *rng.pick(&[0x04, 0x24, 0x60, 0x66, 0x74, 0xE4]);
        }
    }),
    ("drop_endpoint", "immediate", None, |f, _, form| {
        if f[form.bth_at()] == wire::OPCODE_UD_SEND {
            f[form.bth_at()] = wire::OPCODE_UD_SEND_IMM;
        }
    }),
    ("drop_bth", "transport version", None, |f, rng, form| f[form.bth_at() + 1] ^= 1 << rng.below(4)),
    ("drop_p_key", "partition", None, |f, rng, form| {
        let bit = rng.below(15);
        f[form.bth_at() + 3 - (bit / 8) as usize] ^= 1 << (bit % 8);
    }),
    ("drop_endpoint", "endpoint", None, |f, rng, form| {
        f[form.bth_at() + 5 + rng.below(3) as usize] ^= 1 << rng.below(8)
    }),
    ("drop_q_key", "q_key", None, |f, rng, form| {
        f[form.deth_at() + rng.below(4) as usize] ^= 1 << rng.below(8)
    }),
    ("drop_trh", "version", None, |f, rng, form| f[form.trh_at()] ^= 0x10 << rng.below(4)),
    ("drop_trh", "type", None, |f, rng, form| {
        f[form.trh_at()] = f[form.trh_at()] & 0xF0 | *rng.pick(&[0, 5, 6, 8, 15])
    }),
    ("drop_fields", "payload size", None, |f, rng, form| {
        let at = form.trh_at() + 3;
        f[at] = f[at] & 0xF | *rng.pick(&[0, 0x70, 0xD0, 0xF0])
    }),
    ("drop_fields", "pad", None, |f, rng, form| f[form.bth_at() + 1] ^= *rng.pick(&[0x10, 0x20, 0x30])),
    ("drop_fields", "length", None, |f, _, form| {
        // One packet of one byte more: another last payload length.
        let at = form.trh_at() + 12;
        let length = u32::from_be_bytes(f[at..at + 4].try_into().unwrap());
        f[at..at + 4].copy_from_slice(&(length + 1).to_be_bytes());
    }),
    ("drop_fields", "index", None, |f, _, form| f[form.trh_at() + 8..][..3].fill(0xFF)),
    ("drop_fields", "count", None, |f, _, form| {
        let at = form.trh_at();
        f[at + 3] = f[at + 3] & 0xF | 0x80;
        f[at + 12..at + 16].fill(0xFF);
    }),
    ("drop_fields", "a probe with payload", None, |f, _, form| {
        let at = form.trh_at();
        if f[at] & 0xF == wire::TYPE_DATA {
            f[at] ^= wire::TYPE_DATA ^ wire::TYPE_PROBE;
        }
    }),
];

/// A DATA packet that is the only one of its message, with a payload that a
/// byte more would still fit.
fn spoilable(rng: &mut Rng) -> Packet {
    let length = rng.range(1..250) as usize;
    let mut packet = packets::data(rng, length);
    let Trh::Data(header) = &mut packet.trh else { unreachable!() };
    (header.index, header.length) = (0, length as u32);
    packet
}

fn precedence(outcome: &str) -> usize {
    OUTCOMES.iter().position(|name| *name == outcome).unwrap()
}

/// RX-1, RX-3 .. RX-6: each wrong counts under its reason, of two wrongs the
/// first; between them good packets pass untouched.
#[test]
fn one_reason_is_counted_in_order() {
    on_both("rx_parse::reasons", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let mut due: Vec<(&str, String)> = Vec::new();
        let mut good = Vec::new();
        let mut spoil =
            |bench: &mut Bench, rng: &mut Rng, first: &Spoil, second: Option<&Spoil>, broken: bool| {
                let kinds = [first.2, second.and_then(|second| second.2)];
                let names = [first.1, second.map_or("", |second| second.1)];
                // Behind an extension header nobody looks for a port.
                let blind = names.contains(&"extension") && names.contains(&"port");
                // Two spoils of one byte, or of one IP and the other, are none.
                let one_byte = names.contains(&"extension") && names.contains(&"protocol");
                if blind || one_byte || matches!(kinds, [Some(a), Some(b)] if a != b) {
                    return;
                }
                let packet = spoilable(rng);
                let mut form = packets::any_form(rng);
                form.v6 = kinds[0].or(kinds[1]).unwrap_or(form.v6);
                let mut frame = packets::frame(&packets::route_in(form, &THERE, &HERE, 3, 4), &packet);
                let mut outcome = first.0;
                first.3(&mut frame, rng, form);
                if let Some(second) = second {
                    second.3(&mut frame, rng, form);
                    outcome = OUTCOMES[precedence(outcome).min(precedence(second.0))];
                }
                seal(&mut frame, form);
                if broken {
                    let at = frame.len() - 1 - rng.below(4) as usize;
                    frame[at] ^= 1 << rng.below(8);
                    outcome = OUTCOMES[precedence(outcome).min(precedence("drop_icrc"))];
                }
                due.push((outcome, format!("{} {:?} broken {broken}", first.1, second.map(|s| s.1))));
                bench.input.send(frame);
                let (packet, route) = (packets::any(rng), any_route(rng));
                bench.input.send(packets::frame(&route, &packet));
                due.push((kind(&packet), String::new()));
                good.push((packet, route));
            };
        for first in SPOILS {
            for _ in 0..8 {
                spoil(&mut bench, rng, first, None, false);
            }
            spoil(&mut bench, rng, first, None, true);
            for second in SPOILS {
                if first.0 != second.0 {
                    spoil(&mut bench, rng, first, Some(second), false);
                }
            }
        }
        bench.run(due.len());
        let mut good = good.into_iter();
        for (outcome, what) in due {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            assert_eq!(bench.results.pop_front().unwrap(), outcome, "{what}");
            if what.is_empty() {
                let (packet, route) = good.next().unwrap();
                bench.expect(&packet, &route, arrival);
            }
        }
        bench.expect_nothing_more();
    });
}

/// RX-4: what another RoCE stack fills in as it likes has no meaning here: the
/// UDP source port and checksum, PSN, the requests for an event, for migration
/// and for an acknowledgement, the identification of IPv4.
#[test]
fn what_a_software_peer_chooses_is_ignored() {
    on_both("rx_parse::peers", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let mut sent = Vec::new();
        for _ in 0..300 {
            let (packet, route) = (packets::any(rng), any_route(rng));
            let form = route.form();
            let mut frame = packets::frame(&route, &packet);
            let (ip, udp, bth) = (form.ip_at(), form.udp_at(), form.bth_at());
            frame[udp..][..2].copy_from_slice(&rng.bytes(2));
            frame[udp + 6..][..2].copy_from_slice(&rng.bytes(2));
            frame[bth + 1] ^= (rng.bits(2) as u8) << 6;
            frame[bth + 8] ^= (rng.bits(1) as u8) << 7;
            frame[bth + 9..][..3].copy_from_slice(&rng.bytes(3));
            if !form.v6 {
                frame[ip + 4..][..2].copy_from_slice(&rng.bytes(2));
            }
            seal(&mut frame, form);
            bench.input.send(frame);
            sent.push((packet, route));
        }
        bench.run(sent.len());
        for (packet, route) in sent {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            assert_eq!(bench.results.pop_front().unwrap(), kind(&packet));
            bench.expect(&packet, &route, arrival);
        }
        bench.expect_nothing_more();
    });
}

/// RX-3: a frame to another station is not ours, whichever bit of its addresses or
/// its port is the other.
#[test]
fn every_bit_of_where_a_frame_goes_counts() {
    on_both("rx_parse::addresses", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let mut sent = 0;
        for form in Form::ALL {
            let address = form.udp_at() - if form.v6 { 16 } else { 4 };
            let port = form.udp_at() + 2;
            for byte in (0..6).chain(address..form.udp_at()).chain(port..port + 2) {
                for bit in 0..8 {
                    let route = packets::route_in(form, &THERE, &HERE, 0, 0);
                    let mut frame = packets::frame(&route, &packets::data(rng, 9));
                    frame[byte] ^= 1 << bit;
                    seal(&mut frame, form);
                    bench.input.send(frame);
                    sent += 1;
                }
            }
        }
        bench.run(sent);
        for at in 0..sent {
            assert_eq!(bench.results.pop_front(), Some("drop_not_ours"), "frame {at}");
        }
        bench.expect_nothing_more();
    });
}
