//! The invariant CRC of RoCEv2: CRC-32 (Ethernet polynomial, reflected) over
//! the packet from its IP header on, with the fields that routers may change
//! replaced by ones.
//!
//! Covered: eight bytes of ones (the masked local route header), then IP, UDP,
//! BTH, extension headers, payload and pad. Masked to ones: IPv4 TOS, TTL and
//! header checksum; IPv6 traffic class, flow label and hop limit; the UDP checksum; byte 4 of the BTH. The result is
//! complemented and sent least significant byte first.

use crate::wire::{IPV4_LEN, IPV6_LEN, UDP_LEN};

/// The reflected CRC-32 polynomial.
pub const POLYNOMIAL: u32 = 0xEDB8_8320;

/// Running state after the eight bytes of ones that stand for the masked local
/// route header (seed all ones).
pub const STATE_AFTER_PREFIX: u32 = 0xDEBB_20E3;

/// Running state (not complemented) after a correct packet *including* its
/// four ICRC bytes, whatever the packet.
pub const RESIDUE: u32 = 0xDEBB_20E3;

/// Bytes of the IPv4 header that are masked, as offsets from its start.
pub const IPV4_MASKED: [usize; 4] = [1, 8, 10, 11];
/// Bytes of the IPv6 header that are masked whole, as offsets from its start:
/// traffic class and flow label but for their first nibble, hop limit.
pub const IPV6_MASKED: [usize; 4] = [1, 2, 3, 7];
/// Bits of the first byte of the IPv6 header that are masked: all but the version.
pub const IPV6_MASKED_NIBBLE: u8 = 0x0F;
/// Bytes of the UDP header that are masked, as offsets from its start.
pub const UDP_MASKED: [usize; 2] = [6, 7];
/// Bytes of the BTH that are masked, as offsets from its start.
pub const BTH_MASKED: [usize; 1] = [4];

/// What a byte does to the state.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            state = if state & 1 == 1 { (state >> 1) ^ POLYNOMIAL } else { state >> 1 };
            bit += 1;
        }
        table[byte] = state;
        byte += 1;
    }
    table
};

/// Feeds one byte to a running state.
pub const fn step(state: u32, byte: u8) -> u32 {
    (state >> 8) ^ TABLE[((state ^ byte as u32) & 0xFF) as usize]
}

/// No byte of a packet from here on is masked, whatever its IP header.
const MASKED_END: usize = IPV6_LEN + UDP_LEN + BTH_MASKED[BTH_MASKED.len() - 1] + 1;

/// The ICRC bytes of a RoCEv2 packet, in wire order.
///
/// `packet` starts at the IP header, whose version says which bytes are masked,
/// and ends before the ICRC. A packet shorter than IP + UDP + BTH is masked as
/// far as it goes.
pub fn rocev2(packet: &[u8]) -> [u8; 4] {
    let v6 = packet.first().is_some_and(|byte| byte >> 4 == 6);
    let udp = if v6 { IPV6_LEN } else { IPV4_LEN };
    let bth = udp + UDP_LEN;
    let (head, rest) = packet.split_at(packet.len().min(MASKED_END));
    let mut state = STATE_AFTER_PREFIX;
    for (offset, &byte) in head.iter().enumerate() {
        let mask = if offset < udp {
            match v6 {
                true if offset == 0 => IPV6_MASKED_NIBBLE,
                true if IPV6_MASKED.contains(&offset) => 0xFF,
                false if IPV4_MASKED.contains(&offset) => 0xFF,
                _ => 0,
            }
        } else if UDP_MASKED.contains(&offset.wrapping_sub(udp))
            || BTH_MASKED.contains(&offset.wrapping_sub(bth))
        {
            0xFF
        } else {
            0
        };
        state = step(state, byte | mask);
    }
    // Payloads are most of what a simulation's fabric touches.
    let mut crc = crc32fast::Hasher::new_with_initial(!state);
    crc.update(rest);
    crc.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_state_is_eight_bytes_of_ones() {
        let state = [0xFFu8; 8].iter().fold(u32::MAX, |s, &b| step(s, b));
        assert_eq!(state, STATE_AFTER_PREFIX);
    }

    #[test]
    fn residue_does_not_depend_on_the_packet() {
        for seed in 0..16u8 {
            let mut state = STATE_AFTER_PREFIX;
            for i in 0..(seed as usize * 7) {
                state = step(state, (i as u8).wrapping_mul(31) ^ seed);
            }
            for byte in (!state).to_le_bytes() {
                state = step(state, byte);
            }
            assert_eq!(state, RESIDUE);
        }
    }

    #[test]
    fn whole_packets_are_their_bytes_in_turn() {
        let mut packet = [0u8; 300];
        for (i, byte) in packet.iter_mut().enumerate() {
            *byte = (i as u8).wrapping_mul(151) ^ (i >> 3) as u8;
        }
        for (version, masked) in
            [(0x45, &[1usize, 8, 10, 11, 26, 27, 32][..]), (0x6F, &[1, 2, 3, 7, 46, 47, 52])]
        {
            packet[0] = version;
            for &offset in masked {
                packet[offset] = 0xFF;
            }
            for len in (0..130).chain([255, 256, 300]) {
                let state = packet[..len].iter().fold(STATE_AFTER_PREFIX, |state, &byte| step(state, byte));
                assert_eq!(rocev2(&packet[..len]), (!state).to_le_bytes(), "{version:#x}, {len} bytes");
            }
        }
    }

    #[test]
    fn masked_bytes_do_not_matter() {
        let mut packet = [0u8; 64];
        for (i, byte) in packet.iter_mut().enumerate() {
            *byte = i as u8;
        }
        let before = rocev2(&packet);
        for offset in [1, 8, 10, 11, 26, 27, 32] {
            packet[offset] ^= 0x5A;
            assert_eq!(rocev2(&packet), before, "byte {offset}");
        }
        packet[12] ^= 1;
        assert_ne!(rocev2(&packet), before);

        packet[0] = 0x60;
        let before = rocev2(&packet);
        for (offset, bits) in
            [(0, 0x0F), (1, 0xFF), (2, 0xFF), (3, 0xFF), (7, 0xFF), (46, 0xFF), (47, 0xFF), (52, 0xFF)]
        {
            packet[offset] ^= bits;
            assert_eq!(rocev2(&packet), before, "byte {offset}");
        }
        for offset in (4..7).chain(8..46).chain(48..52).chain(53..64) {
            packet[offset] ^= 0x10;
            assert_ne!(rocev2(&packet), before, "byte {offset}");
            packet[offset] ^= 0x10;
        }
    }
}
