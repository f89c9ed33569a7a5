//! A few hosts that talk to very many peers: what a NIC's state per connection costs.
//!
//! ```text
//!   sender ═ so many messages under way ═> peer 0     host a, process 0
//!     ▲                                    peer 1     host b, process 0
//!     └── acknowledged: the next ──────    ...
//!                                          peer n     host a, process 1
//! ```
//!
//! A peer is a process of one of the other hosts; [`Message::process`] says which, and a
//! protocol with connections has one per peer. How many messages are under way does not
//! depend on how many peers there are: what changes with them is whose turn it is, which is
//! what a cache of connections sees. In turn is its worst case, as each peer has been
//! forgotten when it comes again; at random a cache of a share of them hits as often.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::book::Book;
use super::dice::Dice;
use super::plan::{Group, PlanError};
use super::{Act, Traffic};
use crate::transport::{Done, End, Message};
use crate::Ps;

/// Which peer is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// One after another.
    #[default]
    InTurn,
    /// Any.
    AtRandom,
}

/// Of each sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Peers.
    pub peers: u32,
    /// Length of a message.
    pub bytes: u32,
    /// Messages under way, posted and not acknowledged.
    pub under_way: u32,
    /// Messages in all.
    pub messages: u32,
    /// Whose turn it is.
    pub turn: Turn,
    /// When it begins.
    pub start: Ps,
    /// Whether every message's record is kept.
    pub keep: bool,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Default for Options {
    /// A thousand peers in turn, 16 messages of 4 KiB under way, ten to each.
    fn default() -> Self {
        Self {
            peers: 1000,
            bytes: 4096,
            under_way: 16,
            messages: 10_000,
            turn: Turn::InTurn,
            start: 0,
            keep: true,
            seed: 1,
        }
    }
}

#[derive(Clone, Debug)]
struct Sender {
    host: u32,
    next: u32,
    /// Messages that are not due yet.
    left: u32,
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Pairs {
    options: Options,
    senders: Vec<Sender>,
    others: Vec<u32>,
    /// Senders that post, once for each message that is due.
    ready: VecDeque<(Ps, u32)>,
    dice: Dice,
    /// Messages, marked with their sender's number.
    pub book: Book<u32>,
}

impl Pairs {
    /// The hosts of `senders` talk to processes of all others of the network's `hosts`.
    ///
    /// # Errors
    /// If there is nobody to talk to, or nothing to say.
    pub fn new(hosts: u32, senders: &Group, options: Options) -> Result<Self, PlanError> {
        let Options { peers, bytes, under_way, messages, .. } = options;
        let senders: Vec<u32> = (0..senders.len()).map(|rank| senders.host(rank)).collect();
        if let Some(&host) = senders.iter().find(|&&host| host >= hosts) {
            return Err(PlanError::NoHost { host, hosts });
        }
        let others: Vec<u32> = (0..hosts).filter(|host| !senders.contains(host)).collect();
        if others.is_empty() || senders.is_empty() {
            return Err(PlanError::Senseless("of the hosts some must send, and some must not"));
        }
        if peers == 0 || bytes == 0 || under_way == 0 || messages == 0 {
            return Err(PlanError::Senseless("peers, bytes, messages and those under way must be above 0"));
        }
        let mut ready = VecDeque::new();
        let first = under_way.min(messages);
        for _ in 0..first {
            ready.extend((0..senders.len() as u32).map(|number| (options.start, number)));
        }
        let (count, apart) = (senders.len() as u64, peers as u64);
        let senders = (0..count).zip(senders);
        // Each begins elsewhere, so that they do not meet at one host after another.
        let senders = senders
            .map(|(number, host)| Sender {
                host,
                next: (number * apart / count) as u32,
                left: messages - first,
            })
            .collect();
        let dice = Dice::new(options.seed, 0x9A15);
        Ok(Self { options, senders, others, ready, dice, book: Book::new(options.keep) })
    }

    /// Whether all messages have been delivered or given up.
    pub fn is_over(&self) -> bool {
        let posted = self.ready.is_empty() && self.senders.iter().all(|sender| sender.left == 0);
        posted && self.book.open() == 0
    }
}

impl Traffic for Pairs {
    fn next_at(&mut self) -> Option<Ps> {
        self.ready.front().map(|&(at, _)| at)
    }

    fn next(&mut self) -> Option<Act> {
        let (now, number) = self.ready.pop_front()?;
        let sender = &mut self.senders[number as usize];
        let peer = match self.options.turn {
            Turn::InTurn => sender.next,
            Turn::AtRandom => self.dice.below(self.options.peers),
        };
        sender.next = (peer + 1) % self.options.peers;
        let others = self.others.len() as u32;
        let message = Message {
            id: 0,
            from: sender.host,
            to: self.others[(peer % others) as usize],
            bytes: self.options.bytes,
            round: None,
            process: peer / others,
        };
        Some(Act::Post(self.book.post(now, message, number)))
    }

    fn done(&mut self, now: Ps, done: &Done) {
        let Some((_, number)) = self.book.done(now, done) else { return };
        let left = &mut self.senders[number as usize].left;
        if done.end != End::Delivered && *left > 0 {
            *left -= 1;
            self.ready.push_back((now, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::traffic::testing::{play, Event};

    /// Acknowledges every message after `delay`; what was posted.
    fn run(pairs: &mut Pairs, delay: Ps) -> Vec<(Ps, Message)> {
        let log = play(pairs, |_| (delay, delay)).into_iter();
        log.filter_map(|(at, event)| match event {
            Event::Posted(message) => Some((at, message)),
            _ => None,
        })
        .collect()
    }

    fn options() -> Options {
        Options { peers: 100, bytes: 10, under_way: 4, messages: 1000, ..Options::default() }
    }

    #[test]
    fn so_many_are_under_way_and_no_more() {
        let senders = Group::of(vec![1, 3], 5).unwrap();
        let mut pairs = Pairs::new(5, &senders, options()).unwrap();
        let posted = run(&mut pairs, 10);
        assert!(pairs.is_over());
        assert_eq!(posted.len(), 2000);
        for (at, _) in &posted {
            let now = posted.iter().filter(|(other, _)| other <= at && at < &(other + 10)).count();
            assert_eq!(now, 8);
        }
    }

    #[test]
    fn peers_come_in_turn_each_a_process_of_a_host() {
        let senders = Group::of(vec![0], 4).unwrap();
        let mut pairs = Pairs::new(4, &senders, options()).unwrap();
        let posted = run(&mut pairs, 10);
        let peers: Vec<(u32, u32)> = posted.iter().map(|(_, m)| (m.to, m.process)).collect();
        assert_eq!(peers[..5], [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1)]);
        assert_eq!(peers[100..200], peers[..100]);
        let mut times = BTreeMap::new();
        peers.iter().for_each(|peer| *times.entry(peer).or_insert(0) += 1);
        assert!(times.len() == 100 && times.values().all(|&n| n == 10));
    }

    #[test]
    fn at_random_every_peer_comes_about_as_often() {
        let senders = Group::of(vec![0], 4).unwrap();
        let make = |seed| {
            let options = Options { turn: Turn::AtRandom, messages: 20_000, seed, ..options() };
            run(&mut Pairs::new(4, &senders, options).unwrap(), 10)
        };
        let mut times = BTreeMap::new();
        make(1).iter().for_each(|(_, m)| *times.entry((m.to, m.process)).or_insert(0) += 1);
        assert!(times.len() == 100 && times.values().all(|n| (140..260).contains(n)), "{times:?}");
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }

    #[test]
    fn few_messages_and_senseless_counts() {
        let senders = Group::of(vec![0], 2).unwrap();
        let few = Options { messages: 3, under_way: 10, ..options() };
        assert_eq!(run(&mut Pairs::new(2, &senders, few).unwrap(), 1).len(), 3);
        assert!(Pairs::new(2, &Group::all(2), options()).is_err(), "nobody listens");
        assert!(Pairs::new(2, &senders, Options { under_way: 0, ..options() }).is_err());
        assert!(Pairs::new(1, &Group::all(2), options()).is_err());
    }
}
