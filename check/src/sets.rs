//! The scenarios: those in which all must hold, and those with a mistake in each.
//!
//! Every one is small in another place: slots, contexts, receives, credit, room to
//! remember. The quick set is a part of CI; the deep ones are the same with more loss,
//! more copies or longer lives, and take minutes.

use tessera_abi::params::{Config, TINY};
use tessera_model::{PathPolicy, Settings};

use crate::ledger::Rule;
use crate::scenario::{Fault, Message, Scenario, NODES, PAYLOAD_LOG2};

/// The smallest NIC: one slot, one context, one block.
const SMALLEST: Config = Config {
    name: "smallest",
    tx_slots_log2: 0,
    rx_contexts_log2: 0,
    tombstones: 4,
    table_sets_log2: 0,
    bitmap_blocks_log2: 0,
    retransmit_entries_log2: 0,
    tagged_log2: 0,
    host_recovery: false,
    ..TINY
};

/// Two of each, but for what a scenario says.
const SMALL: Config = Config {
    name: "small",
    tx_slots_log2: 1,
    rx_contexts_log2: 1,
    bitmap_blocks_log2: 1,
    retransmit_entries_log2: 2,
    ..SMALLEST
};

/// Short lives: a packet lives two ticks, two PROBEs without an answer end a message.
/// The rest follows as the registers ask: TIME_WAIT >= T_OPEN + MPL, RX_GIVE_UP > the
/// sender's silence + MPL.
fn hasty() -> Settings {
    Settings {
        path_policy: PathPolicy::Single,
        path_count: 1,
        path_base: 0,
        gap0: 16,
        skew0: 1,
        skew_max: 1,
        guard: 1,
        d_min: 1,
        rtt_default: 2,
        answer0: 2,
        rto: 4,
        rto_round: 4,
        max_retry: 2,
        t_open: 16,
        grant_wait: 16,
        mpl: 2,
        time_wait: 18,
        rx_give_up: 20,
        release_low: 0,
        busy_wait: 2,
        credit_limit: 8192,
        unsolicited_limit: 8192,
        credit_policy: 0,
        ..Settings::default()
    }
}

/// A message of so many packets, the last of one byte.
fn send(from: usize, to: usize, packets: u32) -> Message {
    Message { from, to, length: ((packets - 1) << PAYLOAD_LOG2) + 1 }
}

fn base(name: &str, about: &'static str) -> Scenario {
    Scenario {
        name: name.into(),
        about,
        quick: true,
        sizes: SMALLEST,
        settings: hasty(),
        messages: vec![send(0, 1, 1)],
        at_start: 1,
        receives: 2,
        late_receives: 0,
        losses: 0,
        copies: 0,
        resets: [0; NODES],
        destroys: [0; NODES],
        until: 0,
        tx_quota: 0,
        generation: 0,
        forges: false,
        arrives: true,
        reaches: &[],
        fault: None,
        breaks: None,
    }
}

/// The same with more losses and copies.
fn deep(of: &[Scenario], name: &str, losses: u8, copies: u8) -> Option<Scenario> {
    let quick = of.iter().find(|scenario| scenario.name == name)?.clone();
    Some(Scenario { name: format!("{name}_deep"), quick: false, losses, copies, ..quick })
}

/// Every scenario in which all must hold.
pub fn scenarios() -> Vec<Scenario> {
    let mut all = quick();
    let deeper = [
        ("single", 3, 2),
        ("three", 2, 2),
        ("granted", 2, 1),
        ("hasty", 1, 1),
        ("again", 1, 1),
        ("wrap", 0, 2),
        ("replaced", 3, 0),
        ("tombstones", 1, 1),
        ("credit", 2, 0),
        ("senders", 1, 1),
        ("contexts", 1, 1),
        ("receive", 2, 1),
        ("resets", 1, 1),
        ("destroyed", 1, 1),
        ("quota", 1, 1),
    ];
    let deep: Vec<Scenario> =
        deeper.iter().filter_map(|&(name, losses, copies)| deep(&all, name, losses, copies)).collect();
    all.extend(deep);
    all
}

fn quick() -> Vec<Scenario> {
    let one_by_one = Settings { initial_window: 1, grant_quantum: 1, ..hasty() };
    let long_lived = Settings { mpl: 3, time_wait: 19, rx_give_up: 24, ..hasty() };
    let short_rto = Settings { rto: 2, rtt_default: 1, ..long_lived };
    vec![
        Scenario {
            losses: 2,
            copies: 2,
            forges: true,
            reaches: &["success", "finished", "feedback_stale"],
            ..base("single", "a message of one packet; every frame forged, too")
        },
        Scenario {
            messages: vec![send(0, 1, 3)],
            losses: 1,
            copies: 1,
            forges: true,
            reaches: &["success", "finished", "duplicate"],
            ..base("three", "a message of three packets, sent unasked")
        },
        Scenario {
            messages: vec![send(0, 1, 3)],
            settings: one_by_one,
            losses: 1,
            reaches: &["success"],
            ..base("granted", "a message of three packets, each but the first granted")
        },
        Scenario {
            settings: short_rto,
            losses: 1,
            arrives: false,
            reaches: &["success", "finished"],
            ..base("hasty", "packets that live for longer than senders wait: PROBEs that nothing called for")
        },
        Scenario {
            messages: vec![send(0, 1, 1), Message { length: 0, ..send(0, 1, 1) }],
            settings: long_lived,
            until: 4,
            copies: 1,
            reaches: &["success", "stale", "feedback_stale"],
            ..base("again", "a slot used twice, the second time for a message without bytes")
        },
        Scenario {
            messages: vec![send(0, 1, 1); 3],
            settings: long_lived,
            receives: 3,
            until: 5,
            copies: 1,
            generation: 0xF_FFFD,
            reaches: &["success", "stale", "feedback_stale"],
            ..base("wrap", "a slot used three times, its generation wraps")
        },
        Scenario {
            messages: vec![send(0, 1, 2); 2],
            settings: Settings { max_retry: 0, d_min: 18, ..hasty() },
            until: 8,
            losses: 2,
            arrives: false,
            reaches: &["success", "replaced", "retry_exceeded"],
            ..base("replaced", "a message that its sender gave up, and the next of its slot")
        },
        Scenario {
            messages: vec![Message { from: 0, to: 1, length: 0x801 }],
            losses: 2,
            copies: 1,
            arrives: false,
            settings: one_by_one,
            reaches: &["length", "abort"],
            ..base("short", "a receive shorter than the message")
        },
        Scenario {
            sizes: Config { tx_slots_log2: 2, tombstones: 2, ..SMALL },
            settings: Settings { release_low: 1, ..hasty() },
            messages: vec![send(0, 1, 1); 3],
            at_start: 3,
            receives: 3,
            losses: 1,
            arrives: false,
            reaches: &["success", "release", "busy_resources"],
            ..base("tombstones", "three messages, room to remember two")
        },
        Scenario {
            sizes: SMALL,
            settings: Settings { credit_limit: 256, ..one_by_one },
            messages: vec![send(0, 1, 2); 2],
            at_start: 2,
            losses: 1,
            reaches: &["success", "grant"],
            ..base("credit", "two messages, credit for one packet")
        },
        Scenario {
            sizes: SMALL,
            settings: Settings { credit_each: 0, ..one_by_one },
            messages: vec![send(0, 1, 3)],
            losses: 1,
            reaches: &["success", "grant"],
            ..base("each", "a grant only once all before has come")
        },
        Scenario {
            messages: vec![send(0, 1, 2), send(2, 1, 2)],
            at_start: 2,
            losses: 1,
            reaches: &["success", "busy_resources", "busy"],
            ..base("senders", "two senders, one context")
        },
        Scenario {
            sizes: Config { rx_contexts_log2: 0, ..SMALL },
            messages: vec![send(0, 1, 2); 2],
            at_start: 2,
            losses: 1,
            reaches: &["success", "busy", "busy_resources"],
            ..base("contexts", "two messages, one context")
        },
        Scenario {
            receives: 0,
            late_receives: 1,
            until: 8,
            losses: 1,
            copies: 1,
            arrives: false,
            reaches: &["success", "busy_receive", "receiver_not_ready"],
            ..base("receive", "the receive is posted late, or never")
        },
        Scenario {
            messages: vec![send(0, 1, 1); 2],
            until: 5,
            copies: 1,
            losses: 1,
            resets: [1, 0, 0],
            ..base("sender_reset", "the sender is reset")
        },
        Scenario {
            messages: vec![send(0, 1, 1); 2],
            until: 5,
            copies: 1,
            losses: 1,
            resets: [0, 1, 0],
            ..base("receiver_reset", "the receiver is reset")
        },
        Scenario {
            messages: vec![send(0, 1, 1); 2],
            until: 4,
            losses: 1,
            resets: [1, 1, 0],
            reaches: &["success", "endpoint"],
            ..base("resets", "both are reset")
        },
        Scenario {
            messages: vec![send(0, 1, 2), send(1, 0, 2)],
            at_start: 2,
            losses: 1,
            reaches: &["success"],
            ..base("duplex", "messages both ways")
        },
        Scenario {
            messages: vec![send(0, 1, 2); 2],
            until: 4,
            losses: 1,
            destroys: [1, 1, 0],
            reaches: &["success", "destroyed", "flushed", "unheard", "endpoint"],
            ..base("destroyed", "endpoints that go while their messages are under way")
        },
        Scenario {
            messages: vec![send(0, 1, 1); 3],
            at_start: 2,
            receives: 3,
            until: 4,
            tx_quota: 1,
            losses: 1,
            destroys: [1, 0, 0],
            reaches: &["success", "flushed"],
            ..base("quota", "an endpoint that may send one message at a time, and goes")
        },
    ]
}

/// Scenarios with a mistake in each, which must be found.
pub fn seeded() -> Vec<Scenario> {
    let patient = Settings { max_retry: 9, ..hasty() };
    vec![
        Scenario {
            messages: vec![send(0, 1, 1); 2],
            copies: 1,
            until: 6,
            fault: Some(Fault::NoGenerationCheck),
            breaks: Some(Rule::Undelivered),
            ..base("no_generation", "a sender that does not compare generations")
        },
        Scenario {
            copies: 1,
            fault: Some(Fault::NoTombstone),
            breaks: Some(Rule::DeliveredTwice),
            ..base("no_tombstone", "a receiver that forgets at once what has ended")
        },
        Scenario {
            settings: patient,
            receives: 0,
            arrives: false,
            fault: Some(Fault::DeafToBusy),
            breaks: Some(Rule::Untrue),
            ..base("deaf_to_busy", "a sender that never hears BUSY")
        },
        Scenario {
            sizes: Config { rx_contexts_log2: 0, ..SMALL },
            messages: vec![send(0, 1, 2); 2],
            at_start: 2,
            fault: Some(Fault::BusyIsYes),
            breaks: Some(Rule::Failed),
            ..base("busy_is_yes", "a sender that takes BUSY for acceptance")
        },
        Scenario {
            copies: 1,
            resets: [0, 1, 0],
            until: 5,
            fault: Some(Fault::OldEndpointNumber),
            breaks: Some(Rule::DeliveredTwice),
            ..base("old_number", "a receiver whose endpoint keeps its number over a reset")
        },
        Scenario {
            messages: vec![send(0, 1, 1); 2],
            resets: [1, 0, 0],
            until: 5,
            fault: Some(Fault::FreshGenerations),
            breaks: Some(Rule::Undelivered),
            ..base("fresh_generations", "a sender that is after a reset as at power-on")
        },
    ]
}
