use super::*;
use crate::topology::mix;
use crate::traffic::allreduce::{Halving, Ring, Tree};
use crate::traffic::alltoall::AllToAll;
use crate::traffic::patterns::{Incast, Receiver};
use crate::traffic::plan::tests::messages;
use crate::traffic::testing::{play, Event};

/// Delivered after 100, acknowledged after 150.
fn steady(_: &Message) -> (Ps, Ps) {
    (100, 150)
}

/// Anything from 50 to a thousand, so that later ones overtake.
fn shaken(message: &Message) -> (Ps, Ps) {
    let after = 50 + mix(message.id as u64) as Ps % 1000;
    (after, after + 50)
}

fn course<P: Plan>(plan: P, options: Options) -> Course<P> {
    let group = Group::all(plan.ranks());
    Course::new(plan, group, options).unwrap()
}

/// Nothing is posted before all that its sender awaited in earlier stages of its lane.
fn follows_its_plan<P: Plan>(plan: P, options: Options) -> Course<P> {
    let mut course = course(plan, options);
    let log = play(&mut course, shaken);
    assert!(course.is_over(), "{:?}", course.iterations);
    let marks: Vec<Mark> = course.book.marks().copied().collect();
    let plan = course.plan();
    let stages = plan.stages() as u64;
    let mut awaited = std::collections::BTreeMap::new();
    let mut sent = std::collections::BTreeMap::new();
    for iteration in 0..options.iterations {
        for (at, send) in messages(plan, iteration) {
            let into = iteration as u64 * stages + send.into as u64;
            let own = iteration as u64 * stages + at.stage as u64;
            awaited.entry((send.to, at.lane)).or_insert(vec![]).push(into);
            assert!(sent.insert((at.rank, send.to, at.lane, into), own).is_none());
        }
    }
    let mut come = std::collections::BTreeMap::new();
    for (_, event) in &log {
        match event {
            Event::Posted(message) => {
                let mark = &marks[message.id as usize];
                let own = sent.remove(&(mark.from, mark.to, mark.lane, mark.into)).expect("once each");
                let of = |all: Option<&Vec<u64>>| {
                    all.map_or(0, |all| all.iter().filter(|&&into| into < own).count())
                };
                let key = (mark.from, mark.lane);
                assert_eq!(of(come.get(&key)), of(awaited.get(&key)), "{mark:?}");
            }
            Event::Delivered(message) => {
                let mark = &marks[message.id as usize];
                come.entry((mark.to, mark.lane)).or_insert(vec![]).push(mark.into);
            }
            _ => {}
        }
    }
    assert!(sent.is_empty(), "never sent: {sent:?}");
    course
}

#[test]
fn collectives_follow_their_plans() {
    for window in [None, Some(1), Some(3)] {
        for between in [Between::Own, Between::Barrier] {
            let options =
                Options { iterations: 3, window, between, jitter: 500, compute: 70, ..Options::default() };
            follows_its_plan(Ring::new(5, 1000, 3).unwrap(), options);
            follows_its_plan(Tree::new(7, 1000, 2, true).unwrap(), options);
            follows_its_plan(Tree::new(6, 1000, 1, false).unwrap(), options);
            follows_its_plan(Halving::new(7, 1000, 2).unwrap(), options);
            follows_its_plan(AllToAll::new(6, 100).unwrap(), options);
        }
        let options = Options { iterations: 3, window, between: Between::Barrier, ..Options::default() };
        follows_its_plan(Incast::new(9, 4, 100, Receiver::AtRandom, 3, 1).unwrap(), options);
    }
}

#[test]
fn steps_take_their_time() {
    let options = Options { start: 1000, iterations: 2, compute: 30, ..Options::default() };
    let mut course = course(Ring::new(4, 400, 1).unwrap(), options);
    play(&mut course, steady);
    assert!(course.took().eq([600, 600]), "six steps of 100");
    assert_eq!(course.iterations[1].began, Some(1630));
    assert_eq!(course.rounds.spread().map(|rounds| (rounds.count, rounds.max)), Some((4 * 6 * 2, 100)));
}

#[test]
fn a_window_is_kept() {
    for (window, took) in [(1, 4 * 150 + 100), (2, 2 * 150 + 100), (5, 100)] {
        let options = Options { window: Some(window), ..Options::default() };
        let mut course = course(AllToAll::new(6, 10).unwrap(), options);
        let log = play(&mut course, steady);
        let mut under_way = [0; 6];
        for (_, event) in log {
            match event {
                Event::Posted(message) => under_way[message.from as usize] += 1,
                Event::Acknowledged(message) => under_way[message.from as usize] -= 1,
                _ => {}
            }
            assert!(under_way.iter().all(|&now| now <= window), "{under_way:?}");
        }
        assert!(course.took().eq([took]));
    }
}

#[test]
fn receivers_are_told_of_a_round_before_its_first_message() {
    let options = Options { iterations: 2, ..Options::default() };
    let group = Group::of(vec![7, 3, 5], 9).unwrap();
    let mut course = Course::new(Ring::new(3, 600, 2).unwrap(), group, options).unwrap();
    let log = play(&mut course, shaken);
    let mut told = std::collections::BTreeMap::new();
    for (_, event) in &log {
        match *event {
            Event::Told { host, id, messages } => {
                assert_eq!(messages, 2, "one per lane");
                assert!(told.insert((host, id), messages).is_none());
            }
            Event::Posted(message) => {
                let left = told.get_mut(&(message.to, message.round.unwrap())).expect("told before");
                *left -= 1;
            }
            _ => {}
        }
    }
    assert_eq!(told.len(), 3 * 4 * 2);
    assert!(told.values().all(|&left| left == 0), "as many as told");
    let quiet = Options { rounds: false, ..options };
    let log = play(&mut course_of(quiet), shaken);
    assert!(log.iter().all(|(_, event)| match event {
        Event::Told { .. } => false,
        Event::Posted(message) => message.round.is_none(),
        _ => true,
    }));
}

fn course_of(options: Options) -> Course<Ring> {
    course(Ring::new(3, 600, 2).unwrap(), options)
}

#[test]
fn a_barrier_waits_for_all_and_own_does_not() {
    let late = |message: &Message| if message.to == 0 { (1000, 1001) } else { (10, 11) };
    let began = |between| {
        // Of four in pairs, 0 and 1 are slow, 2 and 3 are not.
        let options = Options { iterations: 2, between, ..Options::default() };
        let mut course = course(Pairwise, options);
        let log = play(&mut course, late);
        assert!(course.is_over());
        let second = |host| {
            let posts = log
                .iter()
                .filter(|(_, event)| matches!(event, Event::Posted(message) if message.from == host));
            posts.map(|&(at, _)| at).nth(1).unwrap()
        };
        (second(0), second(2))
    };
    assert_eq!(began(Between::Own), (1000, 10));
    assert_eq!(began(Between::Barrier), (1000, 1000));
}

/// Ranks swap with their neighbours.
struct Pairwise;

impl Plan for Pairwise {
    fn ranks(&self) -> u32 {
        4
    }

    fn stages(&self) -> u32 {
        1
    }

    fn awaits(&self, _at: &At) -> u32 {
        1
    }

    fn send(&self, at: &At, index: u32) -> Option<crate::traffic::plan::Send> {
        let send = crate::traffic::plan::Send { to: at.rank ^ 1, bytes: 1, into: 0 };
        (index == 0).then_some(send)
    }
}

#[test]
fn seeds_draw_jitter() {
    let of = |seed| {
        let mut course = course_of(Options { jitter: 1000, seed, ..Options::default() });
        play(&mut course, steady)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn senseless_options_are_refused() {
    let new = |hosts, options| Course::new(AllToAll::new(4, 1).unwrap(), Group::all(hosts), options).err();
    assert!(new(4, Options::default()).is_none());
    assert!(new(5, Options::default()).is_some());
    assert!(new(4, Options { window: Some(0), ..Options::default() }).is_some());
    assert!(new(4, Options { iterations: 0, ..Options::default() }).is_some());
}
