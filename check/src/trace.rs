//! A way through a scenario in words.
//!
//! ```text
//!     2  B <- DATA A0.1 #0 AR; m0 #0 in r0; m0 received: success; -> COMPLETE A0.1 <1
//! ```
//!
//! In tick 2 packet 0 of the message in slot 0 of node A, generation 1, arrives at B, which
//! writes packet 0 of message 0 to receive 0, tells its host that message 0 has been
//! received, and sends COMPLETE: everything below packet 1 is there.

use tessera_abi::status::Status;

use crate::frame::letter;
use crate::ledger::Event;
use crate::world::{Action, Flight, State, World};

/// Widest line.
const WIDTH: usize = 99;

fn status(code: u8) -> &'static str {
    Status::from_code(code).map_or("a status nobody knows", Status::name)
}

fn event(event: &Event) -> Option<String> {
    Some(match event {
        Event::Named { .. } | Event::Heard { .. } => return None,
        Event::Wrote { receive, packet: Some((message, index)) } => {
            format!("m{message} #{index} in r{receive}")
        }
        Event::Wrote { receive, packet: None } => format!("writes wrong bytes at r{receive}"),
        Event::Received { message: Some(message), status: code, .. } => {
            format!("m{message} received: {}", status(*code))
        }
        Event::Received { message: None, .. } => "an unknown message received".into(),
        Event::Sent { message: Some(message), status: code } => format!("m{message} sent: {}", status(*code)),
        Event::Sent { message: None, .. } => "an unknown message sent".into(),
    })
}

/// Frames of `after` that were sent since `before`, in words.
fn sent(world: &World, before: &State, after: &State) -> Vec<String> {
    let mut old = before.flights.clone();
    let new = |flight: &&Flight| match old.iter().position(|other| other == *flight) {
        Some(at) => {
            old.swap_remove(at);
            false
        }
        None => !flight.copy,
    };
    let new: Vec<&Flight> = after.flights.iter().filter(new).collect();
    new.into_iter().map(|flight| format!("-> {}", world.frame(flight.frame))).collect()
}

/// A turn that is passed on is no line.
fn line(world: &World, before: &State, action: Action, after: &State) -> Option<String> {
    let frame = |flight: Flight| {
        let frame = world.frame(flight.frame);
        let age = before.now - flight.born;
        let late = if age == 1 { String::new() } else { format!(", {age} old") };
        let copy = if flight.copy { ", a copy" } else { "" };
        (letter(frame.to), format!("{frame}{late}{copy}"))
    };
    let what = match action {
        Action::Deliver(flight) | Action::Double(flight) => {
            let (to, text) = frame(flight);
            let stays = if let Action::Double(_) = action { ", doubled" } else { "" };
            format!("{to} <- {text}{stays}")
        }
        Action::Lose(flight) => {
            let (to, text) = frame(flight);
            format!("lost on the way to {to}: {text}")
        }
        Action::Send => format!("m{} is posted", before.sent),
        Action::Receive => "B posts a receive".into(),
        Action::Destroy(index) => format!("{} destroys its endpoint", letter(index.into())),
        Action::Reset(index) => format!("{} is reset", letter(index.into())),
        Action::Wait if before.now == after.now => return None,
        Action::Wait => format!("until {}", after.now),
    };
    let seen = world.events(before, action);
    let parts: Vec<String> = std::iter::once(what)
        .chain(seen.iter().filter_map(event))
        .chain(sent(world, before, after))
        .collect();
    let mut line = format!("{:>5}  {}", before.now, parts.join("; "));
    if line.len() > WIDTH {
        line.truncate(WIDTH - 2);
        line.push_str("..");
    }
    Some(line)
}

/// One line per action, and the rule broken in the end. Ticks in which nothing happens
/// are one line together.
pub fn lines(world: &World, path: Vec<(State, Option<Action>)>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut idle_since = None;
    for pair in path.windows(2) {
        let (before, after) = (&pair[0].0, &pair[1].0);
        let Some(action) = pair[0].1 else { continue };
        let Some(line) = line(world, before, action, after) else { continue };
        let idle = action == Action::Wait && before.nodes == after.nodes;
        if let (true, Some(since)) = (idle, idle_since) {
            lines.pop();
            lines.push(format!("{since:>5}  until {}", after.now));
            continue;
        }
        idle_since = idle.then_some(before.now);
        lines.push(line);
    }
    if let Some(rule) = path.last().and_then(|(state, _)| state.ledger.broken) {
        lines.push(format!("       broken: {}", rule.says()));
    }
    lines
}
