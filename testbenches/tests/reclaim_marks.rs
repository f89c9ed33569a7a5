//! `host::ReclaimMarks`: what was there at a mark is waited for, and nothing that
//! came later.

use std::collections::VecDeque;
use tessera_rtl::host::reclaim_marks::ReclaimMarks;
use tessera_sim::tb;

/// Inputs that bring one in, the input that lets one go, the mark, and how many may
/// overtake one.
type Way = (&'static [&'static str], &'static str, usize, usize);

const WAYS: [Way; 5] = [
    (&["word"], "judged", 0, 0),
    (&["feedback"], "heard", 0, 0),
    (&["sq", "rq"], "read", 0, 4),
    (&["datagram"], "datagram_done", 1, 0),
    (&["lookup", "context", "release"], "said", 2, 2),
];

const STREAMS: [&str; 6] = ["sq", "rq", "datagram", "lookup", "context", "release"];

#[test]
fn what_was_there_at_a_mark_is_waited_for() {
    let design = tessera_testbenches::design("reclaim_marks", ReclaimMarks::new);
    for (entries, leave, bit, overtakers) in WAYS {
        tb::run(&format!("reclaim_marks::{leave}"), &design, |dut, rng| {
            let port = |name: &str| dut.port(name).unwrap();
            let (mark, left, rst) = (port("mark"), port("left"), port("rst"));
            let streams =
                STREAMS.map(|name| [port(&format!("{name}_valid")), port(&format!("{name}_ready"))]);
            let pulses = ["word", "judged", "feedback", "heard", "read", "datagram_done", "said"].map(port);
            let gone = port(leave);
            for input in streams.iter().flatten().chain(&pulses).chain([&mark]) {
                dut.set(*input, 0u64);
            }
            dut.reset(rst, 2);
            // Numbers of those on their way; those on offer are in it already.
            let mut inside: VecDeque<u64> = VecDeque::new();
            let (mut number, mut waits) = (0u64, [false; 6]);
            // The first number behind the mark, and how many have gone since.
            let mut marked: Option<(u64, usize, usize)> = None;
            let (mut over, mut beside) = (0, 0);
            for clock in 0..30_000u64 {
                // Now and then nobody comes or goes for a while.
                let busy = clock / 500 % 4;
                let leaves = !inside.is_empty() && rng.chance([0.3, 0.0, 0.5, 0.9][busy as usize]);
                dut.set(gone, leaves);
                let came = inside.len();
                for name in entries {
                    let comes = inside.len() < 200 && rng.chance([0.3, 0.05, 0.3, 0.1][busy as usize]);
                    let Some(at) = STREAMS.iter().position(|stream| stream == name) else {
                        dut.set(dut.port(name).unwrap(), comes);
                        if comes {
                            inside.push_back(number);
                            number += 1;
                        }
                        continue;
                    };
                    let valid = waits[at] || comes;
                    if valid && !waits[at] {
                        inside.push_back(number);
                        number += 1;
                    }
                    let ready = rng.chance(0.4);
                    dut.set(streams[at][0], valid);
                    dut.set(streams[at][1], ready);
                    waits[at] = valid && !ready;
                }
                assert!(!leaves || came > 0);
                let marks = marked.is_none() && rng.chance(0.02);
                dut.set(mark, u64::from(marks) << bit);
                dut.clock();
                if let Some((end, went, clocks)) = &mut marked {
                    let seen = dut.sampled(left) >> bit & 1;
                    let there = inside.iter().any(|one| one < end);
                    *clocks += 1;
                    if *clocks > 1 && seen == 0 {
                        assert!(!there, "over with one of before the mark inside");
                        beside += u64::from(inside.front().is_some());
                        over += 1;
                        marked = None;
                    } else {
                        *went += usize::from(leaves);
                        assert!(
                            there || *clocks < 3 || *went <= 200 + overtakers + 3,
                            "waits for those behind the mark"
                        );
                    }
                }
                if leaves {
                    inside.pop_front();
                }
                if marks {
                    marked = Some((number, 0, 0));
                }
            }
            assert!(over > 100 && beside > 20, "{over} marks, {beside} with others inside");
        });
    }
}
