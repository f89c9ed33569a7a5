//! What opens a message, and what is refused it: RO-6, RO-11, RO-12, HR-1, WR-1.

use super::*;

#[test]
fn ro_6_every_refusal_in_its_order() {
    tb::run("lookup::refusals", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        assert_eq!(one(&mut bench, 1, flag::EST, rng), Some("no_context"));
        assert_eq!(one(&mut bench, 1, 0, rng), Some("busy_receive"));
        // No block comes before no receive. The input counts from the packet after.
        bench.reference.block_available = false;
        one(&mut bench, 1, flag::EST, rng);
        assert_eq!(one(&mut bench, 1, 0, rng), Some("busy_resources"));
        bench.reference.block_available = true;
        one(&mut bench, 1, flag::EST, rng);
        // Too short: not consumed, and remembered.
        for endpoint in 0..4 {
            bench.post(endpoint, Posted { address: 1, length: 99, entry: 3, area: None });
        }
        let mut long = bench.some_packet(KEY, 1, 0, rng);
        long.set("length", 100);
        bench.offer(long);
        bench.settle();
        assert_eq!(bench.last.event, None);
        assert_eq!(bench.tombstones(), 1);
        assert_eq!(one(&mut bench, 1, 0, rng), Some("finished"));
        // The receive is still there, and exactly long enough for this one.
        let mut fits = bench.some_packet(KEY, 2, 0, rng);
        fits.set("length", 99);
        bench.offer(fits);
        bench.settle();
        assert_eq!(bench.last.event, Some("opened"));
        assert_eq!(bench.tombstones(), 0);
    });
}

//= UD-3 test
#[test]
fn ud_3_a_receive_of_just_its_length_takes_a_datagram() {
    tb::run("lookup::datagrams", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        bench.post(1, Posted { address: 1, length: 99, entry: 3, area: None });
        for (payload, refused) in [(100, true), (99, false), (1, true)] {
            let mut packet = bench.some_packet(KEY, 1, 0, rng);
            for (field, value) in [("ud", 1), ("probe", 0), ("endpoint", 1), ("payload_len", payload)] {
                packet.set(field, value);
            }
            bench.offer(packet);
            bench.settle();
            assert_eq!(bench.last.event, refused.then_some("ud_receive"), "{payload} bytes");
        }
    });
}

//= HR-1 test
//= HR-2 test
#[test]
fn hr_2_an_area_takes_part_of_the_receive() {
    areas("lookup", &SMALL);
}

/// A NIC that lets no host recover needs no room for bits: whatever fits behind the area is taken.
//= HR-1 test
#[test]
fn where_no_host_recovers_an_area_has_room_for_any_number_of_packets() {
    areas("lookup_alone", &BY_ITSELF);
}

fn areas(top: &str, config: &'static Config) {
    tb::run(&format!("{top}::areas"), &design(top, config), |dut, rng| {
        let mut bench = Bench::new(dut, config, TIME_WAIT, START, ALWAYS, rng);
        let mut slot = 0;
        // Packets, length, flags, and what becomes of it: its status, or whether it is host-recovered.
        const HOST: u8 = flag::HOST_RECOVERY;
        let cases = [
            (1, 100, HOST, Ok(0)),
            (256, 1000, HOST, Ok(1)),
            (256, 1000, 0, Ok(0)),
            (257, 1000, HOST, Err(())),
            (257, 1000, 0, Ok(0)),
            (2, 1001, 0, Err(())),
            (2, 1001, HOST, Err(())),
            (300, 5000, HOST | flag::WRITE | flag::IMM, Ok(0)),
        ];
        for (count, length, flags, expected) in cases {
            slot += 1;
            let expected = match expected {
                Ok(_) if !config.host_recovery => Ok(0),
                Err(()) if !config.host_recovery && length <= 1000 => Ok(0),
                expected => expected,
            };
            // One block of bits for chunks of one packet.
            let area = Some((0, 0));
            bench.post(2, Posted { address: 1 << 12, length: 1064, entry: slot as u16, area });
            let mut packet = bench.some_packet((3, 3, slot), 5, flags, rng);
            for (field, value) in [("endpoint", 2), ("count", count), ("length", length), ("denied", 0)] {
                packet.set(field, value);
            }
            bench.offer(packet);
            bench.settle();
            let seen = bench.last.work.as_ref().filter(|work| work.get("verdict") == 1);
            match (expected, seen) {
                (Ok(host), Some(work)) => assert_eq!(work.get("host"), host, "{count} packets"),
                (Err(()), None) => {
                    let answer = bench.last.feedback.as_ref().expect("it is told");
                    assert_eq!(answer.get("status"), tessera_abi::status::Status::Length as u128);
                    // It is still there, for who fits.
                    let mut fits = bench.some_packet((4, 4, slot), 5, 0, rng);
                    for (field, value) in [("endpoint", 2), ("count", 1), ("length", 10)] {
                        fits.set(field, value);
                    }
                    bench.offer(fits);
                    bench.settle();
                    assert_eq!(bench.last.event, Some("opened"));
                }
                other => panic!("{count} packets of {length} bytes: {other:?}"),
            }
        }
    });
}

//= WR-1 test
#[test]
fn wr_1_writes_open_without_a_receive_and_denied_ones_are_barred() {
    tb::run("lookup::writes", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        let mut write = |bench: &mut Bench, slot: u128, flags: u8, denied: u128, payload: bool| {
            let mut packet = bench.some_packet((3, 3, slot), 5, flags | flag::WRITE, rng);
            packet.set("denied", denied);
            packet.set("endpoint", 1);
            if !payload {
                packet.set("payload_len", 0);
            }
            bench.offer(packet);
            bench.settle();
            bench.last.event
        };
        assert_eq!(write(&mut bench, 1, 0, 0, true), Some("opened"));
        // With an immediate a receive is needed, but no room in it.
        assert_eq!(write(&mut bench, 2, flag::IMM, 0, true), Some("busy_receive"));
        bench.post(1, Posted { address: 0, length: 0, entry: 9, area: None });
        assert_eq!(write(&mut bench, 2, flag::IMM, 0, true), Some("opened"));
        assert_eq!(write(&mut bench, 3, flag::IMM, 0, true), Some("busy_receive"), "it was consumed");
        // Not permitted: for good, whatever is posted; it comes before the receive.
        for (slot, payload) in [(4, true), (5, false)] {
            assert_eq!(write(&mut bench, slot, flag::IMM, 1, payload), None);
            assert_eq!(write(&mut bench, slot, flag::IMM, 0, true), Some("finished"));
        }
        assert_eq!(bench.tombstones(), 2);
        // An open one is found, and told that its rights are gone.
        assert_eq!(write(&mut bench, 1, 0, 1, true), None);
        assert_eq!(
            bench.last.work.as_ref().map(|work| (work.get("verdict"), work.get("denied"))),
            Some((0, 1))
        );
        // Without room it is BUSY as others are, and counted as that.
        bench.reference.block_available = false;
        write(&mut bench, 6, flag::EST, 1, true);
        assert_eq!(write(&mut bench, 6, 0, 1, true), Some("busy_resources"));
    });
}

#[test]
fn ro_6_contexts_and_tombstone_places_run_out() {
    tb::run("lookup::places", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 100);
        for slot in 0..17 {
            let packet = bench.some_packet((5, 5, slot), 0, 0, rng);
            bench.offer(packet);
        }
        bench.settle();
        // Places in the tables permitting: sixteen contexts, the 17th waits.
        assert_eq!(bench.reference.events["opened"] + bench.reference.events["busy_conflict"], 16);
        assert!(bench.reference.events["busy_resources"] >= 1);
        let mut slot = 100;
        while bench.reference.tombstones() < SMALL.tombstones {
            for (context, _) in bench.reference.contexts() {
                bench.retire(context, true, 0, true);
            }
            bench.settle();
            for _ in 0..4 {
                let packet = bench.some_packet((6, 6, slot), 0, 0, rng);
                slot += 1;
                bench.offer(packet);
            }
            bench.settle();
            assert!(slot < 1000, "the tombstone limit is never met");
            assert!(bench.reference.tombstones() + bench.reference.contexts().len() <= SMALL.tombstones);
        }
        let refused = bench.reference.events["busy_resources"];
        let packet = bench.some_packet((6, 6, 2000), 0, 0, rng);
        bench.offer(packet);
        bench.settle();
        let conflict = bench.last.event == Some("busy_conflict");
        assert!(conflict || bench.reference.events["busy_resources"] == refused + 1);
        bench.expire(SMALL.table_sets_log2);
        assert_eq!(bench.tombstones(), 0);
        assert_eq!(bench.reference.free.len(), 16);
    });
}

#[test]
fn ro_12_a_tagged_receive_comes_before_the_ring() {
    tb::run("lookup::tags", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        bench.tags(2);
        let posted =
            |entry: u16, length: u32| Posted { address: u64::from(entry) << 32, length, entry, area: None };
        for entry in 0..2 {
            bench.post(2, posted(entry, 1 << 20));
            bench.post_tagged(2, 5, posted(10 + entry, 1 << 20));
        }
        bench.post_tagged(2, 6, posted(20, 99));
        let mut one = |bench: &mut Bench, slot: u128, tag: u128, length: u128| {
            let mut packet = bench.some_packet((4, 4, slot), 0, 0, rng);
            for (field, value) in [("endpoint", 2), ("tag", tag), ("length", length)] {
                packet.set(field, value);
            }
            bench.offer(packet);
            bench.settle();
            let entry = bench
                .last
                .work
                .as_ref()
                .filter(|work| work.get("verdict") == 1)
                .map(|work| work.get("entry"));
            (entry, bench.last.unexpected)
        };
        assert_eq!(one(&mut bench, 0, 7, 50), (Some(0), true), "no such tag");
        assert_eq!(one(&mut bench, 1, 5, 50), (Some(10), false));
        // Too long for the receive that matches: the ring does not help it out.
        assert_eq!(one(&mut bench, 2, 6, 100), (None, false));
        assert_eq!(one(&mut bench, 3, 6, 99), (Some(20), false));
        assert_eq!(one(&mut bench, 4, 5, 50), (Some(11), false));
        assert_eq!(one(&mut bench, 5, 5, 50), (Some(1), true), "none is left");
        assert_eq!(one(&mut bench, 6, 5, 50), (None, false));
        assert_eq!(bench.last.event, Some("busy_receive"));
        // While one of the ring is on its way the table is let go, and asked again.
        bench.late = 10;
        bench.post(2, posted(2, 1 << 20));
        assert_eq!(one(&mut bench, 7, 5, 50), (Some(2), true));
    });
}

#[test]
fn ro_6_endpoints_that_share_a_ring_take_its_receives_in_order() {
    tb::run("lookup::shared", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        for index in [1, 2, 3] {
            bench.tenant(index, 200, 0);
        }
        for entry in 0..9 {
            bench.post(
                200,
                Posted { address: 1 << 32 | u64::from(entry), length: 1 << 20, entry, area: None },
            );
        }
        // Their own rings are not looked at.
        bench.post(1, Posted { address: 7, length: 1 << 20, entry: 700, area: None });
        for slot in 0..12u128 {
            let mut packet = bench.some_packet((4, 4, slot), 0, 0, rng);
            packet.set("endpoint", slot % 4);
            bench.offer(packet);
        }
        bench.settle();
        assert_eq!(bench.reference.events["opened"], 9, "of the sharing ones, all");
        assert_eq!(bench.reference.events["busy_receive"], 3, "endpoint 0 has none");
        assert!(bench.reference.receives[&200].is_empty());
        // Back to its own.
        bench.tenant(1, 1, 0);
        let mut packet = bench.some_packet((4, 4, 100), 0, 0, rng);
        packet.set("endpoint", 1);
        bench.offer(packet);
        bench.settle();
        assert_eq!(bench.last.event, Some("opened"));
    });
}

#[test]
fn ro_6_a_quota_stops_one_endpoint_and_no_other() {
    tb::run("lookup::quota", &design("lookup_wide", &WIDE), |dut, rng| {
        let mut bench = Bench::new(dut, &WIDE, TIME_WAIT, START, ALWAYS, rng);
        let quota = |index: u8| u16::from(index % 3) + 1;
        for index in 0..=255 {
            bench.tenant(index, index, quota(index));
            for entry in 0..6 {
                bench.post(index, Posted { address: 0, length: 1 << 20, entry, area: None });
            }
        }
        // The flood first, then everyone, twice as much as they may.
        let flood = (0..600).map(|slot| (77, slot));
        let others = (0..256 * 6).map(|i| (i % 256, 1000 + i / 256));
        for (endpoint, slot) in flood.chain(others) {
            let mut packet = bench.some_packet((endpoint, 3, slot), 0, 0, rng);
            packet.set("endpoint", endpoint);
            bench.offer(packet);
        }
        bench.settle();
        for index in 0..=255 {
            assert_eq!(bench.reference.held_by(index), usize::from(quota(index)), "endpoint {index}");
        }
        assert_eq!(bench.reference.events["busy_receive"], 0);
        assert_eq!(bench.reference.events["busy_resources"], 0);
        // An end alone gives nothing back, the number does, and to its endpoint.
        let mine: Vec<u64> = bench.reference.numbers_of(77);
        let mut open = |bench: &mut Bench, slot: u128| {
            let mut packet = bench.some_packet((77, 3, slot), 0, 0, rng);
            packet.set("endpoint", 77);
            bench.offer(packet);
            bench.settle();
            bench.last.event
        };
        bench.retire(mine[0], true, 0, false);
        bench.settle();
        assert_eq!(open(&mut bench, 2000), Some("busy_quota"));
        bench.retire(mine[0], false, 0, true);
        assert_eq!(open(&mut bench, 2001), Some("opened"));
        assert_eq!(open(&mut bench, 2002), Some("busy_quota"));
        // Writing the entry anew changes the quota and forgets no context.
        bench.tenant(77, 77, quota(77) + 1);
        assert_eq!(open(&mut bench, 2003), Some("opened"));
        assert_eq!(open(&mut bench, 2004), Some("busy_quota"));
        bench.tenant(77, 77, 1);
        assert_eq!(open(&mut bench, 2005), Some("busy_quota"));
    });
}

/// Seven bits of a count are compared apart from those above; a quota of more bits than a count is none.
#[test]
fn ro_6_a_quota_is_exact_where_its_halves_meet() {
    tb::run("lookup::large_quotas", &design("lookup_wide", &WIDE), |dut, rng| {
        let mut bench = Bench::new(dut, &WIDE, TIME_WAIT, START, ALWAYS, rng);
        // Who has no quota, or one that is more than there are contexts, gets what it asks for.
        let quotas: [(u16, usize); 7] =
            [(127, 127), (128, 128), (129, 129), (255, 255), (0, 60), (0x2000, 60), (0xFFFF, 60)];
        let mut asks = Vec::new();
        for (index, (quota, held)) in (10u8..).zip(quotas) {
            bench.tenant(index, index, quota);
            for entry in 0..64 {
                bench.post(index, Posted { address: 0, length: 1 << 20, entry, area: None });
            }
            let more = if held == 60 { 0 } else { 8 };
            asks.push((index, held + more));
        }
        let mut posted = 64;
        for slot in 0..asks.iter().map(|(_, times)| *times).max().unwrap() {
            for &(index, times) in &asks {
                if slot < times {
                    let endpoint = u128::from(index);
                    let mut packet = bench.some_packet((endpoint, 3, slot as u128), 0, 0, rng);
                    packet.set("endpoint", endpoint);
                    bench.offer(packet);
                }
            }
            if slot + 8 > posted {
                bench.settle();
                for &(index, _) in &asks {
                    for entry in 0..32 {
                        bench.post(index, Posted { address: 0, length: 1 << 20, entry, area: None });
                    }
                }
                posted += 32;
            }
        }
        bench.settle();
        for (index, (quota, held)) in (10u8..).zip(quotas) {
            assert_eq!(bench.reference.held_by(index), held, "endpoint {index} with a quota of {quota}");
        }
        assert_eq!(bench.reference.events["busy_receive"], 0);
        assert_eq!(bench.reference.events["busy_resources"], 0);
    });
}
