//! Two NICs that send each other a message of each of some lengths.

use std::collections::HashSet;

use tessera_driver::{Access, DmaMemory, MemoryRegion};
use tessera_sim::session::{untag, Session};

/// The bytes of a message, other ones for each sender and number.
pub fn content(from: usize, number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251 + from * 7 + number * 13) as u8).collect()
}

/// Messages on their way, each of one sender and one number.
pub struct Exchange<'a> {
    lens: &'a [usize],
    largest: usize,
    /// Of each NIC, with a place for each message.
    sinks: Vec<MemoryRegion>,
    /// Registered until all has arrived.
    _sources: Vec<MemoryRegion>,
    seen: HashSet<u64>,
}

impl<'a> Exchange<'a> {
    /// Posts receives at both, and then a send of each length.
    ///
    /// # Panics
    /// If one is refused.
    pub fn post(session: &mut Session, lens: &'a [usize]) -> Self {
        let largest = lens.iter().copied().max().unwrap_or(0);
        let mut sinks = Vec::new();
        for nic in 0..2 {
            let memory = DmaMemory::new(lens.len() * largest);
            let sink = session.register(nic, &memory, Access::LOCAL_WRITE).unwrap();
            for place in 0..lens.len() {
                session.recv(nic, &sink, place * largest..(place + 1) * largest, place as u64).unwrap();
            }
            sinks.push(sink);
        }
        let mut sources = Vec::new();
        for from in 0..2 {
            for (number, len) in lens.iter().copied().enumerate() {
                let memory = DmaMemory::from_slice(&content(from, number, len));
                let source = session.register(from, &memory, Access::READ).unwrap();
                session.send(&source, 0..len, (1, from, 1 - from, number)).unwrap();
                sources.push(source);
            }
        }
        Self { lens, largest, sinks, _sources: sources, seen: HashSet::new() }
    }

    /// Whether something has not arrived, or its sender does not know.
    pub fn goes_on(&self, session: &Session) -> bool {
        self.seen.len() < 2 * self.lens.len() || session.sends_open() > 0
    }

    /// Takes what has arrived: each message once, at whom it is for, with its bytes.
    ///
    /// # Panics
    /// If it is not so.
    pub fn take(&mut self, session: &mut Session) {
        for arrived in session.poll().unwrap() {
            let (_, from, to, number) = untag(arrived.tag);
            assert_eq!((to, 1 - from), (arrived.nic, arrived.nic));
            assert!(self.seen.insert(arrived.tag), "{from}->{to} #{number} came twice");
            let bytes = self.sinks[to].memory().to_vec(arrived.work_id as usize * self.largest, arrived.len);
            let sent = content(from, number, self.lens[number]);
            assert!(bytes == sent, "{from}->{to} #{number} is not what was sent");
        }
    }
}
