//! Frames of every form: what is emitted parses back, and the ICRC is that of
//! an independent computation.

use proptest::prelude::*;
use tessera_abi::params::MAX_FRAME;
use tessera_abi::wire::{self, DataHeader, FeedbackHeader, Form, MessageId, ReleaseHeader, Route, Trh};

fn gids() -> impl Strategy<Value = ([u8; 16], [u8; 16])> {
    let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (wire::ipv4_gid(a), wire::ipv4_gid(b)));
    let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(mut a, mut b)| {
        (a[0], b[0]) = (a[0] | 0x20, b[0] | 0x20);
        (a, b)
    });
    prop_oneof![v4, v6]
}

prop_compose! {
    fn routes()(
        macs in any::<([u8; 6], [u8; 6])>(),
        vlan in any::<Option<u16>>(),
        (src_gid, dst_gid) in gids(),
        (tos, hop_limit, label, sport, pkey) in any::<(u8, u8, u32, u16, u16)>(),
        (dst_endpoint, psn, qkey, src_endpoint) in any::<(u32, u32, u32, u32)>(),
    ) -> Route {
        Route {
            dst_mac: macs.0,
            src_mac: macs.1,
            vlan,
            src_gid,
            dst_gid,
            tos,
            hop_limit,
            flow_label: if wire::gid_ipv4(&dst_gid).is_none() { label & 0xF_FFFF } else { 0 },
            sport,
            pkey,
            dst_endpoint: dst_endpoint & 0xFF_FFFF,
            psn: psn & 0xFF_FFFF,
            qkey,
            src_endpoint: src_endpoint & 0xFF_FFFF,
        }
    }
}

prop_compose! {
    fn data()(
        (probe, flags, ev, sizes, message) in any::<(bool, u8, u8, u8, u32)>(),
        (index, initial_window, length, tag) in any::<(u32, u8, u32, u64)>(),
        (rkey, immediate, round, rtt, timestamp) in any::<(u32, u32, u16, u16, u32)>(),
    ) -> DataHeader {
        DataHeader {
            probe,
            flags,
            ev,
            payload_log2: sizes >> 4,
            traffic_class: sizes & 0xF,
            message: MessageId(message),
            index: index & 0xFF_FFFF,
            initial_window,
            length,
            tag,
            rkey,
            immediate,
            round,
            rtt,
            timestamp,
        }
    }
}

prop_compose! {
    fn answers()(
        (flags, ev, status, message) in any::<(u8, u8, u8, u32)>(),
        (cumulative, sequence, grant, duplicates) in any::<(u32, u8, u32, u8)>(),
        (base, limit, delay, echo, bitmap) in any::<(u32, u32, u16, u32, [u8; 32])>(),
    ) -> FeedbackHeader {
        FeedbackHeader {
            flags,
            ev,
            status,
            message: MessageId(message),
            cumulative: cumulative & 0xFF_FFFF,
            sequence,
            grant: grant & 0xFF_FFFF,
            duplicates,
            base: base & 0xFF_FFFF,
            limit: limit & 0xFF_FFFF,
            delay,
            echo,
            bitmap,
        }
    }
}

fn payloads() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..70),
        proptest::collection::vec(any::<u8>(), 4093..=4096),
    ]
}

/// The IPv4 header's checksum; true over IPv6, which has none.
fn checksum_right(frame: &[u8], form: Form) -> bool {
    form.v6 || wire::ipv4_checksum(&frame[form.ip_at()..form.udp_at()]) == 0
}

proptest! {
    #[test]
    fn data_parses_back(route in routes(), header in data(), payload in payloads()) {
        let mut frame = [0xEE; MAX_FRAME];
        let len = wire::emit(&route, &Trh::Data(header), &payload, &mut frame).unwrap();
        let form = route.form();
        prop_assert_eq!(Form::of(&frame), Some(form));
        prop_assert_eq!(len, form.trh_at() + 40 + payload.len().next_multiple_of(4) + 4);
        prop_assert!(checksum_right(&frame, form));
        let packet = wire::parse(&frame[..len]).unwrap();
        prop_assert_eq!(packet.route, route);
        prop_assert_eq!(packet.trh, Trh::Data(header));
        prop_assert_eq!(packet.payload, &payload[..]);
        prop_assert!(packet.icrc_ok);
        let tail = wire::parse_datagram(&frame[..len]).unwrap().payload;
        prop_assert_eq!(&tail[40..], &payload[..], "an RM packet is a datagram, too");
        for short in [0, 13, 17, 60, len - 1] {
            prop_assert!(wire::parse(&frame[..short]).is_err());
        }
        let mut small = vec![0; len - 1];
        prop_assert_eq!(wire::emit(&route, &Trh::Data(header), &payload, &mut small), None);
    }

    #[test]
    fn feedback_parses_back(route in routes(), header in answers()) {
        let mut frame = [0xEE; MAX_FRAME];
        let len = wire::emit(&route, &Trh::Feedback(header), &[], &mut frame).unwrap();
        if route.form() == Form::ALL[0] {
            prop_assert_eq!(len, 126, "two beats");
        }
        let packet = wire::parse(&frame[..len]).unwrap();
        prop_assert_eq!((packet.route, packet.trh), (route, Trh::Feedback(header)));
        prop_assert!(packet.icrc_ok && packet.payload.is_empty());
    }

    #[test]
    fn a_release_parses_back(route in routes(), (ev, message, timestamp) in any::<(u8, u32, u32)>()) {
        let header = ReleaseHeader { ev, message: MessageId(message), timestamp };
        let mut frame = [0xEE; MAX_FRAME];
        let len = wire::emit(&route, &Trh::Release(header), &[], &mut frame).unwrap();
        let form = route.form();
        prop_assert_eq!(len, form.trh_at() + wire::TRH_DATA_LEN + wire::ICRC_LEN);
        let packet = wire::parse(&frame[..len]).unwrap();
        prop_assert_eq!((packet.route, packet.trh), (route, Trh::Release(header)));
        prop_assert!(packet.icrc_ok && packet.payload.is_empty());
        // What it has no use for is 0.
        let unused = (1..2).chain(3..4).chain(8..36);
        prop_assert!(unused.map(|at| frame[form.trh_at() + at]).all(|byte| byte == 0));
    }

    #[test]
    fn datagrams_parse_back(route in routes(), immediate: Option<u32>, payload in payloads()) {
        let mut frame = [0xEE; MAX_FRAME];
        let len = wire::emit_datagram(&route, immediate, &payload, &mut frame).unwrap();
        prop_assert_eq!(len, wire::datagram_len(route.form(), immediate.is_some(), payload.len()));
        prop_assert!(checksum_right(&frame, route.form()));
        let datagram = wire::parse_datagram(&frame[..len]).unwrap();
        prop_assert_eq!((datagram.route, datagram.immediate), (route, immediate));
        prop_assert_eq!(datagram.payload, &payload[..]);
        prop_assert!(datagram.icrc_ok);
        let area = wire::grh(&frame[..len]).unwrap();
        let form = route.form();
        let header = &frame[form.ip_at()..form.udp_at()];
        prop_assert_eq!(&area[40 - header.len()..], header);
        prop_assert!(form.v6 || area[..20] == [0; 20]);
    }

    #[test]
    fn a_flipped_bit_shows(route in routes(), header in data(), payload in payloads(), at: u32, bit in 0..8u8) {
        let mut frame = [0; MAX_FRAME];
        let len = wire::emit(&route, &Trh::Data(header), &payload, &mut frame).unwrap();
        let form = route.form();
        // From the DETH on everything is covered, and no length is.
        let at = form.deth_at() + at as usize % (len - form.deth_at());
        frame[at] ^= 1 << bit;
        prop_assert!(!wire::parse(&frame[..len]).is_ok_and(|packet| packet.icrc_ok));
    }
}

fn fixed(src_gid: [u8; 16], dst_gid: [u8; 16], vlan: Option<u16>) -> Route {
    Route {
        dst_mac: [2, 0, 0, 0, 0, 1],
        src_mac: [2, 0, 0, 0, 0, 2],
        vlan,
        src_gid,
        dst_gid,
        tos: wire::TOS,
        hop_limit: wire::TTL,
        flow_label: if wire::gid_ipv4(&dst_gid).is_none() { 0xC007 } else { 0 },
        sport: 0xC007,
        pkey: 0xFFFF,
        dst_endpoint: 0x12_3456,
        psn: 9,
        qkey: 0x1111_2222,
        src_endpoint: 0x65_4321,
    }
}

/// Both ICRCs were computed by zlib's CRC-32 from the definition: eight bytes
/// of ones, then the packet from its IP header on with ones over TOS, TTL and
/// checksum (IPv6: traffic class, flow label, hop limit), the UDP checksum and
/// byte 4 of the BTH.
#[test]
fn the_icrc_is_that_of_an_independent_computation() {
    let payload: Vec<u8> = (0..12).collect();
    let v4 = (wire::ipv4_gid([10, 0, 0, 2]), wire::ipv4_gid([10, 0, 0, 1]));
    let v6 = |last| [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    for ((source, destination), icrc) in
        [(v4, [0x88, 0x89, 0x88, 0xF7]), ((v6(2), v6(1)), [0x16, 0x61, 0x60, 0x3B])]
    {
        for vlan in [None, Some(0x6123)] {
            let mut frame = [0; MAX_FRAME];
            let route = fixed(source, destination, vlan);
            let len = wire::emit_datagram(&route, None, &payload, &mut frame).unwrap();
            assert_eq!(frame[len - 4..len], icrc, "{:?}", route.form());
        }
    }
}

#[test]
fn families_do_not_mix() {
    let mut frame = [0; MAX_FRAME];
    let route = fixed([0x20; 16], wire::ipv4_gid([10, 0, 0, 1]), None);
    assert_eq!(wire::emit_datagram(&route, None, &[], &mut frame), None);
    let mut tagged_twice = [0; 80];
    tagged_twice[12..18].copy_from_slice(&[0x81, 0, 0, 1, 0x81, 0]);
    assert_eq!(Form::of(&tagged_twice), None);
}
