//! The text of `docs/wire.md`.

use super::Layout;
use crate::wire::{self, data, fb, feedback, flag};
use core::fmt::{Result, Write};

const DATA: Layout = &[
    (data::VERSION_TYPE, 1, "VERSION, TYPE", "[7:4] 1; [3:0] 1 DATA, 3 PROBE, 4 RELEASE"),
    (data::FLAGS, 1, "FLAGS", "see below"),
    (data::EV, 1, "EV", "entropy value: the path"),
    (data::SIZE_CLASS, 1, "SIZE, CLASS", "[7:4] log2 of the payload size, 8 to 12; [3:0] traffic class"),
    (data::MESSAGE, 4, "MESSAGE", "slot [31:20] and generation [19:0] of the sender"),
    (data::INDEX, 3, "INDEX", "of the packet; of a PROBE the next to be sent"),
    (data::INITIAL_WINDOW, 1, "INITIAL_WINDOW", "packets sent unasked; 0 is 256"),
    (data::LENGTH, 4, "LENGTH", "bytes of the message"),
    (data::TAG, 8, "TAG", "of a write the remote address of the message's first byte"),
    (data::RKEY, 4, "RKEY", "of a write"),
    (data::IMMEDIATE, 4, "IMMEDIATE", "with the flag IMM"),
    (data::ROUND, 2, "ROUND", "with the flag ROUND"),
    (data::RTT, 2, "RTT", "the sender's smoothed round-trip time, ticks; 0 unknown"),
    (data::TIMESTAMP, 4, "TIMESTAMP", "when it was sent, ticks"),
];

const FEEDBACK: Layout = &[
    (feedback::VERSION_TYPE, 1, "VERSION, TYPE", "[7:4] 1; [3:0] 2"),
    (feedback::FLAGS, 1, "FLAGS", "see below"),
    (feedback::EV, 1, "EV", "of the packet answered"),
    (feedback::STATUS, 1, "STATUS", "of COMPLETE and ABORT, as in [registers.md](registers.md)"),
    (feedback::MESSAGE, 4, "MESSAGE", "as in the packet answered"),
    (feedback::CUMULATIVE, 3, "CUMULATIVE", "every packet below has arrived"),
    (feedback::SEQUENCE, 1, "SEQUENCE", "of this message's feedback, modulo 256"),
    (feedback::GRANT, 3, "GRANT", "packets below may be sent"),
    (feedback::DUPLICATES, 1, "DUPLICATES", "seen so far, at most 255"),
    (feedback::BASE, 3, "BASE", "packet of the bitmap's first bit, a multiple of 256"),
    (feedback::LIMIT, 3, "LIMIT", "of a NACK: packets below whose bit is 0 are asked for"),
    (feedback::DELAY, 2, "DELAY", "from the packet answered to this, ticks; 0xFFFF: no sample"),
    (feedback::ECHO, 4, "ECHO", "TIMESTAMP of the packet answered"),
    (feedback::BITMAP, 32, "BITMAP", "packet BASE + i is bit i % 8 of byte i / 8: 1 has arrived"),
];

type Flags = &'static [(u8, &'static str, &'static str)];

const DATA_FLAGS: Flags = &[
    (flag::AR, "AR", "answer at once"),
    (flag::RETX, "RETX", "a retransmission"),
    (flag::WRITE, "WRITE", "the message is a write, else a tagged send"),
    (flag::HOST_RECOVERY, "HOST_RECOVERY", "the receiver's software recovers it"),
    (flag::ROUND, "ROUND", "ROUND means something"),
    (flag::IMM, "IMM", "IMMEDIATE means something"),
    (flag::EST, "EST", "the sender has heard FEEDBACK other than BUSY for this generation"),
];

const FEEDBACK_FLAGS: Flags = &[
    (fb::COMPLETE, "COMPLETE", "the message has ended well, or in part"),
    (fb::NACK, "NACK", "asks for what is missing below LIMIT"),
    (fb::GRANT, "GRANT", "the grant advanced"),
    (fb::BUSY, "BUSY", "no room, nothing was kept"),
    (fb::ABORT, "ABORT", "the message has ended with an error"),
    (fb::CE, "CE", "the packet answered carried congestion experienced"),
    (fb::RELEASE_REQ, "RELEASE_REQ", "a RELEASE is asked for"),
];

/// Writes `docs/wire.md`.
///
/// # Errors
/// Those of `out`.
pub fn wire(out: &mut dyn Write) -> Result {
    out.write_str(
        "<!-- Generated from `abi`, do not edit: TESSERA_BLESS=1 cargo test -p tessera-testbenches --test documents -->\n\
         # Packets on the wire\n\n```text\n",
    )?;
    let ip = "IPv4 20 or IPv6 40";
    let front = format_args!(
        "Ethernet {} [VLAN {}] | {ip} | UDP {} | BTH {} | DETH {} |",
        wire::ETH_LEN,
        wire::VLAN_LEN,
        wire::UDP_LEN,
        wire::BTH_LEN,
        wire::DETH_LEN,
    );
    let icrc = wire::ICRC_LEN;
    writeln!(out, "{front} TRH {}, payload, pad to 4  | ICRC {icrc}     DATA", wire::TRH_DATA_LEN)?;
    writeln!(out, "{front} TRH {}                     | ICRC {icrc}     PROBE, RELEASE", wire::TRH_DATA_LEN)?;
    writeln!(out, "{front} TRH {}                     | ICRC {icrc}     FEEDBACK", wire::TRH_FEEDBACK_LEN)?;
    writeln!(out, "{front} [imm {}], payload, pad to 4 | ICRC {icrc}     plain UD\n```\n", wire::IMM_LEN)?;
    writeln!(
        out,
        "Numbers are bytes, fields big-endian. UDP port {}, source port {:#06x} + EV; BTH opcode {:#04x} (plain UD with immediate {:#04x}),\n\
         PSN = the packet's index, which receivers ignore. All is bit for bit a RoCEv2 UD packet; what follows the DETH is its payload, and means the\n\
         reliability header (TRH) to an endpoint of reliable messages alone. The ICRC is RoCEv2's ([spec](spec/README.md), RX-8 for IPv6).",
        wire::UDP_PORT,
        wire::SPORT_BASE,
        wire::OPCODE_UD_SEND,
        wire::OPCODE_UD_SEND_IMM,
    )?;
    section(out, "DATA, PROBE and RELEASE", wire::TRH_DATA_LEN, DATA, DATA_FLAGS)?;
    out.write_str("\nOf a RELEASE only TYPE, EV, MESSAGE and TIMESTAMP mean something; the rest is 0.\n")?;
    section(out, "FEEDBACK", wire::TRH_FEEDBACK_LEN, FEEDBACK, FEEDBACK_FLAGS)
}

fn section(out: &mut dyn Write, name: &str, len: usize, layout: Layout, flags: Flags) -> Result {
    writeln!(out, "\n## {name}: {len} bytes\n\n| byte | bytes | name | meaning |\n|---|---|---|---|")?;
    for (at, bytes, name, doc) in layout {
        writeln!(out, "| {at} | {bytes} | {name} | {doc} |")?;
    }
    out.write_str("\n| flag | name | |\n|---|---|---|\n")?;
    for (bit, name, doc) in flags {
        writeln!(out, "| {} | {name} | {doc} |", bit.trailing_zeros())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_field() {
        for (layout, len) in [(DATA, wire::TRH_DATA_LEN), (FEEDBACK, wire::TRH_FEEDBACK_LEN)] {
            let end = layout.iter().fold(0, |end, (at, bytes, name, _)| {
                assert_eq!(*at, end, "{name}");
                at + bytes
            });
            assert_eq!(end, len);
        }
    }
}
