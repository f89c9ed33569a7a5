//! Plain UD: sends in order and once, deliveries to the receives there are.

use super::*;
use tessera_abi::params::NIC512;
use tessera_abi::queue::OP_UD;
use tessera_model::{Nic, RecvEntry, SendEntry};

const UD: [u32; 2] = [0x12_3401, 0x77_0002];

/// Five datagrams from node 0 to node 1, which has four receives.
fn datagrams() -> Run {
    let endpoints = UD.map(|number| Endpoint { datagram: true, ..Endpoint::new(number, QKEY) });
    let settings = Settings { seed: 7, ..Settings::default() };
    let mut nics = [0, 1].map(|node| {
        let mut nic = Nic::new(&NIC512, identity(node), settings).expect("legal settings");
        nic.set_endpoint(endpoints[node]);
        nic.set_key(ALL);
        nic
    });
    let setups = [0, 1].map(|node| NicSetup {
        config: NIC512,
        identity: identity(node),
        settings,
        endpoints: vec![endpoints[node]],
        keys: vec![ALL],
        places: Vec::new(),
        time_at_zero: 0,
    });
    let mut log: Log = Vec::new();
    for i in 0..4 {
        let entry = RecvEntry::new(BASE + i * 1024, 1024, KEY);
        let index = nics[1].post_recv(0, UD[1], entry).expect("endpoint exists");
        log.push((1, 0, Seen::Recv { endpoint: UD[1], index, entry }));
    }
    let clocks = |tick: u64| tick * CLOCKS_PER_TICK as u64;
    for i in 0..5u64 {
        let at = 10_000 * (i + 1);
        let payload: Vec<u8> = (0..100 + 9 * i).map(|at| byte(i, at)).collect();
        let entry = SendEntry {
            opcode: OP_UD,
            round: None,
            immediate: (i % 2 == 0).then_some(i as u32),
            payload_log2: 10,
            traffic_class: 0,
            length: payload.len() as u32,
            address: BASE + 0x10_0000 * i,
            lkey: KEY,
            initial_window: 0,
            host_recovery: false,
            hop_limit: 0,
            vlan: None,
            tag: 0,
            rkey: 0,
            qkey: QKEY,
            endpoint: UD[1],
            mac: identity(1).mac,
            gid: wire::ipv4_gid(identity(1).ip),
        };
        let index = nics[0].post_send(at, UD[0], entry).expect("endpoint exists");
        log.push((0, clocks(at), Seen::Send { endpoint: UD[0], index, entry, payload: payload.clone() }));
        let mut memory = |address: u64, bytes: &mut [u8]| {
            let from = (address - entry.address) as usize;
            bytes.copy_from_slice(&payload[from..from + bytes.len()]);
            Ok(())
        };
        let frame = nics[0].poll_transmit(at + 1, &mut memory).expect("a datagram");
        let done = nics[0].poll_completion().expect("sent");
        log.push((0, clocks(at + 1), Seen::FrameOut(frame.clone())));
        log.push((0, clocks(at + 1) + 3, Seen::Done(done)));
        log.push((1, clocks(at + 5), Seen::FrameIn(frame.clone())));
        // The fifth finds no receive.
        let _ = nics[1].handle_frame(at + 5, &frame);
        if let Some(write) = nics[1].poll_write() {
            log.push((1, clocks(at + 6), Seen::Write { address: write.address, bytes: write.bytes }));
        }
        if let Some(done) = nics[1].poll_completion() {
            log.push((1, clocks(at + 6), Seen::Done(done)));
        }
    }
    Run { log, setups: setups.to_vec(), end: clocks(1_000_000) }
}

//= UD-3 test
//= UD-4 test
#[test]
fn datagrams_are_held_to_posts_and_receives() {
    let run = datagrams();
    assert_eq!(clean(&run).completions, 5 + 4);
    for n in 0..5 {
        let frame = nth(&run.log, n, |seen| matches!(seen, Seen::FrameOut(_)));
        let done = nth(&run.log, n, |seen| done_of(seen, tessera_abi::queue::DONE_SEND).is_some());
        // On its way to the wire it may be completed, but not long before.
        let behind = delayed(&run.log, frame, 5);
        clean(&Run { log: behind, setups: run.setups.clone(), end: run.end });
        let late = delayed(&run.log, frame, 64 * CLOCKS_PER_TICK as u64 + 8);
        caught("a frame long behind its completion", &run, late, |f| {
            matches!(f, Fault::UnknownCompletion { .. })
        });
        caught("a datagram never sent", &run, without(&run.log, frame), |f| {
            matches!(f, Fault::NeverEnded(_) | Fault::Field { .. })
        });
        caught("a datagram sent twice", &run, repeated(&run.log, frame, 1), |f| {
            matches!(f, Fault::UnknownMessage(_))
        });
        caught("a lost completion", &run, without(&run.log, done), |f| matches!(f, Fault::NeverEnded(_)));
        caught("a doubled completion", &run, repeated(&run.log, done, 1), |f| {
            matches!(f, Fault::UnknownCompletion { .. })
        });
        let mut wrong = run.log.clone();
        if let Seen::Done(done) = &mut wrong[done].2 {
            done.length ^= 4;
        }
        caught("a wrong length", &run, wrong, |f| matches!(f, Fault::UnknownCompletion { .. }));
    }
    for n in 0..4 {
        let write = nth(&run.log, n, |seen| matches!(seen, Seen::Write { .. }));
        caught("a dropped write", &run, without(&run.log, write), |f| {
            matches!(f, Fault::UnknownCompletion { .. })
        });
        let flipped = edit(&run.log, write, |bytes| bytes[50] ^= 1);
        caught("a flipped byte", &run, flipped, |f| matches!(f, Fault::Unexplained { .. }));
        let done = nth(&run.log, n, |seen| done_of(seen, DONE_RECV).is_some());
        caught("a lost completion", &run, without(&run.log, done), |f| matches!(f, Fault::MissingCompletion));
        // Neither written nor told: passed over.
        let passed = without(&without(&run.log, done), write);
        caught("a datagram passed over", &run, passed, |f| {
            matches!(f, Fault::MissingWrite(_) | Fault::UnknownCompletion { .. } | Fault::Unexplained { .. })
        });
    }
}
