//! What goes into a NIC and comes out of it: packets, writes, memory.

use std::collections::VecDeque;

use tessera_abi::wire::{self, Route, Trh};

use crate::counters::Counters;
use crate::feedback::{Outgoing, Releasing};
use crate::queue::Completion;

/// A host memory read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("host memory read of {length} bytes at {address:#x} failed")]
pub struct ReadError {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub length: usize,
}

/// Host memory as the NIC reads it, at (re)transmission time.
pub trait Memory {
    /// Fills `bytes` from `address` on.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), ReadError>;
}

impl<F: FnMut(u64, &mut [u8]) -> Result<(), ReadError>> Memory for F {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), ReadError> {
        self(address, bytes)
    }
}

/// A packet of a reliable message without its bytes: what there is to know of a
/// frame where the network loses and delays, but does not damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bare {
    /// Addresses.
    pub route: Route,
    /// Reliability header.
    pub trh: Trh,
    /// Payload bytes.
    pub payload: usize,
}

impl Bare {
    /// Length of the frame, bytes, without FCS.
    pub fn frame_len(&self) -> usize {
        wire::frame_len(self.route.form(), &self.trh, self.payload)
    }
}

/// Whether so many bytes from an address on could be read.
pub(crate) type Reading<'a> = dyn FnMut(u64, usize) -> bool + 'a;

/// What a packet carries in front of its payload.
pub(crate) enum Header {
    /// Of a reliable message.
    Message(Trh),
    /// Of a plain datagram: its immediate.
    Datagram(Option<u32>),
}

/// A packet that leaves, without its bytes.
pub(crate) struct Leaving {
    pub route: Route,
    pub header: Header,
    pub payload: usize,
}

/// A payload write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub bytes: Vec<u8>,
}

/// What the halves produce.
#[derive(Clone, Debug, Default, Hash)]
pub struct Output {
    /// Feedback waiting for the wire.
    pub feedback: VecDeque<Outgoing>,
    /// RELEASEs waiting for the wire.
    pub releases: VecDeque<Releasing>,
    /// Payload writes, in order.
    pub writes: VecDeque<Write>,
    /// Completions, in order.
    pub completions: VecDeque<Completion>,
    /// Echoes of accepted FEEDBACK: destination, entropy value, congestion.
    pub echoes: VecDeque<([u8; 16], u8, bool)>,
    /// Counters.
    pub counters: Counters,
}
