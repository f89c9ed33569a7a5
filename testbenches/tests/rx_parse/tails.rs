//! A frame whose last bytes spill into a beat of their own, and whatever
//! follows it without a gap.

use super::datagrams::{self, Sent};
use super::*;

/// What is due of a frame.
enum Due {
    Message(Box<Packet>, wire::Route),
    Datagram(Sent),
    Wrong,
}

/// Frames of one beat, of any length and beginning: `frame`, and nothing else
/// of them happens, nor of what came before them.
#[test]
fn frames_of_one_beat_take_nothing_from_those_before_them() {
    let design = design();
    for form in Form::ALL {
        tb::run(&format!("rx_parse::one_beat {form:?}"), &design, |dut, rng| {
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
                    due.push(Due::Message(Box::new(packets::data(rng, length)), route));
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
                    let most = 64 + of.form().ip_at() - wire::ETH_LEN;
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
                        assert_eq!(outcome, "rx_data", "frame {at}");
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
