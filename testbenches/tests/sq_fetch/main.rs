//! `host::SqFetch`: what it makes of send entries, in turn, under every load.

mod bench;
mod lives;
mod pace;
mod quota;

use bench::{any, design, designs, plain, small, verdict, Bench, Key, Send, KEY};
use tessera_abi::params::MAX_PACKETS;
use tessera_abi::queue;
use tessera_abi::status::Status;
use tessera_abi::wire;
use tessera_sim::tb::{self, Pattern};

#[test]
fn an_entry_becomes_a_request_with_every_field() {
    tb::run("sq_fetch::fields", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 20..21;
        bench.key(KEY);
        bench.endpoint(200, 0x4000, 4, true);
        for _ in 0..40 {
            let entry = Send { length: 5000, address: KEY.base, ..plain(rng) };
            bench.post(200, entry, false);
            bench.ring(200);
            bench.drain(200);
            let quiet = bench.dma.is_idle();
            assert!(quiet, "a request before its status");
        }
        assert_eq!(bench.dma.log.len(), 40);
        assert_eq!(bench.dma.log[17], (0x4000 + 128, 128), "the ring wraps at sixteen entries");
    });
}

/// UD-4: opcodes keep to the kind of their endpoint; a datagram is one packet.
#[test]
fn datagrams_are_requests_of_their_own_kind() {
    tb::run("sq_fetch::datagrams", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint_of_kind(5, 0x4000, 6, true, true);
        bench.endpoint(6, 0x1_4000, 6, true);
        for _ in 0..30 {
            for index in [5, 6] {
                let mut entry = Send { address: KEY.base, ..plain(rng) };
                entry.opcode = *rng.pick(&[queue::OP_UD, queue::OP_UD, queue::OP_SEND]);
                let size = 1u32 << entry.payload_log2;
                entry.length = *rng.pick(&[0, 1, size - 1, size, size, size + 1, 2 * size]);
                bench.post(index, entry, false);
                bench.ring(index);
            }
            bench.drain(500);
        }
        // The kind is the table's: written anew it is the other one.
        bench.endpoint(5, 0x4000, 6, true);
        bench.post(5, Send { opcode: queue::OP_UD, length: 9, address: KEY.base, ..plain(rng) }, false);
        bench.post(5, Send { length: 9, address: KEY.base, ..plain(rng) }, false);
        bench.ring(5);
        bench.drain(500);
    });
}

#[test]
fn refusals_have_their_status_and_order() {
    tb::run("sq_fetch::refusals", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        // A region that ends at the top of the address space is whole; one
        // that runs over it is not.
        let top = Key { index: 8, hi: 1, base: u64::MAX - 0xFFF, length: 0x1000, ..KEY };
        let over = Key { index: 9, hi: 2, base: u64::MAX - 0xFFF, length: 0x1001, ..KEY };
        let foreign = Key { index: 10, hi: 3, domain: KEY.domain ^ 0x8000, ..KEY };
        bench.key(top);
        bench.key(over);
        bench.key(foreign);
        bench.endpoint(3, 0x8000, 6, true);
        let good = Send { length: 100, payload_log2: 10, address: KEY.base, ..plain(rng) };
        let cases = [
            (good.clone(), Status::Success),
            (Send { opcode: 0, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 7, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 13, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 8 + 16, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 8, length: MAX_PACKETS << 8, ..good.clone() }, Status::Success),
            (Send { payload_log2: 8, length: (MAX_PACKETS << 8) + 1, ..good.clone() }, Status::BadRequest),
            (Send { lkey: good.lkey ^ 1, ..good.clone() }, Status::LocalProtection),
            (Send { lkey: good.lkey ^ 1 << 31, ..good.clone() }, Status::LocalProtection),
            (Send { address: KEY.base - 1, ..good.clone() }, Status::LocalProtection),
            (Send { address: KEY.base + KEY.length - 100, ..good.clone() }, Status::Success),
            (Send { address: KEY.base + KEY.length - 99, ..good.clone() }, Status::LocalProtection),
            (Send { address: u64::MAX - 10, ..good.clone() }, Status::LocalProtection),
            (Send { lkey: foreign.lkey(), ..good.clone() }, Status::LocalProtection),
            (Send { opcode: queue::OP_WRITE, ..good.clone() }, Status::Success),
            (Send { opcode: 4, ..good.clone() }, Status::BadRequest),
            (Send { length: 0, lkey: 0, address: u64::MAX, ..good.clone() }, Status::Success),
            (Send { opcode: 9, lkey: 0, ..good.clone() }, Status::BadRequest),
            (Send { lkey: top.lkey(), address: top.base, length: 0x1000, ..good.clone() }, Status::Success),
            (
                Send { lkey: top.lkey(), address: top.base, length: 0x1001, ..good.clone() },
                Status::LocalProtection,
            ),
            (
                Send { lkey: over.lkey(), address: over.base, length: 1, ..good.clone() },
                Status::LocalProtection,
            ),
        ];
        bench.keys.retain(|key| key.index != over.index);
        for (entry, status) in cases {
            assert_eq!(
                verdict(&entry, &bench.keys, KEY.domain, false),
                status,
                "the reference on {entry:x?}"
            );
            bench.post(3, entry, false);
        }
        bench.ring(3);
        bench.drain(2000);
    });
}

/// Decisions 0069, 0084: a NIC without them refuses IPv6 addresses and tags, a round means nothing, and every
/// endpoint is one of messages.
#[test]
fn what_is_left_out_is_refused() {
    tb::run("sq_fetch::small", &small(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.small = true;
        bench.key(KEY);
        bench.endpoint(3, 0x8000, 6, true);
        let good = Send { length: 100, payload_log2: 10, address: KEY.base, ..plain(rng) };
        for _ in 0..40 {
            let mut gid = wire::ipv4_gid(rng.bytes(4).try_into().unwrap());
            if rng.chance(0.4) {
                gid[rng.below(12) as usize] ^= 1 << rng.below(8);
            }
            let mut flags = queue::SEND_ROUND * rng.below(2) as u8;
            if rng.chance(0.3) {
                flags |= queue::SEND_VLAN;
            }
            let entry =
                Send { gid, flags, vlan: rng.bits(16) as u16, round: rng.bits(16) as u16, ..good.clone() };
            bench.post(3, entry, false);
        }
        bench.ring(3);
        bench.drain(3000);
        bench.endpoint_of_kind(5, 0x1_8000, 6, true, true);
        for opcode in [queue::OP_UD, queue::OP_SEND, queue::OP_UD, queue::OP_SEND] {
            let gid = wire::ipv4_gid(rng.bytes(4).try_into().unwrap());
            bench.post(5, Send { gid, opcode, flags: 0, length: 3000, ..good.clone() }, false);
        }
        bench.ring(5);
        bench.drain(500);
    });
}

#[test]
fn every_entry_comes_out_once_and_in_its_order() {
    let designs = designs();
    for ((idle, stall), design) in Pattern::matrix_of(&designs) {
        tb::run(&format!("sq_fetch::random {idle:?} {stall:?}"), design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.dma.latency = rng.pick(&[1..2, 1..20, 100..300]).clone();
            bench.key(KEY);
            let mut used = Vec::new();
            for i in 0..12u64 {
                let index = (i * 21 + rng.below(21)) as u8;
                let log2 = rng.range(1..6) as u8;
                bench.domain = KEY.domain ^ u16::from(rng.chance(0.15));
                bench.endpoint(index, 0x10_0000 * (i + 1) + 64 * rng.below(64), log2, true);
                used.push(index);
            }
            // One ring whose reads fail for a while.
            let broken = *rng.pick(&used);
            let base = bench.rings[&broken].base;
            bench.memory.borrow_mut().poisoned.push(base..base + 1);
            bench.drain(1000);
            for _ in 0..400 {
                let index = *rng.pick(&used);
                let room = bench.room(index) as u64;
                if room > 0 {
                    for _ in 0..rng.range(1..room + 1) {
                        if index == broken {
                            // Entry by entry, so that it is known which read covers it.
                            let first =
                                bench.rings[&index].posted & ((1 << bench.rings[&index].log2) - 1) == 0;
                            if bench.due() > 0 && !bench.rings[&index].due.is_empty() {
                                break;
                            }
                            let entry = any(rng);
                            bench.post(index, entry, first);
                            break;
                        }
                        let entry = any(rng);
                        bench.post(index, entry, false);
                        // One by one, doorbells meet the visit of their endpoint.
                        if rng.chance(0.5) {
                            bench.ring(index);
                        }
                    }
                    bench.ring(index);
                }
                for _ in 0..rng.below(60) {
                    bench.clock();
                }
            }
            bench.drain(60_000);
            for _ in 0..600 {
                bench.clock();
            }
            assert!(bench.dma.is_idle());
        });
    }
}

#[test]
fn reads_are_contiguous_and_stay_in_the_ring() {
    tb::run("sq_fetch::reads", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(9, 0x1_2340, 5, true);
        for _ in 0..100 {
            for _ in 0..rng.range(1..33) {
                if bench.room(9) > 0 {
                    let entry = plain(rng);
                    bench.post(9, entry, false);
                }
            }
            bench.ring(9);
            bench.drain(3000);
        }
        let mut at = 0x1_2340;
        for (address, length) in &bench.dma.log {
            assert_eq!(*address, at, "every entry is read once, in order");
            assert!(length % 128 == 0 && *length <= 1024, "{length}");
            at += *length as u64;
            assert!(at <= 0x1_2340 + 32 * 128, "a read runs over the end of the ring");
            if at == 0x1_2340 + 32 * 128 {
                at = 0x1_2340;
            }
        }
        assert!(bench.dma.log.iter().any(|(_, length)| *length == 1024), "never eight in one read");
    });
}

#[test]
fn the_running_index_wraps_at_sixteen_bits() {
    tb::run("sq_fetch::wrap", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(0, 0x100_0000, 9, true);
        let entry = plain(rng);
        let mut posted = 0;
        while posted < 66_000 {
            while bench.room(0) > 0 {
                let entry = Send { tag: posted, ..entry.clone() };
                bench.post(0, entry, false);
                posted += 1;
            }
            bench.ring(0);
            bench.drain(3000);
        }
        assert!(bench.rings[&0].posted < 4096, "the index did not wrap");
    });
}
