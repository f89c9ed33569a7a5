//! Rounds of collectives (rules RD): how far each has come at this receiver.
//!
//! ```text
//!  driver ── register(endpoint, id, messages) ─> [ 256 places ] ─> halvings ─> interval
//!  message complete ──────────── finished ─────────────^
//! ```

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Round {
    endpoint: u8,
    id: u16,
    needed: u16,
    done: u16,
    /// Running number of its registration.
    age: u64,
}

impl Round {
    /// How often the number of unfinished messages has halved.
    //= RD-3
    fn halvings(&self) -> u32 {
        let left = self.needed - self.done;
        (0..16).take_while(|k| left <= self.needed >> k).last().unwrap_or(0)
    }
}

/// The rounds a receiver knows.
#[derive(Clone, Debug, Default, Hash)]
pub struct Rounds {
    /// Of 256 places those that hold one.
    places: BTreeMap<u8, Round>,
    registered: u64,
}

/// The round a message names: its local endpoint's index and the id.
pub type Name = (u8, u16);

fn place((endpoint, id): Name) -> u8 {
    endpoint ^ id as u8
}

impl Rounds {
    /// A round needs so many messages; 0 forgets what its place holds.
    //= RD-1
    pub fn register(&mut self, name: Name, messages: u16) {
        let round = Round { endpoint: name.0, id: name.1, needed: messages, done: 0, age: self.registered };
        self.registered += 1;
        if messages > 0 {
            self.places.insert(place(name), round);
        } else {
            self.places.remove(&place(name));
        }
    }

    fn find(&mut self, name: Name) -> Option<&mut Round> {
        self.places.get_mut(&place(name)).filter(|round| (round.endpoint, round.id) == name)
    }

    /// When a round was registered, as a running number.
    pub fn registered(&self, name: Name) -> Option<u64> {
        let round = self.places.get(&place(name)).filter(|round| (round.endpoint, round.id) == name);
        round.map(|round| round.age)
    }

    /// A message of the round is complete; whether intervals shrink by it.
    //= RD-3
    pub fn finished(&mut self, name: Name) -> bool {
        let Some(round) = self.find(name).filter(|round| round.done < round.needed) else { return false };
        let before = round.halvings();
        round.done += 1;
        round.halvings() > before
    }

    /// How often what is left of a round has halved, 0 of an unknown one.
    //= RD-2
    pub fn halvings(&self, name: Name) -> u32 {
        let round = self.places.get(&place(name)).filter(|round| (round.endpoint, round.id) == name);
        round.map_or(0, |round| round.halvings())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RD-3 test
    #[test]
    fn each_halving_counts_once() {
        let mut rounds = Rounds::default();
        rounds.register((3, 77), 7);
        let mut seen = vec![];
        for _ in 0..9 {
            seen.push((rounds.finished((3, 77)), rounds.halvings((3, 77))));
        }
        let k: Vec<u32> = seen.iter().map(|s| s.1).collect();
        assert_eq!(k, [0, 0, 0, 1, 1, 2, 15, 15, 15], "6, 5, 4, 3, 2, 1 and no message left of 7");
        assert_eq!(seen.iter().filter(|s| s.0).count(), 3);
    }

    //= RD-1 test
    #[test]
    fn a_place_holds_the_latest_round() {
        let mut rounds = Rounds::default();
        rounds.register((3, 77), 2);
        assert!(rounds.finished((3, 77)));
        rounds.register((3, 77 + 256), 4);
        assert!(!rounds.finished((3, 77)), "forgotten");
        assert_eq!(rounds.halvings((3, 77)), 0);
        rounds.register((4, 77), 4);
        assert!(!rounds.finished((3, 77 + 256)), "one of four");
        assert!(rounds.finished((3, 77 + 256)), "another endpoint's has another place");
        rounds.register((3, 77 + 256), 0);
        assert_eq!(rounds.halvings((3, 77 + 256)), 0);
    }
}
