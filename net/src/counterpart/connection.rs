//! The connections of a host, by the process and the host at the other end.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Index, IndexMut};

use super::assembly::{Incoming, Outgoing};
use super::{Header, Parts, Pick};
use crate::transport::Arrived;
use crate::Ps;

/// Of the packet that was answered last, or is to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    pub path: u16,
    pub sent_at: Ps,
    pub ce: bool,
}

/// One of them, both its ends.
pub(super) struct Connection<R, A, C, S> {
    pub peer: u32,
    pub process: u32,
    pub parts: Parts<R, A, C, S>,
    pub outgoing: Outgoing,
    pub incoming: Incoming,
    pub echo: Echo,
    /// In the ring.
    pub queued: bool,
    /// When the gap is over.
    pub next_at: Ps,
    /// No CNP before.
    pub cnp_at: Ps,
    /// Waits for the context.
    pub pending: Option<Pick>,
    pub held: VecDeque<Arrived<Header>>,
}

/// Hashes the pair that names a connection.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte as u64);
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// All of a host: in the order in which they were made, and by their names.
pub(super) struct Connections<R, A, C, S> {
    list: Vec<Connection<R, A, C, S>>,
    by_pair: HashMap<u64, u32, BuildHasherDefault<PairHasher>>,
}

fn pair(peer: u32, process: u32) -> u64 {
    (peer as u64) << 32 | process as u64
}

impl<R: Clone, A: Clone, C: Clone, S: Clone> Connections<R, A, C, S> {
    /// None.
    pub fn new() -> Self {
        Self { list: Vec::new(), by_pair: HashMap::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The number of one that has been made.
    #[inline]
    pub fn find(&self, peer: u32, process: u32) -> Option<u32> {
        self.by_pair.get(&pair(peer, process)).copied()
    }

    /// The number of a new one.
    pub fn make(&mut self, peer: u32, process: u32, parts: &Parts<R, A, C, S>) -> u32 {
        let index = self.list.len() as u32;
        self.by_pair.insert(pair(peer, process), index);
        self.list.push(Connection {
            peer,
            process,
            parts: parts.clone(),
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            echo: Echo::default(),
            queued: false,
            next_at: 0,
            cnp_at: 0,
            pending: None,
            held: VecDeque::new(),
        });
        index
    }
}

impl<R, A, C, S> Index<u32> for Connections<R, A, C, S> {
    type Output = Connection<R, A, C, S>;

    #[inline]
    fn index(&self, index: u32) -> &Self::Output {
        &self.list[index as usize]
    }
}

impl<R, A, C, S> IndexMut<u32> for Connections<R, A, C, S> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Self::Output {
        &mut self.list[index as usize]
    }
}
