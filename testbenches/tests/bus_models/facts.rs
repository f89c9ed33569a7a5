//! Numbers of `abi` for Python.

use serde_json::{json, Map, Value};
use tessera_abi::regs::{self, table, Access, Counter, Field};
use tessera_abi::status::{Drop, Status};
use tessera_abi::{corundum, queue};
use tessera_sim::verilator::{Design, Direction};

/// `{"NAME": module::NAME, ...}`
macro_rules! numbers {
    ($module:path: $($name:ident)+) => {{
        use $module as from;
        let entries = [$((stringify!($name).to_owned(), Value::from(from::$name)),)+];
        Value::from(Map::from_iter(entries))
    }};
}

fn registers() -> Value {
    let entry = |reg: &regs::Reg| {
        let access = match reg.access {
            Access::Ro => "ro",
            Access::Rw => "rw",
            Access::Wo => "wo",
        };
        let facts = json!({ "offset": reg.offset, "access": access, "width": reg.width, "reset": reg.reset });
        (reg.name.to_owned(), facts)
    };
    regs::MAP.iter().map(entry).collect::<Map<_, _>>().into()
}

fn fields(layout: &[Field]) -> Value {
    let entry = |field: &Field| (field.name.to_owned(), json!([field.lsb, field.width]));
    layout.iter().map(entry).collect::<Map<_, _>>().into()
}

fn counters() -> Value {
    let events = Counter::ALL.iter().map(|counter| (counter.name(), *counter as u32));
    let drops = Drop::ALL.iter().map(|drop| (drop.name(), *drop as u32));
    let entry = |(name, index): (&str, u32)| (name.to_owned(), regs::counter(index).into());
    events.chain(drops).map(entry).collect::<Map<_, _>>().into()
}

fn statuses() -> Value {
    let entry = |status: &Status| (status.name().to_owned(), (*status as u8).into());
    Status::ALL.iter().map(entry).collect::<Map<_, _>>().into()
}

/// Everything that the benches take from here.
pub fn json(design: &Design) -> String {
    let inputs: Vec<&str> = design
        .ports
        .iter()
        .filter(|port| port.direction == Direction::In && !port.is_clock)
        .map(|port| port.name.as_str())
        .collect();
    let facts = json!({
        "inputs": inputs,
        "magic": regs::MAGIC_VALUE,
        "registers": registers(),
        "counters": counters(),
        "status": statuses(),
        "fields": {
            "endpoint": fields(regs::endpoint::FIELDS),
            "cq": fields(regs::cq::FIELDS),
            "mr": fields(regs::mr::FIELDS),
        },
        "tables": { "endpoint": table::ENDPOINT, "cq": table::CQ, "mr": table::MR },
        "table_data": regs::TABLE_DATA,
        "table_words": regs::TABLE_WORDS,
        "interrupt_enable": regs::INTERRUPT_ENABLE,
        "doorbells": regs::doorbell_page(0),
        "doorbell_page": regs::doorbell_page(1) - regs::doorbell_page(0),
        "doorbell_sq": regs::DOORBELL_SQ,
        "doorbell_rq": regs::DOORBELL_RQ,
        "doorbell_cq": regs::DOORBELL_CQ,
        "send": numbers!(queue::send: OPCODE PAYLOAD_LOG2 LENGTH ADDRESS LKEY TAG QKEY ENDPOINT MAC GID RKEY REMOTE_ADDRESS),
        "recv": numbers!(queue::recv: ADDRESS LENGTH LKEY),
        "done": numbers!(queue::done: OPCODE STATUS FLAGS ENDPOINT ENTRY LENGTH TAG PEER_ENDPOINT PEER_GID PHASE),
        "send_entry_len": queue::SEND_ENTRY_LEN,
        "recv_entry_len": queue::RECV_ENTRY_LEN,
        "completion_len": queue::COMPLETION_LEN,
        "op_send": queue::OP_SEND,
        "op_write": queue::OP_WRITE,
        "done_send": queue::DONE_SEND,
        "done_recv": queue::DONE_RECV,
        "block": numbers!(corundum::offset: TYPE VERSION NEXT WINDOW ENABLE PORT QPN_VALUE QPN_MASK RX_TAKEN RX_PASSED
            TX_INJECTED TX_PASSED TX_ENDED NOW RX_TIME TX_TIME),
        "app_id": corundum::APP_ID,
        "block_version": corundum::VERSION,
        "window": corundum::WINDOW,
        "bar_bits": corundum::BAR_BITS,
        "statistics": corundum::STATISTICS,
        "event_type": corundum::EVENT_TYPE,
        "event_frame": corundum::event_frame(0).to_vec(),
    });
    serde_json::to_string_pretty(&facts).unwrap_or_else(|error| panic!("{error}"))
}
