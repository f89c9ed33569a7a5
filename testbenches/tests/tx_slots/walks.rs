//! TX-7, TX-8: no message's retransmissions are in the way of another's.

use crate::bench::{run, Bench, Feedback, Packet};
use crate::recovery::{all_sent_of, nack};
use crate::sending::complete;

/// Messages of so many packets, all sent, all settled, none of which draws a PROBE.
fn settled(bench: &mut Bench, counts: &[u64]) -> Vec<Packet> {
    bench.set("rto", 5000);
    bench.set("guard", 5000);
    let packets = counts.iter().map(|&count| all_sent_of(bench, count)).collect();
    bench.set("guard", 4);
    packets
}

/// The index of the next retransmission of `packet`'s message, which must come within so
/// many clocks.
#[track_caller]
fn again_within(bench: &mut Bench, packet: &Packet, clocks: u64) -> u64 {
    let seen = bench.packets.len();
    let mut index = None;
    let came = bench.until(clocks, |bench| {
        let own = |p: &&Packet| p.entry == packet.entry && !p.probe;
        index = bench.packets.range(seen..).find(own).map(|p| p.index);
        index.is_some()
    });
    assert!(came, "nothing of it in {clocks} clocks, {} packets of the others", bench.packets.len() - seen);
    index.unwrap()
}

fn over(bench: &mut Bench, packets: &[Packet]) {
    for packet in packets {
        bench.answer(packet, complete(600));
        bench.completion(400);
    }
    bench.packets.clear();
    bench.at_rest();
}

/// A peer that asks for the same packets faster than they can go: each NACK is new, and
/// each brings back what its last one has just brought.
//= TX-8 test
#[test]
fn a_flood_of_nacks_for_one_block_starves_nobody() {
    run("tx_nack_flood", |bench| {
        let packets = settled(bench, &[600; 4]);
        let (greedy, others) = (packets[0], &packets[1..]);
        // Sixteen packets overtaken by the next one, in less time than they take.
        bench.flood_every = 30;
        for sequence in 2..258 {
            bench.flood(&greedy, nack(sequence, 0, 17, [1 << 16, 0, 0, 0]));
        }
        bench.clocks(1000);
        assert!(bench.packets.len() > 50 && bench.packets.iter().all(|packet| packet.index < 16));
        for round in 0..4 {
            for packet in others {
                let lost = 100 + round;
                let mut bitmap = [u64::MAX; 4];
                bitmap[lost as usize / 64] &= !(1 << (lost % 64));
                bench.answer(packet, nack(2 + round, 256, 512, bitmap));
                assert_eq!(again_within(bench, packet, 400), 256 + lost);
            }
        }
        bench.dry();
        bench.clocks(1000);
        over(bench, &packets);
    });
}

/// A peer that has lost, or says so, every block of its message: the places in the
/// queue are not all its own.
//= TX-7 test
#[test]
fn a_flood_of_nacks_for_every_block_leaves_places() {
    run("tx_nack_blocks", |bench| {
        let packets = settled(bench, &[4000, 600]);
        let (greedy, other) = (packets[0], packets[1]);
        bench.flood_every = 30;
        for sequence in 2..258 {
            bench.flood(
                &greedy,
                Feedback { grant: 4000, ..nack(sequence, sequence % 15 * 256, 4000, [0; 4]) },
            );
        }
        bench.clocks(1000);
        assert!(bench.event("nack_overflow") > 0);
        for sequence in 2..6 {
            bench.answer(&other, nack(sequence, 0, 600, [!(1 << sequence), u64::MAX, u64::MAX, u64::MAX]));
            assert_eq!(again_within(bench, &other, 1000), sequence);
        }
        bench.dry();
        bench.clocks(5000);
        bench.answer(&greedy, complete(4000));
        bench.completion(400);
        over(bench, &[other]);
    });
}

/// Spec 7, 3: where one message has lost two blocks, what another has lost is sent
/// again at once; what both have lost, in turns.
//= §7.3 test
#[test]
fn one_messages_loss_does_not_hold_another() {
    run("tx_one_loss", |bench| {
        let packets = settled(bench, &[600; 2]);
        let (lossy, other) = (packets[0], packets[1]);
        bench.answer(&lossy, nack(2, 0, 600, [0; 4]));
        bench.answer(&lossy, nack(3, 256, 600, [0; 4]));
        bench.clocks(100);
        bench.answer(&other, nack(2, 0, 256, [u64::MAX, !0b11, u64::MAX, u64::MAX]));
        assert_eq!(again_within(bench, &other, 2 * 16 * 6 + 60), 64);
        assert!(bench.until(6000, |bench| bench.packets.len() == 514), "{}", bench.packets.len());
        over(bench, &packets);
    });
}
