//! IPv6, VLAN tags and plain UD: what the RX-8, RX-9 and UD rules say.

mod common;

use common::{identity, ip6, QKEY};
use tessera_abi::params::{MAX_FRAME, NIC512};
use tessera_abi::queue::{OP_SEND, OP_UD};
use tessera_abi::regs::Counter;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, Route};
use tessera_model::{Completion, Endpoint, MemoryKey, Nic, RecvEntry, SendEntry, Settings};

const UD: u32 = 0x12_3401;
const RM: u32 = 0x12_3402;
const OWN: u32 = 0x0BAD_CAFE;

fn nic(node: usize) -> Nic {
    let mut nic = Nic::new(&NIC512, identity(node), Settings::default()).expect("legal settings");
    nic.set_endpoint(Endpoint { datagram: true, ..Endpoint::new(UD, OWN) });
    nic.set_endpoint(Endpoint::new(RM, QKEY));
    nic.set_key(MemoryKey {
        key: 0x100,
        base: 0,
        length: 1 << 32,
        local_write: true,
        remote_write: false,
        pd: 1,
    });
    nic
}

fn route(from: usize, to: usize, v6: bool, vlan: Option<u16>) -> Route {
    let gid = |node: usize| if v6 { ip6(node) } else { wire::ipv4_gid(identity(node).ip) };
    Route {
        dst_mac: identity(to).mac,
        src_mac: identity(from).mac,
        vlan,
        src_gid: gid(from),
        dst_gid: gid(to),
        tos: 0,
        hop_limit: 9,
        flow_label: 0,
        sport: 0xC000,
        pkey: 0xFFFF,
        dst_endpoint: UD,
        psn: 0,
        qkey: OWN,
        src_endpoint: 0x77,
    }
}

fn frame(route: &Route, immediate: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; MAX_FRAME];
    let len = wire::emit_datagram(route, immediate, payload, &mut frame).expect("fits");
    frame.truncate(len);
    frame
}

fn forms() -> impl Iterator<Item = (bool, Option<u16>)> {
    [false, true].into_iter().flat_map(|v6| [None, Some(0x6123), Some(0xE000)].map(|vlan| (v6, vlan)))
}

//= UD-2 test
//= UD-3 test
#[test]
fn a_datagram_fills_a_receive_behind_its_grh() {
    for (v6, vlan) in forms() {
        for (immediate, len) in [(None, 0), (Some(7), 0), (None, 1), (Some(u32::MAX), 4096), (None, 4096)] {
            let mut nic = nic(0);
            let payload: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let frame = frame(&route(1, 0, v6, vlan), immediate, &payload);
            assert_eq!(nic.handle_frame(5, &frame), Err(Drop::UdReceive), "nothing posted");
            let entry = |length| RecvEntry::new(0x1000, length, 0x100);
            let index = nic.post_recv(6, UD, entry(len as u32 + 40)).unwrap();
            assert_eq!(nic.handle_frame(7, &frame), Ok(()));
            let write = nic.poll_write().unwrap();
            assert_eq!(write.address, 0x1000);
            assert_eq!(write.bytes[..40], wire::grh(&frame).unwrap());
            assert_eq!(write.bytes[40..], payload);
            let done = nic.poll_completion().unwrap();
            let mut tag = [2, 0, 0, 0, 0, 1, 0, 0];
            tag[6..].copy_from_slice(&vlan.unwrap_or(0).to_le_bytes());
            assert_eq!(
                (done.status, done.entry, done.length, done.immediate, done.grh, done.tagged),
                (0, index, len as u32 + 40, immediate, true, vlan.is_some())
            );
            assert_eq!((done.tag, done.peer_endpoint), (u64::from_le_bytes(tag), 0x77));
            assert_eq!(done.peer_gid, route(1, 0, v6, vlan).src_gid);
            nic.post_recv(6, UD, entry(len as u32 + 39)).unwrap();
            assert_eq!(nic.handle_frame(8, &frame), Err(Drop::UdReceive), "one byte too short");
            assert!(nic.poll_write().is_none() && nic.poll_completion().is_none());
            assert_eq!(nic.counters().of(Counter::RxUd), 3);
        }
    }
}

//= UD-4 test
#[test]
fn a_datagram_is_sent_once_as_its_entry_says() {
    for (v6, vlan) in forms() {
        let mut nic = nic(0);
        let to = route(0, 1, v6, vlan);
        let entry = SendEntry {
            opcode: OP_UD,
            round: None,
            immediate: None,
            payload_log2: 9,
            traffic_class: 0xB5,
            length: 512,
            address: 0x4000,
            lkey: 0x100,
            initial_window: 0,
            host_recovery: false,
            hop_limit: 3,
            vlan,
            tag: 1,
            rkey: 0,
            qkey: 0x1234,
            endpoint: 0x55_5555,
            mac: to.dst_mac,
            gid: to.dst_gid,
        };
        let bad = [
            SendEntry { opcode: OP_SEND, ..entry },
            SendEntry { length: 513, ..entry },
            SendEntry { payload_log2: 13, ..entry },
        ];
        let mut done: Vec<Completion> = Vec::new();
        for entry in bad {
            nic.post_send(1, UD, entry).unwrap();
            done.push(nic.poll_completion().unwrap());
        }
        nic.post_send(1, RM, entry).unwrap();
        done.push(nic.poll_completion().unwrap());
        assert!(done.iter().all(|done| done.status == Status::BadRequest as u8));
        let with_own = SendEntry { qkey: 0x8000_0000, immediate: Some(9), length: 0, hop_limit: 0, ..entry };
        nic.post_send(2, UD, entry).unwrap();
        nic.post_send(2, UD, with_own).unwrap();
        for (psn, entry, qkey, hops) in [(0, entry, 0x1234, 3), (1, with_own, OWN, wire::TTL)] {
            let mut memory = |address: u64, bytes: &mut [u8]| {
                assert_eq!(address, 0x4000);
                bytes.fill(0x5A);
                Ok(())
            };
            let frame = nic.poll_transmit(3, &mut memory).unwrap();
            let datagram = wire::parse_datagram(&frame).unwrap();
            assert!(datagram.icrc_ok);
            assert_eq!(datagram.payload, vec![0x5A; entry.length as usize]);
            assert_eq!(datagram.immediate, entry.immediate);
            let got = datagram.route;
            assert_eq!((got.psn, got.qkey, got.tos, got.hop_limit), (psn, qkey, 0xB5, hops));
            assert_eq!((got.vlan, got.src_gid, got.dst_gid), (vlan, to.src_gid, to.dst_gid));
            assert_eq!((got.dst_endpoint, got.src_endpoint), (0x55_5555, UD));
            assert_eq!(nic.poll_completion().unwrap().status, 0);
        }
        assert_eq!(nic.poll_transmit(4, &mut |_: u64, _: &mut [u8]| Ok(())), None);
        assert_eq!(nic.counters().of(Counter::TxUd), 2);
    }
}

type Change = (&'static str, fn(&mut Vec<u8>), Drop);

//= RX-8 test
//= RX-9 test
//= UD-1 test
#[test]
fn each_form_has_its_reasons() {
    let v6: [Change; 9] = [
        ("hop-by-hop", |f| f[20] = 0, Drop::IpHeader),
        ("fragment", |f| f[20] = 44, Drop::IpHeader),
        ("tcp", |f| f[20] = 6, Drop::NotOurs),
        ("version", |f| f[14] ^= 0x10, Drop::NotOurs),
        ("address", |f| f[53] ^= 1, Drop::NotOurs),
        ("multicast", |f| f[22] = 0xFF, Drop::IpHeader),
        ("unspecified", |f| f[22..38].fill(0), Drop::IpHeader),
        ("mapped", |f| f[22..38].copy_from_slice(&wire::ipv4_gid([1, 2, 3, 4])), Drop::IpHeader),
        ("length", |f| f[19] ^= 4, Drop::Length),
    ];
    let mut nic = nic(0);
    nic.post_recv(0, UD, RecvEntry::new(0, 100, 0x100)).unwrap();
    let good = frame(&route(1, 0, true, None), None, &[1; 8]);
    for (what, change, reason) in v6 {
        let mut frame = good.clone();
        change(&mut frame);
        wire::reseal(&mut frame);
        assert_eq!(nic.handle_frame(1, &frame), Err(reason), "{what}");
    }
    for v6 in [false, true] {
        for (tci, reason) in [(0x0124, Drop::NotOurs), (0xF123 ^ 0x1000, Drop::UdReceive)] {
            let mut nic = self::nic(0);
            let tagged = frame(&route(1, 0, v6, Some(tci)), None, &[1; 8]);
            assert_eq!(nic.handle_frame(1, &tagged), Err(reason), "{tci:#x}");
        }
        let short = frame(&route(1, 0, v6, None), None, &[]);
        assert_eq!(nic.handle_frame(1, &short[..short.len() - 1]), Err(Drop::Frame));
        // RM endpoints take no immediate of their own; a cut one is none.
        let mut to_rm = route(1, 0, v6, None);
        (to_rm.dst_endpoint, to_rm.qkey) = (RM, QKEY);
        assert_eq!(nic.handle_frame(1, &frame(&to_rm, Some(1), &[0; 40])), Err(Drop::Endpoint));
        assert_eq!(nic.handle_frame(1, &frame(&to_rm, None, &[0; 40])), Err(Drop::Trh));
        let mut cut = frame(&route(1, 0, v6, None), None, &[]);
        let bth = wire::Form { tagged: false, v6 }.bth_at();
        cut[bth] = wire::OPCODE_UD_SEND_IMM;
        wire::reseal(&mut cut);
        assert_eq!(nic.handle_frame(1, &cut), Err(Drop::Fields));
        cut[bth] = wire::OPCODE_UD_SEND;
        cut[bth + 1] = 0x10;
        wire::reseal(&mut cut);
        assert_eq!(nic.handle_frame(1, &cut), Err(Drop::Fields));
    }
}
