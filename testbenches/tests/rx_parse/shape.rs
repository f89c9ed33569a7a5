//! Frames out of shape, and bits flipped, in every form.

use super::*;
use tessera_abi::params::MAX_UNTAGGED_FRAME;

/// Makes the lengths in the headers agree with the frame's, and the ICRC right.
fn agree(frame: &mut [u8], form: Form) {
    let (ip, udp) = ((frame.len() - form.ip_at()) as u16, (frame.len() - form.udp_at()) as u16);
    let (at, said) = if form.v6 { (form.ip_at() + 4, udp) } else { (form.ip_at() + 2, ip) };
    frame[at..at + 2].copy_from_slice(&said.to_be_bytes());
    frame[form.udp_at() + 4..][..2].copy_from_slice(&udp.to_be_bytes());
    wire::reseal(frame);
}

/// Frames that are too short, too long, cut, or marked by the MAC.
#[test]
fn frames_out_of_shape_are_dropped() {
    for form in Form::ALL {
        on_both(&format!("rx_parse::shape {form:?}"), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            let route = packets::route_in(form, &THERE, &HERE, 0, 0);
            let least = form.trh_at() + wire::ICRC_LEN;
            let mut due = Vec::new();
            for len in 1..least + 64 {
                let mut frame = packets::frame(&route, &packets::data(rng, 200));
                frame.truncate(len);
                let outcome = match len {
                    _ if len < least => "drop_frame",
                    _ if len < least + wire::TRH_DATA_LEN => "drop_trh",
                    // The TRH is whole, and contradicts the frame.
                    _ => "drop_fields",
                };
                if len >= least {
                    agree(&mut frame, form);
                }
                due.push((outcome, len));
                bench.input.send(frame);
            }
            for len in least..least + 74 {
                let mut frame = packets::frame(&route, &packets::feedback(rng));
                frame.resize(len, 0);
                agree(&mut frame, form);
                let whole = len >= least + wire::TRH_FEEDBACK_LEN;
                due.push((if whole { "rx_feedback" } else { "drop_trh" }, len));
                bench.input.send(frame);
            }
            let most = MAX_UNTAGGED_FRAME + form.ip_at() - wire::ETH_LEN;
            for len in [most + 1, most + 2, most + 4, most + 64, 8191, 8192, 8193, 9000, 16_384, 20_000] {
                let mut frame = packets::frame(&route, &packets::data(rng, 4096));
                frame.resize(len, 0);
                agree(&mut frame, form);
                due.push(("drop_frame", len));
                bench.input.send(frame);
            }
            if !form.v6 {
                // Shorter than the longest there is, longer than any of its form.
                let mut frame = packets::frame(&route, &packets::data(rng, 4096));
                frame.resize(most, 0);
                agree(&mut frame, form);
                due.push(("drop_fields", most));
                bench.input.send(frame);
            }
            for _ in 0..20 {
                let packet = packets::any(rng);
                bench.input.send_with_user(packets::frame(&route, &packet), 1u64);
                due.push(("drop_frame", 0));
            }
            let packet = packets::data(rng, 4096);
            bench.input.send(packets::frame(&route, &packet));
            due.push(("rx_data", 0));
            bench.run(due.len());
            for (outcome, len) in &due {
                let (arrival, _) = bench.arrivals.pop_front().unwrap();
                assert_eq!(bench.results.pop_front().unwrap(), *outcome, "{len} bytes");
                if *outcome == "rx_feedback" {
                    assert!(bench.feedback.take().is_some());
                }
                if *outcome == "rx_data" {
                    bench.expect(&packet, &route, arrival);
                }
            }
            bench.expect_nothing_more();
        });
    }
}

/// Whether a bit may change on the way without anybody noticing.
fn is_free(form: Form, bit: usize) -> bool {
    let (ip, udp, bth) = (form.ip_at(), form.udp_at(), form.bth_at());
    let byte = bit / 8;
    // Source MAC, UDP checksum, BTH byte 4.
    if (6..12).contains(&byte) || byte == udp + 6 || byte == udp + 7 || byte == bth + 4 {
        return true;
    }
    // Priority and drop eligibility of the tag.
    if form.tagged && byte == 14 && bit % 8 >= 4 {
        return true;
    }
    if form.v6 {
        // Traffic class, flow label, hop limit.
        (byte == ip && bit % 8 < 4) || [ip + 1, ip + 2, ip + 3, ip + 7].contains(&byte)
    } else {
        // TOS, TTL, header checksum.
        [ip + 1, ip + 8, ip + 10, ip + 11].contains(&byte)
    }
}

/// RX-2: any flipped bit under the ICRC drops the frame and changes nothing;
/// bits that routers may change do not matter.
#[test]
fn any_flipped_bit_drops_the_frame() {
    for form in Form::ALL {
        on_both(&format!("rx_parse::flip {form:?}"), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            let route = packets::route_in(form, &THERE, &HERE, 9, 77);
            let mut due = Vec::new();
            let mut flip = |bench: &mut Bench, packet: &Packet, bit: usize| {
                let mut frame = packets::frame(&route, packet);
                frame[bit / 8] ^= 1 << (bit % 8);
                bench.input.send(frame);
                due.push((is_free(form, bit), bit, kind(packet)));
            };
            let small = packets::data(rng, 7);
            let answer = packets::feedback(rng);
            for packet in [&small, &answer] {
                (0..8 * packets::frame(&route, packet).len()).for_each(|bit| flip(&mut bench, packet, bit));
            }
            let long = packets::data(rng, 1021);
            let bits = 8 * packets::frame(&route, &long).len() as u64;
            for _ in 0..500 {
                flip(&mut bench, &long, rng.below(bits) as usize);
            }
            bench.run(due.len());
            let mut words = 0;
            for (free, bit, kind) in due {
                let result = bench.results.pop_front().unwrap();
                if free {
                    assert_eq!(result, kind, "bit {bit}");
                    words += 1;
                } else {
                    assert!(result.starts_with("drop_"), "bit {bit} of a frame was {result}");
                }
            }
            assert_eq!(bench.data.total() + bench.feedback.total(), words);
        });
    }
}
