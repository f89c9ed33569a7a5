//! A trace: what hosts compute and send, and what each of it waits for.
//!
//! ```text
//!   # id, host, peer, bytes, after, delay
//!   fwd0,  0,   -,      ,      , 50000      host 0 computes for 50 us
//!   act0,  0,   1, 65536,  fwd0             then sends 64 KiB to host 1
//!   fwd1,  1,   -,      ,  act0, 50000      host 1 computes when it has got them
//!   bwd,   1,   0, 65536,  fwd1; act0       and sends them back
//! ```
//!
//! A line is a node: with a peer a message, without (`-` or nothing) a computation.
//! `id` is any word without `,`, `;` or blanks. `after` names nodes, of any lines, that
//! must be over first, as far as `host` can know it: its own computations, messages that
//! it receives (delivered), messages that it has sent (acknowledged). `delay`, in
//! nanoseconds, is how long a computation takes, and how long a message waits once all
//! before it is over. Fields at the end may be left out, blanks do not matter, `#` begins
//! a comment.
//!
//! That is what a Chakra execution trace says (S. Sridharan et al., "Chakra", 2023): its
//! compute nodes are lines without a peer, a send and the receive that belongs to it are
//! one line, its collectives must have been taken apart into these, and its data and
//! control dependencies are both `after`.

use std::collections::HashMap;

use crate::Ps;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Computes.
    Compute,
    /// Sends a message.
    Send {
        /// Host it is for.
        peer: u32,
        /// Length.
        bytes: u32,
    },
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub host: u32,
    /// What.
    pub work: Work,
    /// Duration of a computation, or what a message waits.
    pub delay: Ps,
    /// Nodes that must be over, by their numbers.
    pub after: Vec<u32>,
}

impl Node {
    /// Whether `host` sends, receives or computes it.
    fn concerns(&self, host: u32) -> bool {
        self.host == host || matches!(self.work, Work::Send { peer, .. } if peer == host)
    }
}

/// Nodes in the order of their lines; nothing waits for itself, however indirectly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    nodes: Vec<Node>,
}

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Too few fields, or too many.
    #[error("line {line}: {count} fields; write id,host,peer,bytes,after,delay, of which the last two may be left out")]
    Fields {
        /// Line.
        line: usize,
        /// Its fields.
        count: usize,
    },
    /// An id that is none.
    #[error("line {line}: `{text}` is no id; write a word without blanks and `;`")]
    Id {
        /// Line.
        line: usize,
        /// What is there.
        text: String,
    },
    /// A number that is none.
    #[error("line {line}: {field} is `{text}`; write a whole number from {least} to {most}")]
    Number {
        /// Line.
        line: usize,
        /// Which field.
        field: &'static str,
        /// What is there.
        text: String,
        /// Least that it may be.
        least: u64,
        /// Most.
        most: u64,
    },
    /// A host that there is not.
    #[error("line {line}: host {host}, but the network has {hosts}: 0 to {last}; use a larger shape or fewer hosts", last = hosts.saturating_sub(1))]
    NoHost {
        /// Line.
        line: usize,
        /// Named.
        host: u64,
        /// There are.
        hosts: u32,
    },
    /// A message of a host to itself.
    #[error("line {line}: host {host} sends to itself; leave the peer out to compute instead")]
    Itself {
        /// Line.
        line: usize,
        /// Host.
        host: u32,
    },
    /// A computation with bytes.
    #[error("line {line}: bytes without a peer; name the peer, or leave the bytes out")]
    NoPeer {
        /// Line.
        line: usize,
    },
    /// An id that is there already.
    #[error("line {line}: id `{id}` is taken by line {first}; give each line its own")]
    Twice {
        /// Line.
        line: usize,
        /// Id.
        id: String,
        /// Line that has it.
        first: usize,
    },
    /// An id that no line has.
    #[error("line {line}: waits for `{id}`, which no line has; correct the id or add the line")]
    Unknown {
        /// Line.
        line: usize,
        /// Id.
        id: String,
    },
    /// A host that waits for what it cannot know of.
    #[error("line {line}: host {host} waits for `{id}`, which it neither does nor receives; let a message tell it")]
    Foreign {
        /// Line.
        line: usize,
        /// Host.
        host: u32,
        /// Id.
        id: String,
    },
    /// Nodes that wait for one another.
    #[error("line {line}: `{}` wait for one another in a circle; take one of these out of an `after`", ids.join("` <- `"))]
    Circle {
        /// Line of the first.
        line: usize,
        /// Each waits for the next, the last for the first.
        ids: Vec<String>,
    },
}

impl Trace {
    /// Reads a trace for a network of so many hosts.
    ///
    /// # Errors
    /// If it is none, and in which line.
    pub fn parse(text: &str, hosts: u32) -> Result<Self, TraceError> {
        let mut nodes = Vec::new();
        // By node: its line, and what it waits for.
        let mut lines: Vec<(usize, &str)> = Vec::new();
        let mut ids: HashMap<&str, u32> = HashMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or("").trim();
            if text.is_empty() {
                continue;
            }
            let fields: Vec<&str> = text.split(',').map(str::trim).collect();
            let (id, after, node) = node(line, &fields, hosts)?;
            if let Some(first) = ids.insert(id, nodes.len() as u32) {
                let first = lines[first as usize].0;
                return Err(TraceError::Twice { line, id: id.into(), first });
            }
            nodes.push(node);
            lines.push((line, after));
        }
        for (number, &(line, after)) in lines.iter().enumerate() {
            let host = nodes[number].host;
            for id in after.split(';').map(str::trim).filter(|id| !id.is_empty()) {
                let unknown = || TraceError::Unknown { line, id: id.into() };
                let before = *ids.get(id).ok_or_else(unknown)?;
                if !nodes[before as usize].concerns(host) {
                    return Err(TraceError::Foreign { line, host, id: id.into() });
                }
                nodes[number].after.push(before);
            }
            nodes[number].after.sort_unstable();
            nodes[number].after.dedup();
        }
        let trace = Self { nodes };
        match trace.circle() {
            None => Ok(trace),
            Some(circle) => {
                let ids = circle.iter().map(|&node| trace.nodes[node as usize].id.clone()).collect();
                Err(TraceError::Circle { line: lines[circle[0] as usize].0, ids })
            }
        }
    }

    /// Its nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// By node, those that wait for it.
    pub fn followers(&self) -> Vec<Vec<u32>> {
        let mut followers = vec![Vec::new(); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            node.after.iter().for_each(|&before| followers[before as usize].push(number as u32));
        }
        followers
    }

    /// Nodes of which each waits for the next, and the last for the first.
    fn circle(&self) -> Option<Vec<u32>> {
        // Takes away what waits for nothing, until nothing does (Kahn).
        let followers = self.followers();
        let mut waits: Vec<usize> = self.nodes.iter().map(|node| node.after.len()).collect();
        let mut free: Vec<u32> = (0..waits.len() as u32).filter(|&node| waits[node as usize] == 0).collect();
        while let Some(node) = free.pop() {
            for &follower in &followers[node as usize] {
                waits[follower as usize] -= 1;
                if waits[follower as usize] == 0 {
                    free.push(follower);
                }
            }
        }
        // Each of the rest waits for another of the rest: going back, one comes again.
        let mut node = waits.iter().position(|&waits| waits > 0)? as u32;
        let mut path = Vec::new();
        let mut place = vec![None; waits.len()];
        while place[node as usize].is_none() {
            place[node as usize] = Some(path.len());
            path.push(node);
            node =
                self.nodes[node as usize].after.iter().copied().find(|&before| waits[before as usize] > 0)?;
        }
        Some(path.split_off(place[node as usize]?))
    }
}

/// The node of a line, its id and what it waits for.
fn node<'a>(line: usize, fields: &[&'a str], hosts: u32) -> Result<(&'a str, &'a str, Node), TraceError> {
    if !(3..=6).contains(&fields.len()) {
        return Err(TraceError::Fields { line, count: fields.len() });
    }
    let field = |at: usize| fields.get(at).copied().unwrap_or("");
    let id = field(0);
    if id.is_empty() || id.contains(|c: char| c.is_whitespace() || c == ';') {
        return Err(TraceError::Id { line, text: id.into() });
    }
    let number = |at: usize, field: &'static str, least: u64, most: u64| {
        let text = fields.get(at).copied().unwrap_or("");
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| TraceError::Number { line, field, text: text.into(), least, most })
    };
    let host = |at, name| {
        let host = number(at, name, 0, u64::MAX)?;
        let known = u32::try_from(host).ok().filter(|&host| host < hosts);
        known.ok_or(TraceError::NoHost { line, host, hosts })
    };
    let owner = host(1, "host")?;
    let work = if matches!(field(2), "" | "-") {
        if !matches!(field(3), "" | "-" | "0") {
            return Err(TraceError::NoPeer { line });
        }
        Work::Compute
    } else {
        let peer = host(2, "peer")?;
        if peer == owner {
            return Err(TraceError::Itself { line, host: owner });
        }
        Work::Send { peer, bytes: number(3, "bytes", 1, u32::MAX as u64)? as u32 }
    };
    let delay = match field(5) {
        "" => 0,
        // Half of what picoseconds can count, so that times can be added.
        _ => 1000 * number(5, "delay", 0, Ps::MAX / 2000)?,
    };
    Ok((id, field(4), Node { id: id.into(), host: owner, work, delay, after: Vec::new() }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::traffic::replay::Replay;
    use crate::traffic::testing::play;

    fn error(text: &str) -> TraceError {
        Trace::parse(text, 4).unwrap_err()
    }

    #[test]
    fn a_trace_is_read() {
        let text = "\
            # two hosts\n\
            fwd0, 0, -, , , 50\n\
            act0, 0, 1, 65536, fwd0   # sends\n\
            \n\
            fwd1, 1, , , act0, 7\n\
            bwd,1,0,1,fwd1; act0;fwd1\n\
            end,0,-\n";
        let trace = Trace::parse(text, 2).unwrap();
        let nodes = trace.nodes();
        assert_eq!(nodes.len(), 5);
        assert_eq!((nodes[0].work, nodes[0].delay), (Work::Compute, 50_000));
        assert_eq!(nodes[1].work, Work::Send { peer: 1, bytes: 65_536 });
        assert_eq!((nodes[3].host, &nodes[3].after[..]), (1, &[1, 2][..]));
        assert_eq!(trace.followers(), [vec![1], vec![2, 3], vec![3], vec![], vec![]]);
        assert_eq!(Trace::parse("", 2), Ok(Trace::default()));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert_eq!(error("\na,0"), TraceError::Fields { line: 2, count: 2 });
        assert_eq!(error("a,0,1,5,,0,9"), TraceError::Fields { line: 1, count: 7 });
        assert_eq!(error("a b,0,1,5"), TraceError::Id { line: 1, text: "a b".into() });
        assert_eq!(error("a,4,1,5"), TraceError::NoHost { line: 1, host: 4, hosts: 4 });
        assert_eq!(
            error("a,0,99999999999,5"),
            TraceError::NoHost { line: 1, host: 99_999_999_999, hosts: 4 }
        );
        assert_eq!(error("a,0,0,5"), TraceError::Itself { line: 1, host: 0 });
        assert_eq!(error("a,0,-,5"), TraceError::NoPeer { line: 1 });
        assert_eq!(error("a,0,1,5\n\na,0,1,5"), TraceError::Twice { line: 3, id: "a".into(), first: 1 });
        assert_eq!(error("a,0,1,5,b"), TraceError::Unknown { line: 1, id: "b".into() });
        assert_eq!(error("a,0,1,5\nb,2,3,5,a"), TraceError::Foreign { line: 2, host: 2, id: "a".into() });
        for (text, field) in [
            ("a,x,1,5", "host"),
            ("a,0,x,5", "peer"),
            ("a,0,1,0", "bytes"),
            ("a,0,1,5,,-1", "delay"),
            ("a,0,1", "bytes"),
        ] {
            let found = error(text);
            assert!(
                matches!(found, TraceError::Number { line: 1, field: named, .. } if named == field),
                "{found}"
            );
        }
    }

    #[test]
    fn circles_are_found_and_shown() {
        let text = "x,0,-\na,0,-,,c;x\nb,0,-,,a\nc,0,-,,b\ny,0,-,,c";
        let TraceError::Circle { line, ids } = error(text) else { panic!("a, b and c are one") };
        assert_eq!((line, ids.len()), (2, 3));
        assert!(["a", "b", "c"].iter().all(|id| ids.contains(&id.to_string())));
        assert_eq!(error("a,0,-,,a"), TraceError::Circle { line: 1, ids: vec!["a".into()] });
        let shown = error("a,0,-,,b\nb,0,-,,a").to_string();
        assert!(shown.contains("`a` <- `b` wait for one another"), "{shown}");
    }

    /// A line without its id, of two hosts and a few nodes; or, seldom, anything.
    fn line() -> impl Strategy<Value = String> {
        let after = prop::collection::vec("[0-2]", 0..3).prop_map(|ids| ids.join(";"));
        prop_oneof![
            40 => ("0,1,[1-9]|1,0,[1-9]|[01],-,", after, "|[0-9]{1,3}")
                .prop_map(|(work, after, delay)| format!("{work},{after},{delay}")),
            1 => "[ -~]{0,20}",
        ]
    }

    proptest! {
        /// Any text is a trace or a mistake; a trace is replayed to its end.
        #[test]
        fn what_is_accepted_ends(lines in prop::collection::vec(line(), 0..6)) {
            let lines: Vec<String> = (0..).zip(lines).map(|(id, line)| format!("{id},{line}")).collect();
            match Trace::parse(&lines.join("\n"), 2) {
                Ok(trace) => {
                    let mut replay = Replay::new(trace, 5);
                    play(&mut replay, |message| (10 + message.bytes as Ps, 30));
                    prop_assert!(replay.ended().is_some());
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
