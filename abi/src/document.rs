//! The text of `docs/registers.md`, made from the constants: the document
//! cannot disagree with the hardware or the driver.
//!
//! Kept up to date by `testbenches/tests/documents.rs`.

use crate::queue;
use crate::regs::{self, Access, Counter, Field};
use crate::status::{Drop, Status};
use core::fmt::{Result, Write};

/// Writes the whole document in Markdown.
///
/// # Errors
/// Those of `out`.
pub fn registers(out: &mut dyn Write) -> Result {
    out.write_str(
        "<!-- Generated from `abi`, do not edit: TESSERA_BLESS=1 cargo test -p tessera-testbenches --test documents -->\n\
         # Registers, tables and queue entries\n\n\
         AXI4-Lite, 32-bit registers at byte addresses, little-endian. An access of a whole, aligned word listed here is answered OKAY; everything\n\
         else (other addresses, partial writes, writes of read-only registers) is answered SLVERR, changes nothing and reads as 0.\n\
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
         | {:#05x} + 4 * word | TABLE_DATA, {} words: the entry that TABLE_COMMAND writes or has read |\n\
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

fn entries(out: &mut dyn Write) -> Result {
    writeln!(
        out,
        "\n## Queue entries\n\nBytes: send {}, receive {}, completion {}. Offsets of their fields are the constants of `abi::queue`.\n\n\
         | status | name |\n|---|---|",
        queue::SEND_ENTRY_LEN,
        queue::RECV_ENTRY_LEN,
        queue::COMPLETION_LEN,
    )?;
    for status in Status::ALL {
        writeln!(out, "| {} | {} |", *status as u8, status.name())?;
    }
    Ok(())
}
