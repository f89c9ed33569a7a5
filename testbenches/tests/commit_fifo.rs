//! `stream::CommitFifo`: what is committed comes out, what is not does not.

use std::collections::VecDeque;
use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::CommitFifo;
use tessera_sim::tb::{self, Agent, Pattern, StreamMonitor};
use tessera_sim::verilator::Design;

const DEPTH_LOG2: usize = 4;
/// Clocks from a commit to the word's offer when the FIFO is empty.
const LATENCY: u64 = 2;

fn design() -> Design {
    tessera_testbenches::design("commit_fifo", || CommitFifo::<Bits<40>, { DEPTH_LOG2 + 1 }>::new(DEPTH_LOG2))
}

#[test]
fn committed_words_come_out_in_order() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("commit_fifo::order {idle:?} {stall:?}"), &design, |dut, rng| {
            let port = |name: &str| dut.port(name).unwrap();
            let (valid, data, commit, rollback, room) =
                (port("in_valid"), port("in_data"), port("commit"), port("rollback"), port("room"));
            let rst = port("rst");
            let mut out = StreamMonitor::new(dut, "out", stall, rng).unwrap();
            let mut gate = idle.gate(rng.fork());
            [valid, commit, rollback].iter().for_each(|port| dut.set(*port, 0u64));
            dut.reset(rst, 2);
            dut.clock_by(2);
            let (mut open, mut due): (Vec<u64>, VecDeque<u64>) = Default::default();
            let (mut total, mut fullest, mut promised) = (0, 0usize, 0);
            for _ in 0..6000 {
                dut.settle();
                // Room is a promise for this word and the next one.
                promised = if dut.get(room) == 1 { 2 } else { u64::saturating_sub(promised, 1) };
                let put = promised > 0 && gate.is_open();
                let word = rng.bits(40);
                let (end, good) = (rng.chance(0.2), rng.chance(0.6));
                dut.set(valid, put);
                dut.set(data, word);
                dut.set(commit, end && good);
                dut.set(rollback, end && !good);
                out.drive(dut);
                dut.clock();
                out.sample(dut);
                if put {
                    open.push(word);
                }
                if end {
                    if good {
                        total += open.len();
                        due.extend(open.drain(..));
                    }
                    open.clear();
                }
                while let Some(transfer) = out.take() {
                    assert_eq!(Some(transfer.word.0[0]), due.pop_front());
                }
                fullest = fullest.max(due.len() + open.len());
                // A frame that outgrows the FIFO is given up, as users do.
                if open.len() > 12 {
                    dut.set(valid, 0u64);
                    dut.set(commit, 0u64);
                    dut.set(rollback, 1u64);
                    out.drive(dut);
                    dut.clock();
                    out.sample(dut);
                    open.clear();
                }
            }
            [valid, commit, rollback].iter().for_each(|port| dut.set(*port, 0u64));
            for _ in 0..200 {
                out.drive(dut);
                dut.clock();
                out.sample(dut);
            }
            while let Some(transfer) = out.take() {
                assert_eq!(Some(transfer.word.0[0]), due.pop_front());
            }
            assert!(due.is_empty(), "{} committed words stayed inside", due.len());
            assert!(total > 300 && fullest <= 1 << DEPTH_LOG2, "{total} words, {fullest} at once");
        });
    }
}

#[test]
fn a_commit_shows_two_clocks_later() {
    tb::run("commit_fifo::latency", &design(), |dut, _| {
        let port = |name: &str| dut.port(name).unwrap();
        let (valid, commit, rst) = (port("in_valid"), port("commit"), port("rst"));
        let (out_valid, out_ready, rollback) = (port("out_valid"), port("out_ready"), port("rollback"));
        [valid, commit, rollback].iter().for_each(|port| dut.set(*port, 0u64));
        dut.set(out_ready, 1u64);
        dut.reset(rst, 2);
        dut.set(valid, 1u64);
        dut.clock_by(5);
        assert_eq!(dut.get(out_valid), 0, "nothing is committed");
        dut.set(commit, 1u64);
        dut.clock();
        dut.set(commit, 0u64);
        dut.set(valid, 0u64);
        for clock in 1..LATENCY + 8 {
            dut.clock();
            let expected = (LATENCY..LATENCY + 6).contains(&clock);
            assert_eq!(dut.sampled(out_valid) == 1, expected, "clock {clock}");
        }
    });
}
