//! `tx::TxDatagram` and `rx::RxDatagram`: each datagram ends once, in order,
//! whatever the order of what is told about it.

use std::collections::VecDeque;
use tessera_abi::params::{Config, NIC512, NIC64};
use tessera_abi::status::Status;
use tessera_abi::wire::flag;
use tessera_rtl::rx::RxDatagram;
use tessera_rtl::tx::TxDatagram;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{Design, Dut};
use tessera_testbenches::packets::Layout;

fn quiet(dut: &mut Dut, ports: &[&str]) {
    for name in ports {
        let port = dut.port(name).unwrap();
        dut.set(port, 0u64);
    }
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 3);
}

/// The blocks have the configuration's depth: the largest, and that of a small FPGA.
const CONFIGS: [Config; 2] = [NIC512, SMALL];
const SMALL: Config = Config { datagrams: true, ..NIC64 };

fn places(config: &Config) -> usize {
    1 << config.tx_packets_log2.clamp(4, 6)
}

fn sender(config: &Config) -> Design {
    tessera_testbenches::design_for(&format!("tx_datagram_{}", config.name), config, TxDatagram::new)
}

struct Request {
    word: Word,
    endpoint: u64,
    entry: u64,
    length: u64,
    imm: Option<u64>,
    gid: Vec<u8>,
}

fn any_request(rng: &mut Rng, layout: &Layout, entry: u64) -> Request {
    let mut word = layout.word();
    let (endpoint, length) = (rng.below(4), rng.below(4097));
    let imm = rng.chance(0.5).then(|| rng.bits(32));
    let gid = rng.bytes(16);
    let mac = rng.bytes(6);
    layout.put_bytes(&mut word, "dst_gid", &gid);
    layout.put_bytes(&mut word, "dst_mac", &mac);
    for (name, value) in [
        ("ud", 1),
        ("endpoint", endpoint),
        ("entry", entry),
        ("length", length),
        ("has_imm", u64::from(imm.is_some())),
        ("imm", imm.unwrap_or(7)),
        ("vlan", rng.bits(16)),
        ("vlan_valid", rng.bits(1)),
        ("dst_endpoint", rng.bits(24)),
        ("qkey", rng.bits(32)),
        ("address", rng.next_u64()),
        ("tag", rng.bits(16)),
    ] {
        layout.put(&mut word, name, value);
    }
    Request { word, endpoint, entry, length, imm, gid }
}

/// UD-4: one packet per request, numbered per endpoint; completions in order,
/// though the ends come in any.
#[test]
fn sends_end_once_and_in_order() {
    for ((idle, stall), config) in Pattern::matrix_of(&CONFIGS) {
        let design = sender(config);
        let places = places(config);
        tb::run(&format!("datagrams::tx {} {idle:?} {stall:?}", config.name), &design, |dut, rng| {
            let mut requests = StreamDriver::new(dut, "request", idle, rng).unwrap();
            let mut packets = StreamMonitor::new(dut, "packet", stall, rng).unwrap();
            let mut done = StreamMonitor::new(dut, "done", stall, rng).unwrap();
            quiet(dut, &["request_valid", "sent.valid", "failed.valid"]);
            let [asked, packet, ended] =
                ["request_data", "packet_data", "done_data"].map(|p| Layout::of(dut, p));
            let port = |dut: &Dut, name: &str| dut.port(name).unwrap();
            let due: Vec<Request> = (0..300).map(|i| any_request(rng, &asked, i)).collect();
            due.iter().for_each(|request| requests.send(request.word.clone()));
            let (mut numbers, mut fates) = ([0u64; 4], Vec::new());
            // Packets on their way: place, request.
            let mut flying: Vec<(u64, usize)> = Vec::new();
            let (mut begun, mut finished, mut clocks) = (0, 0, 0);
            while finished < due.len() {
                // One may leave, one may fail, and strangers' ends mean nothing.
                for (name, fails) in [("sent", false), ("failed", true)] {
                    let one = !flying.is_empty() && rng.chance(if fails { 0.05 } else { 0.3 });
                    let stranger = !one && rng.chance(0.2);
                    let (slot, ud) = if one {
                        let (place, request) = flying.swap_remove(rng.below(flying.len() as u64) as usize);
                        fates[request] = Some(fails);
                        (place, 1)
                    } else {
                        (rng.bits(12), 0)
                    };
                    for (field, value) in [
                        ("valid", u64::from(one || stranger)),
                        ("ud", ud),
                        ("slot", slot),
                        ("error", fails.into()),
                    ] {
                        let port = port(dut, &format!("{name}.{field}"));
                        dut.set(port, value);
                    }
                }
                cycle(dut, &mut [&mut requests, &mut packets, &mut done]);
                while let Some(taken) = packets.take() {
                    let (request, word) = (&due[begun], &taken.word);
                    for name in ["dst_endpoint", "qkey", "endpoint", "vlan", "vlan_valid", "address", "tag"] {
                        assert_eq!(packet.get(word, name), asked.get(&request.word, name), "{name}");
                    }
                    for name in ["dst_mac", "dst_gid"] {
                        assert_eq!(packet.bytes(word, name), asked.bytes(&request.word, name), "{name}");
                    }
                    let number = &mut numbers[request.endpoint as usize];
                    assert_eq!(packet.get(word, "index"), *number, "PSN");
                    *number += 1;
                    let flags = if request.imm.is_some() { u64::from(flag::IMM) } else { 0 };
                    let known = ["ud", "probe", "flags", "payload_len"].map(|name| packet.get(word, name));
                    assert_eq!(known, [1, 0, flags, request.length]);
                    let slot = packet.get(word, "slot");
                    assert!(flying.iter().all(|(place, _)| *place != slot), "place {slot} is taken");
                    flying.push((slot, begun));
                    fates.push(None);
                    begun += 1;
                }
                while let Some(taken) = done.take() {
                    let (request, word) = (&due[finished], &taken.word);
                    let failed = fates[finished].expect("nothing was told of it");
                    let status = if failed { Status::LocalDma } else { Status::Success } as u64;
                    for (name, value) in [
                        ("receive", 0),
                        ("status", status),
                        ("grh", 0),
                        ("endpoint", request.endpoint),
                        ("entry", request.entry),
                        ("length", request.length),
                        ("tag", 0),
                        ("slot", 0),
                        ("generation", 0),
                        ("peer_endpoint", asked.get(&request.word, "dst_endpoint")),
                    ] {
                        assert_eq!(ended.get(word, name), value, "{name} of {finished}");
                    }
                    assert_eq!(ended.bytes(word, "peer_gid"), request.gid);
                    finished += 1;
                }
                assert!(begun - finished <= places + 2, "more on their way than places");
                clocks += 1;
                assert!(clocks < 60_000, "{begun} begun, {finished} ended");
            }
        });
    }
}

/// A hundred sends without an end: as many packets as there are places, and no more.
#[test]
fn places_bound_what_is_on_its_way() {
    for (config, places) in [(&NIC512, 64), (&SMALL, 16)] {
        tb::run(&format!("datagrams::bound {}", config.name), &sender(config), |dut, rng| {
            let mut requests = StreamDriver::new(dut, "request", Pattern::Always, rng).unwrap();
            let mut packets = StreamMonitor::new(dut, "packet", Pattern::Always, rng).unwrap();
            quiet(dut, &["request_valid", "sent.valid", "failed.valid"]);
            let asked = Layout::of(dut, "request_data");
            (0..100).for_each(|i| requests.send(any_request(rng, &asked, i).word));
            (0..2000).for_each(|_| cycle(dut, &mut [&mut requests, &mut packets]));
            assert_eq!(packets.total(), places);
        });
    }
}

/// UD-3: words pass, completions follow their own fences, messages' fences pass.
#[test]
fn receives_end_behind_their_fences() {
    for ((idle, stall), config) in Pattern::matrix_of(&CONFIGS) {
        let design =
            tessera_testbenches::design_for(&format!("rx_datagram_{}", config.name), config, RxDatagram::new);
        tb::run(&format!("datagrams::rx {} {idle:?} {stall:?}", config.name), &design, |dut, rng| {
            let mut input = StreamDriver::new(dut, "in", idle, rng).unwrap();
            let mut work = StreamMonitor::new(dut, "work", stall, rng).unwrap();
            let mut placed = StreamDriver::new(dut, "placed", idle, rng).unwrap();
            let mut fences = StreamMonitor::new(dut, "fence", stall, rng).unwrap();
            let mut done = StreamMonitor::new(dut, "done", stall, rng).unwrap();
            quiet(dut, &["in_valid", "placed_valid"]);
            let [given, fence, ended] = ["in_data", "placed_data", "done_data"].map(|p| Layout::of(dut, p));
            let words: Vec<Word> = (0..400)
                .map(|i| {
                    let mut word = given.word();
                    word.0.iter_mut().for_each(|bits| *bits = rng.next_u64());
                    let top = given.word();
                    // Only bits that exist.
                    let mut clean = top;
                    for name in ["src_endpoint", "endpoint", "flags", "imm", "vlan", "vlan_valid"] {
                        given.put(&mut clean, name, given.get(&word, name));
                    }
                    let (gid, mac) = (given.bytes(&word, "src_gid"), given.bytes(&word, "src_mac"));
                    given.put_bytes(&mut clean, "src_gid", &gid);
                    given.put_bytes(&mut clean, "src_mac", &mac);
                    given.put(&mut clean, "entry", i as u64);
                    given.put(&mut clean, "payload_len", 40 + rng.below(4097));
                    given.put(&mut clean, "ud", rng.chance(0.6));
                    clean
                })
                .collect();
            words.iter().for_each(|word| input.send(word.clone()));
            let datagrams: Vec<&Word> = words.iter().filter(|word| given.get(word, "ud") == 1).collect();
            let (mut errors, mut messages) = (Vec::new(), VecDeque::new());
            let (mut passed, mut known, mut finished, mut clocks) = (0, 0, 0, 0);
            while passed < words.len() || finished < datagrams.len() || !messages.is_empty() {
                cycle(dut, &mut [&mut input, &mut work, &mut placed, &mut fences, &mut done]);
                while let Some(taken) = work.take() {
                    assert_eq!(taken.word, words[passed], "work passes as it is");
                    known += usize::from(given.get(&taken.word, "ud") == 1);
                    passed += 1;
                }
                // A datagram's fence comes some time after its word, messages' in between.
                while errors.len() < known && rng.chance(0.5) {
                    if rng.chance(0.4) {
                        let context = rng.bits(12);
                        let mut word = fence.word();
                        fence.put(&mut word, "context", context);
                        messages.push_back(context);
                        placed.send(word);
                    }
                    let error = rng.chance(0.2);
                    let mut word = fence.word();
                    fence.put(&mut word, "ud", true);
                    fence.put(&mut word, "error", error);
                    placed.send(word);
                    errors.push(error);
                }
                while let Some(taken) = fences.take() {
                    assert_eq!(fence.get(&taken.word, "ud"), 0);
                    assert_eq!(messages.pop_front(), Some(fence.get(&taken.word, "context")));
                }
                while let Some(taken) = done.take() {
                    let (of, word) = (datagrams[finished], &taken.word);
                    let failed = errors[finished];
                    let status = if failed { Status::LocalDma } else { Status::Success } as u64;
                    let imm = given.get(of, "flags") & u64::from(flag::IMM) != 0;
                    let mut tag = given.bytes(of, "src_mac");
                    let tagged = given.get(of, "vlan_valid") == 1;
                    let tci = if tagged { given.get(of, "vlan") as u16 } else { 0 };
                    tag.extend(tci.to_le_bytes());
                    for (name, value) in [
                        ("receive", 1),
                        ("status", status),
                        ("has_imm", imm.into()),
                        ("grh", 1),
                        ("vlan_valid", tagged.into()),
                        ("endpoint", given.get(of, "endpoint")),
                        ("own", 0),
                        ("entry", given.get(of, "entry")),
                        ("length", given.get(of, "payload_len")),
                        ("imm", given.get(of, "imm")),
                        ("tag", u64::from_le_bytes(tag.try_into().unwrap())),
                        ("slot", 0),
                        ("generation", 0),
                        ("peer_endpoint", given.get(of, "src_endpoint")),
                    ] {
                        assert_eq!(ended.get(word, name), value, "{name} of {finished}");
                    }
                    assert_eq!(ended.bytes(word, "peer_gid"), given.bytes(of, "src_gid"));
                    finished += 1;
                }
                clocks += 1;
                assert!(clocks < 60_000, "{passed} passed, {finished} of {} ended", datagrams.len());
            }
            assert_eq!(passed, words.len());
        });
    }
}
