//! A frame whose last bytes spill into a beat of their own, and whatever
//! follows it without a gap; heads of frames that the next ones overwrite.

use super::datagrams::{self, Sent};
use super::*;

/// What is due of a frame.
enum Due {
    Message(Box<Packet>, wire::Route),
    Datagram(Sent),
    Wrong,
}

/// Frames of one beat (of up to four narrow ones), of any length and beginning:
/// `frame`, and nothing else of them happens, nor of what came before them.
#[test]
fn short_frames_take_nothing_from_those_before_them() {
    for form in Form::ALL {
        on_both(&format!("rx_parse::short {form:?}"), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            let mut due = Vec::new();
            for round in 0..3 * 64 {
                let mut route = any_route_in(form, rng);
                if round % 3 == 2 {
                    (route.dst_endpoint, route.qkey) = (DATAGRAM, DATAGRAM_QKEY);
                    let payload = rng.bytes(1 + round / 3);
                    let immediate = rng.chance(0.5).then_some(7);
                    due.push(Due::Datagram(Sent { route, immediate, payload }));
                } else {
                    let length = if round % 3 == 0 { 1 + round / 3 % 20 } else { rng.range(1..200) as usize };
                    let other = packets::any(rng);
                    let keeps = round % 3 == 0 || matches!(&other.trh, Trh::Data(header) if !header.probe);
                    let packet = if keeps { packets::data(rng, length) } else { other };
                    due.push(Due::Message(Box::new(packet), route));
                }
                bench.input.send(match due.last().unwrap() {
                    Due::Message(packet, route) => packets::frame(route, packet),
                    Due::Datagram(sent) => datagrams::frame(sent),
                    Due::Wrong => unreachable!(),
                });
                // Most often one such frame, sometimes none or several.
                for _ in 0..*rng.pick(&[1, 1, 1, 1, 0, 2, 3]) {
                    let of = any_route(rng);
                    // Four bytes more are of one beat, too, once the tag is out.
                    let beats = if bench.beat == 64 { 1 } else { rng.range(1..5) as usize };
                    let most = beats * bench.beat + of.form().ip_at() - wire::ETH_LEN;
                    let mut short = packets::frame(&of, &packets::data(rng, 200));
                    short.truncate(rng.range(1..most as u64 + 1) as usize);
                    bench.input.send(short);
                    due.push(Due::Wrong);
                }
            }
            bench.run(due.len());
            for (at, due) in due.iter().enumerate() {
                let (arrival, _) = bench.arrivals.pop_front().unwrap();
                let outcome = bench.results.pop_front().unwrap();
                match due {
                    Due::Message(packet, route) => {
                        assert_eq!(outcome, kind(packet), "frame {at}");
                        bench.expect(packet, route, arrival);
                    }
                    Due::Datagram(sent) => {
                        assert_eq!(outcome, "rx_ud", "frame {at}");
                        datagrams::expect(&mut bench, sent, arrival);
                    }
                    Due::Wrong => assert_eq!(outcome, "drop_frame", "frame {at}"),
                }
            }
            bench.expect_nothing_more();
        });
    }
}

/// The shortest frames there are, of one kind and the other, follow each other:
/// each word has the heads of its own frame.
#[test]
fn the_shortest_frames_have_their_own_heads() {
    on_both("rx_parse::shortest", |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let mut due = Vec::new();
        for _ in 0..500 {
            let mut route = any_route(rng);
            if rng.chance(0.7) {
                (route.dst_endpoint, route.qkey) = (DATAGRAM, DATAGRAM_QKEY);
                let length = rng.below(9) as usize;
                let immediate = rng.chance(0.3).then(|| rng.bits(32) as u32);
                let sent = Sent { route, immediate, payload: rng.bytes(length) };
                bench.input.send(datagrams::frame(&sent));
                due.push(Due::Datagram(sent));
            } else {
                let packet = match rng.below(4) {
                    0 => packets::probe(rng),
                    1 => packets::feedback(rng),
                    2 => packets::release(rng),
                    _ => {
                        let length = rng.below(5) as usize;
                        packets::data(rng, length)
                    }
                };
                bench.input.send(packets::frame(&route, &packet));
                due.push(Due::Message(Box::new(packet), route));
            }
        }
        bench.run(due.len());
        for (at, due) in due.iter().enumerate() {
            let (arrival, _) = bench.arrivals.pop_front().unwrap();
            let outcome = bench.results.pop_front().unwrap();
            match due {
                Due::Message(packet, route) => {
                    assert_eq!(outcome, kind(packet), "frame {at}");
                    bench.expect(packet, route, arrival);
                }
                Due::Datagram(sent) => {
                    assert_eq!(outcome, "rx_ud", "frame {at}");
                    datagrams::expect(&mut bench, sent, arrival);
                }
                Due::Wrong => unreachable!(),
            }
        }
        bench.expect_nothing_more();
    });
}
