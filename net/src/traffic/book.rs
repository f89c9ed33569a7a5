//! What became of messages: one book for all kinds of traffic.
//!
//! ```text
//!   post ─> [ entry, entry, entry, ... ] ─ delivered ─> times, bytes by host
//!             ▲ oldest that is open          ended ───> dropped from the front,
//!             first id                                  unless records are kept
//! ```
//!
//! Numbers of messages are given in a row, so that an entry is found by
//! subtraction. A run of many millions of messages keeps those alone that are
//! younger than the oldest open one.

use std::collections::VecDeque;

use super::Record;
use crate::stats::Histogram;
use crate::transport::{Done, End, Message};
use crate::Ps;

#[derive(Clone, Debug)]
struct Entry<M> {
    record: Record,
    mark: M,
}

impl<M> Entry<M> {
    fn over(&self) -> bool {
        self.record.failed || (self.record.delivered.is_some() && self.record.acknowledged.is_some())
    }
}

/// See the module's page. `M` is what its owner wants to know of a message when it ends.
#[derive(Clone, Debug)]
pub struct Book<M> {
    entries: VecDeque<Entry<M>>,
    first: u32,
    keep: bool,
    /// From posting to delivery.
    pub times: Histogram,
    /// Bytes that each host has posted, up to the last host that has any part.
    pub sent: Vec<u64>,
    /// Bytes that have been delivered to each host, likewise.
    pub received: Vec<u64>,
    /// Messages that have been delivered.
    pub delivered: u64,
    /// Messages that their sender has given up.
    pub failed: u64,
    /// Deliveries of what had been delivered, or given up, before.
    pub twice: u64,
    /// Latest delivery.
    pub last: Ps,
}

impl<M: Copy> Book<M> {
    /// An empty book, which keeps every message's [`Record`] or only sums.
    pub fn new(keep: bool) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            keep,
            times: Histogram::default(),
            sent: Vec::new(),
            received: Vec::new(),
            delivered: 0,
            failed: 0,
            twice: 0,
            last: 0,
        }
    }

    /// The number of the next message.
    pub fn next_id(&self) -> u32 {
        self.first + self.entries.len() as u32
    }

    /// Enters a message; gives it its number.
    pub fn post(&mut self, at: Ps, mut message: Message, mark: M) -> Message {
        message.id = self.next_id();
        let hosts = self.sent.len().max(message.from.max(message.to) as usize + 1);
        self.sent.resize(hosts, 0);
        self.received.resize(hosts, 0);
        self.sent[message.from as usize] += message.bytes as u64;
        let record = Record { message, posted: at, delivered: None, acknowledged: None, failed: false };
        self.entries.push_back(Entry { record, mark });
        message
    }

    /// Enters an end. The message and its mark, if that is news.
    pub fn done(&mut self, now: Ps, done: &Done) -> Option<(Message, M)> {
        let entry = done.id.checked_sub(self.first).and_then(|at| self.entries.get_mut(at as usize));
        let Some(entry) = entry else {
            self.twice += u64::from(done.end == End::Delivered && done.id < self.first);
            return None;
        };
        let record = &mut entry.record;
        match done.end {
            End::Delivered if record.delivered.is_some() || record.failed => {
                self.twice += 1;
                return None;
            }
            End::Delivered => {
                record.delivered = Some(now);
                self.delivered += 1;
                self.last = now;
                self.times.add(now - record.posted);
                self.received[record.message.to as usize] += record.message.bytes as u64;
            }
            End::Acknowledged if record.acknowledged.is_some() || record.failed => return None,
            End::Acknowledged => record.acknowledged = Some(now),
            End::Failed if record.failed || record.acknowledged.is_some() => return None,
            End::Failed => {
                record.failed = true;
                self.failed += 1;
            }
        }
        let news = (entry.record.message, entry.mark);
        while !self.keep && self.entries.front().is_some_and(Entry::over) {
            self.entries.pop_front();
            self.first += 1;
        }
        Some(news)
    }

    /// The records there are: of all messages if they are kept.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.entries.iter().map(|entry| &entry.record)
    }

    /// Their marks, in the same order.
    pub fn marks(&self) -> impl Iterator<Item = &M> {
        self.entries.iter().map(|entry| &entry.mark)
    }

    /// Messages that have been posted.
    pub fn posted(&self) -> u64 {
        self.next_id() as u64
    }

    /// Messages that have neither been delivered nor given up.
    pub fn open(&self) -> usize {
        self.records().filter(|record| record.delivered.is_none() && !record.failed).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u32, to: u32, bytes: u32) -> Message {
        Message { id: 0, from, to, bytes, round: None, process: 0 }
    }

    #[test]
    fn ends_are_news_once() {
        for keep in [false, true] {
            let mut book = Book::new(keep);
            let message = book.post(5, message(1, 2, 100), 'a');
            let end = |end| Done { id: message.id, end };
            assert_eq!(book.open(), 1);
            assert_eq!(book.done(8, &end(End::Delivered)), Some((message, 'a')));
            assert_eq!(book.done(9, &end(End::Delivered)), None);
            assert_eq!(book.done(9, &end(End::Acknowledged)), Some((message, 'a')));
            assert_eq!(book.done(9, &end(End::Acknowledged)), None);
            assert_eq!(book.done(9, &end(End::Delivered)), None, "over");
            assert_eq!((book.delivered, book.twice, book.failed, book.open()), (1, 2, 0, 0));
            assert_eq!((&book.sent[..], &book.received[..]), (&[0, 100, 0][..], &[0, 0, 100][..]));
            assert_eq!(book.records().count(), usize::from(keep));
            assert_eq!(book.times.spread().map(|spread| spread.max), Some(3));
        }
    }

    #[test]
    fn what_is_over_waits_for_what_is_older() {
        let mut book = Book::new(false);
        for _ in 0..3 {
            book.post(0, message(0, 1, 1), ());
        }
        for end in [End::Delivered, End::Acknowledged] {
            assert!(book.done(1, &Done { id: 1, end }).is_some());
        }
        assert_eq!(book.records().count(), 3);
        assert!(book.done(1, &Done { id: 0, end: End::Failed }).is_some());
        assert_eq!(book.records().count(), 1);
        assert_eq!((book.next_id(), book.posted(), book.failed, book.open()), (3, 3, 1, 1));
        assert!(book.done(1, &Done { id: 7, end: End::Delivered }).is_none(), "never posted");
        assert_eq!(book.twice, 0);
    }
}
