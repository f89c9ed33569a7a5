//! `tx::Flight`: packets on their way, counted clock by clock; operations of one slot as
//! close behind each other as they come.

use std::collections::VecDeque;
use tessera_rtl::tx::Flight;
use tessera_sim::tb;

const SLOTS: usize = 1 << 4;

/// A slot as it stands after a clock.
#[derive(Clone, Copy, Default)]
struct Slot {
    count: u64,
    ended: bool,
    /// The clock in which its last packet's leaving is noted, if that was the last thing to change the count.
    left: Option<u64>,
}

#[test]
fn every_packet_is_counted_once() {
    let design = tessera_testbenches::design("flight", || Flight::new(4));
    tb::run("flight::counted", &design, |dut, rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let [clear, op_slot, up, end, down] = ["clear", "op_slot", "op_up", "op_end", "op_down"].map(port);
        let [landed, landed_slot, now, query] = ["landed", "landed_slot", "now", "query_slot"].map(port);
        let [in_flight, landed_at, counted] = ["in_flight", "landed_at", "counted"].map(port);
        let [done, done_slot, clear_slot, rst] = ["done", "done_slot", "clear_slot", "rst"].map(port);
        for input in [clear, up, end, down, landed, now, query] {
            dut.set(input, 0u64);
        }
        dut.reset(rst, 2);
        dut.set(clear, 1u64);
        for slot in 0..SLOTS as u64 {
            dut.set(clear_slot, slot);
            dut.clock();
        }
        dut.set(clear, 0u64);
        let mut slots = [Slot::default(); SLOTS];
        // On their way and not handed in as landed.
        let mut flying = [0u64; SLOTS];
        let mut arrivals: VecDeque<usize> = VecDeque::new();
        // Of the last clocks, the latest first: all slots behind it, the slot changed, the
        // slot asked about, the slot that is done.
        type Clock = ([Slot; SLOTS], Option<usize>, usize, Option<usize>);
        let mut past: VecDeque<Clock> = VecDeque::from(vec![(slots, None, 0, None); 4]);
        let (mut ends, mut asked, mut landings) = (0, 0, 0);
        let mut time = rng.bits(24);
        // What `now` was in each clock; a landing has that of the clock behind it.
        let mut moments = Vec::new();
        for clock in 0..60_000u64 {
            // Now all of one slot, now of two in turn, now of any.
            let among = [1, 2, 3, SLOTS as u64][(clock / 300 % 4) as usize];
            let busy = [0.9, 0.5, 0.1][(clock / 1200 % 3) as usize];
            let slot = rng.below(among) as usize;
            let mut change = None;
            let mut is_done = None;
            let mut one = slots[slot];
            let (mut ups, mut downs, mut closes) = (false, false, false);
            if rng.chance(busy) {
                ups = !one.ended && flying[slot] < 12 && rng.chance(0.6);
                downs = flying[slot] > 0 && rng.chance(0.2);
                closes = !one.ended && rng.chance(0.2);
            }
            dut.set(op_slot, slot as u64);
            dut.set(up, ups);
            dut.set(down, downs);
            dut.set(end, closes);
            let operates = ups | downs | closes;
            if operates {
                one.count = one.count + u64::from(ups) - u64::from(downs);
                one.ended |= closes;
                one.left = None;
                flying[slot] = flying[slot] + u64::from(ups) - u64::from(downs);
                change = Some((slot, one));
            }
            let lands = rng.below(among) as usize;
            let leaves = flying[lands] > u64::from(operates && lands == slot) && rng.chance(0.6);
            dut.set(landed, leaves);
            dut.set(landed_slot, lands as u64);
            let asks = rng.below(among) as usize;
            dut.set(query, asks as u64);
            time = (time + rng.below(3)) & 0xFF_FFFF;
            dut.set(now, time);
            dut.clock();
            moments.push(time);
            if dut.sampled(counted) != 0 {
                assert!(!operates, "goes before an operation");
                let at = arrivals.pop_front().expect("something that landed");
                let mut one = slots[at];
                one.count -= 1;
                one.left = Some(clock + 1);
                landings += 1;
                change = Some((at, one));
            }
            if let Some((at, mut one)) = change {
                if one.ended && one.count == 0 {
                    is_done = Some(at);
                    one.ended = false;
                    ends += 1;
                }
                slots[at] = one;
            }
            if leaves {
                flying[lands] -= 1;
                arrivals.push_back(lands);
            }
            let due = past[2].3;
            assert_eq!(dut.sampled(done) != 0, due.is_some(), "done in clock {clock}");
            if let Some(at) = due {
                assert_eq!(dut.sampled(done_slot), at as u64);
            }
            // Asked two clocks ago: what was so in the clock before, if a packet more is on
            // its way, else one clock earlier.
            let at = past[1].2;
            let known = past[3].0[at];
            let more = past[2].1 == Some(at) && past[2].0[at].count > 0;
            assert_eq!(dut.sampled(in_flight) != 0, known.count > 0 || more, "slot {at} in clock {clock}");
            if known.count == 0 && !more {
                if let Some(left) = known.left {
                    assert_eq!(
                        dut.sampled(landed_at),
                        moments[left as usize],
                        "slot {at} left in clock {clock}"
                    );
                    asked += 1;
                }
            }
            past.pop_back();
            past.push_front((slots, change.map(|(at, _)| at), asks, is_done));
        }
        assert!(ends > 1000 && asked > 1000 && landings > 5000, "{ends} {asked} {landings}");
    });
}
