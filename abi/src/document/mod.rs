//! The texts of `docs/registers.md` and `docs/wire.md`, made from the constants: the
//! documents cannot disagree with the hardware or the driver.
//!
//! Kept up to date by `testbenches/tests/documents.rs`.

mod wire;

pub use wire::wire;

use crate::queue::{self, done, recv, send};
use crate::regs::{self, Access, Counter, Field};
use crate::status::{Drop, Status};
use core::fmt::{Result, Write};

/// Writes `docs/registers.md`.
///
/// # Errors
/// Those of `out`.
pub fn registers(out: &mut dyn Write) -> Result {
    out.write_str(
        "<!-- Generated from `abi`, do not edit: TESSERA_BLESS=1 cargo test -p tessera-testbenches --test documents -->\n\
         # Registers, tables and queue entries\n\n\
         AXI4-Lite, 32-bit registers at byte addresses, little-endian. An access of a whole, aligned word listed here is answered OKAY. SLVERR, which\n\
         changes nothing and reads as 0, is the answer to other addresses, partial writes and writes of read-only registers, to doorbells before STATUS.ready, to table\n\
         commands while TABLE_STATUS.busy or of an entry that does not exist, to orders while RECOVER_STATUS.busy, and to writes but of RESET while RESET_STATUS.busy.\n\
         Bits above a register's width are ignored and read as 0. A tick is 64 ns at 250 MHz.\n\n\
         ## Global registers\n\n\
         | address | name | access | bits | reset | meaning |\n|---|---|---|---|---|---|\n",
    )?;
    for reg in regs::MAP {
        let access = match reg.access {
            Access::Ro => "ro",
            Access::Rw => "rw",
            Access::Wo => "wo",
        };
        let (offset, name, width, doc) = (reg.offset, reg.name, reg.width, reg.doc);
        match reg.reset {
            small @ 0..=0xFFFF => {
                writeln!(out, "| {offset:#05x} | {name} | {access} | {width} | {small} | {doc} |")?;
            }
            large if large % 1000 == 0 => {
                writeln!(out, "| {offset:#05x} | {name} | {access} | {width} | {large} | {doc} |")?;
            }
            large => writeln!(out, "| {offset:#05x} | {name} | {access} | {width} | {large:#x} | {doc} |")?,
        }
    }
    writeln!(
        out,
        "\nSIZES0, SIZES1 and SIZES2 reset to the sizes of the configuration.\n\n\
         | address | holds |\n|---|---|\n\
         | {:#05x} + 4 * word | TABLE_DATA, {} words: the entry that TABLE_COMMAND writes or has read; writes are refused while tables are cleared after a reset |\n\
         | {:#05x} + 4 * index | counters, {} of 32 bits, wrapping |\n\
         | {:#x} + {:#x} * kind + 4 * EV | counters of entropy values, 32 bits, 0 after reset, wrapping: 0 packets sent, 1 echoes that came back clean, 2 echoes with congestion-experienced |\n\
         | {:#x} + {:#x} * index + {:#x} | send queue tail of endpoint `index`, write only |\n\
         | {:#x} + {:#x} * index + {:#x} | receive queue tail of endpoint `index`, write only |\n\
         | {:#x} + {:#x} * index + {:#x} | head of completion queue `index`, write only |\n\
         | {:#x} + {:#x} * index + {:#x} | a round of endpoint `index`: id [15:0], messages it needs [31:16], 0 forgets it; write only |\n\n\
         A queue doorbell's value is a 16-bit running index: one past the last entry posted, or the number of completions consumed.\n",
        regs::TABLE_DATA,
        regs::TABLE_WORDS,
        regs::COUNTERS,
        regs::COUNTER_COUNT,
        regs::PATH_COUNTERS,
        regs::PATH_BANK,
        regs::doorbell_page(0),
        regs::doorbell_page(1) - regs::doorbell_page(0),
        regs::DOORBELL_SQ,
        regs::doorbell_page(0),
        regs::doorbell_page(1) - regs::doorbell_page(0),
        regs::DOORBELL_RQ,
        regs::doorbell_page(0),
        regs::doorbell_page(1) - regs::doorbell_page(0),
        regs::DOORBELL_CQ,
        regs::doorbell_page(0),
        regs::doorbell_page(1) - regs::doorbell_page(0),
        regs::DOORBELL_ROUND,
    )?;
    out.write_str("## Tables\n\nData word `w` holds bits `32w..32w+32` of an entry.\n")?;
    let tables = [
        (
            regs::table::ENDPOINT,
            "endpoints",
            regs::endpoint::FIELDS,
            "Writing an entry sets the running indexes of both rings to 0 and forgets entries read but not begun.",
        ),
        (
            regs::table::CQ,
            "completion queues",
            regs::cq::FIELDS,
            "Writing an entry sets both running indexes to 0, so that the first pass writes phase 1.",
        ),
        (regs::table::MR, "memory keys", regs::mr::FIELDS, "A key is `KEY_HI << 8 | index`."),
        (
            regs::table::PATH,
            "places of policy `weighted`",
            regs::path::FIELDS,
            "A round of packets goes through all 256; a path's weight is the number of places that name it. Written, never read.",
        ),
    ];
    for (number, name, fields, note) in tables {
        writeln!(
            out,
            "\n### Table {number}: {name}\n\n{note}\n\n| bits | word | name | meaning |\n|---|---|---|---|"
        )?;
        for Field { name, lsb, width, doc } in fields {
            writeln!(out, "| {}:{lsb} | {} | {name} | {doc} |", lsb + width - 1, lsb / 32)?;
        }
    }
    counters(out)?;
    entries(out)
}

fn counters(out: &mut dyn Write) -> Result {
    out.write_str("\n## Counters\n\nDrop reasons in code order (precedence is RX-1, RX-7, RO-6), then events.\n\n| index | address | name | counts |\n|---|---|---|---|\n")?;
    for reason in Drop::ALL {
        let index = *reason as u32;
        writeln!(
            out,
            "| {index} | {:#05x} | {} | packets dropped for this reason |",
            regs::counter(index),
            reason.name()
        )?;
    }
    for event in Counter::ALL {
        let index = *event as u32;
        writeln!(out, "| {index} | {:#05x} | {} | {} |", regs::counter(index), event.name(), event.doc())?;
    }
    Ok(())
}

/// Fields of an entry: where, bytes, name, meaning.
type Layout = &'static [(usize, usize, &'static str, &'static str)];

const SEND: Layout = &[
    (send::OPCODE, 1, "OPCODE", "1 send, 2 write, 3 datagram"),
    (send::FLAGS, 1, "FLAGS", "bit 0 IMMEDIATE is valid, 1 the receiver's software recovers (sends only), 2 ROUND is valid, 3 frames have the tag VLAN"),
    (send::PAYLOAD_LOG2, 1, "PAYLOAD_LOG2", "log2 of the bytes per packet, of a datagram of the path MTU: 8 to 12"),
    (send::TRAFFIC_CLASS, 1, "TRAFFIC_CLASS", "low four bits, for the receiver to read; of a datagram the TOS byte or IPv6 traffic class"),
    (send::LENGTH, 4, "LENGTH", "bytes of the message"),
    (send::ADDRESS, 8, "ADDRESS", "where they are"),
    (send::LKEY, 4, "LKEY", "local key"),
    (send::INITIAL_WINDOW, 1, "INITIAL_WINDOW", "packets; 0 the register's"),
    (send::HOP_LIMIT, 1, "HOP_LIMIT", "of a datagram: time to live or hop limit; 0 is 64"),
    (send::TAG, 8, "TAG", "of a send"),
    (send::IMMEDIATE, 4, "IMMEDIATE", ""),
    (send::QKEY, 4, "QKEY", "the destination's; of a datagram with bit 31 set the endpoint's own is sent"),
    (send::ENDPOINT, 4, "ENDPOINT", "the destination's number, 24 bits"),
    (send::ROUND, 2, "ROUND", "round of the receiver"),
    (send::MAC, 6, "MAC", "of the next hop, wire order"),
    (send::VLAN, 2, "VLAN", "tag control information"),
    (send::GID, 16, "GID", "of the destination, wire order"),
    (send::RKEY, 4, "RKEY", "of a write: remote key"),
    (send::REMOTE_ADDRESS, 8, "REMOTE_ADDRESS", "of a write: where its first byte goes"),
];

const RECV: Layout = &[
    (recv::ADDRESS, 8, "ADDRESS", "of the buffer"),
    (recv::LENGTH, 4, "LENGTH", "bytes of it"),
    (recv::LKEY, 4, "LKEY", "local key"),
    (recv::TAG, 8, "TAG", "of a tagged receive or a cancel"),
    (
        recv::FLAGS,
        1,
        "FLAGS",
        "bit 0 tagged, 1 takes a tagged one back, 2 the buffer begins with a chunk area (not with bit 0)",
    ),
    (
        recv::AREA,
        1,
        "AREA",
        "[3:0] log2 of the packets per chunk, at most 5; [7:4] k of an area of 64 << k bytes",
    ),
    (recv::TARGET, 2, "TARGET", "of a cancel: running index of the tagged receive"),
    (recv::HANDLE, 2, "HANDLE", "of a cancel: what its POSTED told"),
];

const DONE: Layout = &[
    (done::OPCODE, 1, "OPCODE", "1 a send request ended; 2 a message arrived, or a receive ended; 3 POSTED: a tagged receive is in place, LENGTH is its handle; 4 a message that matched no tag begins to arrive and took ENTRY of RING; 5 the cancel ENTRY is done"),
    (done::STATUS, 1, "STATUS", "see below"),
    (done::FLAGS, 1, "FLAGS", "bit 0 IMMEDIATE is valid, 1 a write, 2 a datagram (40 bytes of GRH area first, in LENGTH too), 3 it came with VLAN"),
    (done::ENDPOINT, 2, "ENDPOINT", "table index of the local endpoint"),
    (done::ENTRY, 2, "ENTRY", "running index of the entry that this ends"),
    (done::LENGTH, 4, "LENGTH", "bytes of the message"),
    (done::IMMEDIATE, 4, "IMMEDIATE", ""),
    (done::TAG, 8, "TAG", "of a send; of a write the remote address; of a datagram received MAC and VLAN"),
    (done::MAC, 6, "MAC", "of a datagram received: where it came from, wire order"),
    (done::VLAN, 2, "VLAN", "of a datagram received: tag control information"),
    (done::MESSAGE, 4, "MESSAGE", "slot [31:20], generation [19:0]"),
    (done::PEER_ENDPOINT, 4, "PEER_ENDPOINT", "the peer's number, 24 bits"),
    (done::PEER_GID, 16, "PEER_GID", "wire order"),
    (done::TIMESTAMP, 4, "TIMESTAMP", "ticks when the entry was written"),
    (done::RING, 2, "RING", "of a receive: table index of the endpoint or shared ring that had the entry; of a send 0"),
    (done::PHASE, 1, "PHASE", "bit 0: 1 in the first pass through the ring, then in turns"),
];

fn entries(out: &mut dyn Write) -> Result {
    out.write_str(
        "\n## Queue entries\n\nRings of a power of two of entries in host memory. Little-endian, but for what is in wire order; bytes not listed are 0.\n\
         A chunk area is laid out in `abi::queue::area`.\n",
    )?;
    for (name, len, layout) in [
        ("Send queue", queue::SEND_ENTRY_LEN, SEND),
        ("Receive queue", queue::RECV_ENTRY_LEN, RECV),
        ("Completion queue", queue::COMPLETION_LEN, DONE),
    ] {
        writeln!(
            out,
            "\n### {name} entry: {len} bytes\n\n| byte | bytes | name | meaning |\n|---|---|---|---|"
        )?;
        for (at, bytes, name, doc) in layout {
            writeln!(out, "| {at} | {bytes} | {name} | {doc} |")?;
        }
    }
    out.write_str("\n| status | name |\n|---|---|\n")?;
    for status in Status::ALL {
        writeln!(out, "| {} | {} |", *status as u8, status.name())?;
    }
    Ok(())
}
