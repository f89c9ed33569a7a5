//! All nodes, the frames between them and the time: what stateright explores.
//!
//! ```text
//!  State ──Action──> Input of one node ──Step──> frames under way, events to the ledger
//! ```
//!
//! Time goes tick by tick. A frame arrives one tick after it was sent at the
//! earliest and MPL ticks at the latest, in any order with others, unless it is lost;
//! a copy is a frame that arrives twice. What happens in one tick at one node does not
//! reach another in the same tick, so the nodes have their turns one after the other,
//! which loses nothing. Of one node, arrivals and what its host does come in any
//! order, timers last. One that is lost is lost when it could first arrive: later would
//! come to the same.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stateright::{Model, Property};
use tessera_model::settings::SettingsError;
use tessera_model::Ticks;

use crate::canonical::{self, Table};
use crate::frame::Frame;
use crate::ledger::{Event, Ledger, Rule};
use crate::node::{Host, Input, Node};
use crate::scenario::{Scenario, NODES};

/// A frame under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flight {
    /// When it was sent.
    pub born: Ticks,
    /// Its number in the frame table.
    pub frame: u32,
    /// It has arrived once already.
    pub copy: bool,
}

/// Everything there is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The time.
    pub now: Ticks,
    /// The node whose turn it is in this tick.
    pub turn: u8,
    /// The nodes, by their numbers in the node table.
    pub nodes: Vec<u32>,
    /// Sorted.
    pub flights: Vec<Flight>,
    /// What the hosts have seen.
    pub ledger: Ledger,
    /// Messages posted.
    pub sent: u8,
    late_receives: u8,
    losses: u8,
    copies: u8,
    resets: [u8; NODES],
    destroys: [u8; NODES],
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A frame arrives.
    Deliver(Flight),
    /// A frame arrives, and a copy of it stays under way.
    Double(Flight),
    /// A frame that might arrive now is lost.
    Lose(Flight),
    /// The next message is posted.
    Send,
    /// Node 1 posts one more receive.
    Receive,
    /// A node is reset and set up again.
    Reset(u8),
    /// A node's host destroys its endpoint.
    Destroy(u8),
    /// The next node has its turn; after the last one timers that are due ring, and it
    /// is the next tick.
    Wait,
}

/// A step once made: the node after it, the frames it sent, what others see.
#[derive(Debug)]
pub struct Made {
    node: u32,
    frames: Vec<u32>,
    /// What others saw of it.
    pub events: Vec<Event>,
    broken: Option<Rule>,
}

type Memo = Mutex<HashMap<(u32, Ticks, Input), Arc<Made>>>;

/// Locks of the memo.
const SHARDS: usize = 16;

/// A scenario, with all that was found out about its nodes so far.
pub struct World {
    /// The scenario.
    pub scenario: Scenario,
    nodes: Table<Node>,
    frames: Table<Frame>,
    memo: [Memo; SHARDS],
    reached: Mutex<BTreeSet<&'static str>>,
    /// A broken rule was come upon: nothing is explored beyond,
    found: AtomicBool,
    /// until the way there is walked again.
    walks: AtomicBool,
}

impl World {
    /// A world in which nothing has happened.
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            nodes: Table::default(),
            frames: Table::default(),
            memo: std::array::from_fn(|_| Memo::default()),
            reached: Mutex::default(),
            found: AtomicBool::new(false),
            walks: AtomicBool::new(false),
        }
    }

    /// The exploration is over; states have successors again, to walk to what was found.
    pub fn explored(&self) {
        self.walks.store(true, Ordering::Relaxed);
    }

    /// Different nodes seen.
    pub fn distinct_nodes(&self) -> usize {
        self.nodes.count()
    }

    /// Drop reasons and statuses seen.
    pub fn reached(&self) -> BTreeSet<&'static str> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A frame of the frame table.
    pub fn frame(&self, number: u32) -> Arc<Frame> {
        self.frames.get(number)
    }

    fn host(&self, host: Host) -> u32 {
        self.nodes.number(canonical::form(&host), || host.node())
    }

    /// One input of one node, made if it never was.
    pub fn made(&self, node: u32, now: Ticks, input: Input) -> Arc<Made> {
        let key = (node, now, input);
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let shard = &self.memo[hasher.finish() as usize % SHARDS];
        let known = shard.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let made = Arc::new(self.make(node, now, input));
            shard.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(made).clone()
        })
    }

    fn make(&self, node: u32, now: Ticks, input: Input) -> Made {
        let frame = if let Input::Frame(number) = input { Some(self.frames.get(number)) } else { None };
        let bytes: &[u8] = frame.as_ref().map_or(&[], |frame| &frame.bytes);
        let step = self.nodes.get(node).host.step(&self.scenario, now, input, bytes);
        if !step.reached.is_empty() {
            self.reached.lock().unwrap_or_else(PoisonError::into_inner).extend(step.reached);
        }
        let number = |frame: Frame| self.frames.number(frame.bytes.clone().into(), || frame);
        Made {
            node: self.host(step.host),
            frames: step.frames.into_iter().map(number).collect(),
            events: step.events,
            broken: step.broken,
        }
    }

    /// The state before anything has happened.
    pub fn start(&self) -> Result<State, SettingsError> {
        let Scenario { messages, at_start, losses, copies, resets, destroys, late_receives, .. } =
            &self.scenario;
        let mut state = State {
            now: 0,
            turn: 0,
            nodes: Vec::new(),
            flights: Vec::new(),
            ledger: Ledger::new(messages),
            sent: 0,
            late_receives: *late_receives,
            losses: *losses,
            copies: *copies,
            resets: *resets,
            destroys: *destroys,
        };
        for node in 0..self.scenario.nodes() {
            state.nodes.push(self.host(Host::new(&self.scenario, node)?));
        }
        (0..state.nodes.len()).for_each(|node| self.post_receives(&mut state, node));
        (0..*at_start).for_each(|_| self.send(&mut state));
        Ok(state)
    }

    fn apply(&self, state: &mut State, node: usize, input: Input) {
        let made = self.made(state.nodes[node], state.now, input);
        state.nodes[node] = made.node;
        let now = state.now;
        state.flights.extend(made.frames.iter().map(|&frame| Flight { born: now, frame, copy: false }));
        made.events.iter().for_each(|&event| state.ledger.event(node as u8, event, &self.scenario.messages));
        if let Some(rule) = made.broken {
            state.ledger.breaks(rule);
        }
    }

    fn post_receives(&self, state: &mut State, node: usize) {
        if self.scenario.messages.iter().any(|message| message.to == node) {
            (0..self.scenario.receives).for_each(|_| self.post_receive(state, node));
        }
    }

    fn post_receive(&self, state: &mut State, node: usize) {
        let receive = state.ledger.offered(node as u8);
        self.apply(state, node, Input::Receive(receive));
    }

    fn send(&self, state: &mut State) {
        let (from, input) = self.sending(state);
        state.ledger.posted(state.now, state.sent);
        self.apply(state, from, input);
        state.sent += 1;
    }

    /// Who sends the next message, to the endpoint that its receiver has now.
    fn sending(&self, state: &State) -> (usize, Input) {
        let message = self.scenario.messages[state.sent as usize];
        let endpoint = self.nodes.get(state.nodes[message.to]).endpoint;
        (message.from, Input::Send(state.sent, endpoint))
    }

    /// Whether nothing is under way and no timer runs.
    pub fn is_quiet(&self, state: &State) -> bool {
        state.flights.is_empty() && self.timer(state).is_none() && state.now > self.scenario.until
    }

    fn timer(&self, state: &State) -> Option<Ticks> {
        state.nodes.iter().filter_map(|&node| self.nodes.get(node).timer).min()
    }

    /// The last tick in which a frame may arrive.
    fn dies(&self, flight: &Flight) -> Ticks {
        flight.born + Ticks::from(self.scenario.settings.mpl)
    }

    /// Frames that may arrive at the node whose turn it is.
    fn arriving<'a>(&'a self, state: &'a State) -> impl Iterator<Item = Flight> + 'a {
        let to = move |flight: &&Flight| self.frames.get(flight.frame).to == usize::from(state.turn);
        state.flights.iter().filter(|flight| flight.born < state.now).filter(to).copied()
    }

    /// What the host of the node whose turn it is may do of its own accord.
    fn deeds(&self, state: &State) -> Vec<Action> {
        let turn = usize::from(state.turn);
        let mut deeds = Vec::new();
        if state.now > self.scenario.until || !self.nodes.get(state.nodes[turn]).alive {
            return deeds;
        }
        if self.scenario.messages.get(usize::from(state.sent)).is_some_and(|message| message.from == turn) {
            deeds.push(Action::Send);
        }
        if turn == 1 && state.late_receives > 0 {
            deeds.push(Action::Receive);
        }
        if state.resets[turn] > 0 {
            deeds.push(Action::Reset(state.turn));
        }
        if state.destroys[turn] > 0 {
            deeds.push(Action::Destroy(state.turn));
        }
        deeds
    }

    fn rings(&self, state: &State, node: usize) -> bool {
        self.nodes.get(state.nodes[node]).timer.is_some_and(|due| due <= state.now)
    }

    /// What others see of an action.
    pub fn events(&self, state: &State, action: Action) -> Vec<Event> {
        let inputs: Vec<(usize, Input)> = match action {
            Action::Deliver(flight) | Action::Double(flight) => {
                vec![(self.frames.get(flight.frame).to, Input::Frame(flight.frame))]
            }
            Action::Send => vec![self.sending(state)],
            Action::Wait if self.next_turn(state).is_some() => Vec::new(),
            Action::Wait => {
                let ringing = (0..state.nodes.len()).filter(|&node| self.rings(state, node));
                ringing.map(|node| (node, Input::Timers)).collect()
            }
            Action::Destroy(node) => vec![(node.into(), Input::Destroy)],
            Action::Lose(_) | Action::Receive | Action::Reset(_) => Vec::new(),
        };
        let made = inputs.into_iter().map(|(node, input)| self.made(state.nodes[node], state.now, input));
        made.flat_map(|made| made.events.clone()).collect()
    }

    /// The next node that has anything to choose in this tick.
    fn next_turn(&self, state: &State) -> Option<u8> {
        (state.turn + 1..state.nodes.len() as u8).find(|&turn| {
            let then = State { turn, ..state.clone() };
            self.arriving(&then).next().is_some() || !self.deeds(&then).is_empty()
        })
    }

    /// The next turn, or the next tick in which anything can happen.
    fn wait(&self, state: &mut State) {
        if let Some(turn) = self.next_turn(state) {
            state.turn = turn;
            return;
        }
        for node in 0..state.nodes.len() {
            if self.rings(state, node) {
                self.apply(state, node, Input::Timers);
            }
        }
        let busy = !state.flights.is_empty() || state.now <= self.scenario.until;
        let next = if busy { None } else { self.timer(state) };
        state.now = next.unwrap_or(0).max(state.now + 1);
        state.turn = 0;
        if self.arriving(state).next().is_none() && self.deeds(state).is_empty() {
            state.turn = self.next_turn(state).unwrap_or(0);
        }
        if state.ledger.is_late(state.now, &self.scenario) {
            state.ledger.breaks(Rule::Late);
        }
        if state.now > self.scenario.horizon() {
            state.ledger.breaks(Rule::Endless);
        }
    }

    /// What must hold when nothing is under way.
    fn judge_quiet(&self, state: &mut State) {
        if !self.is_quiet(state) {
            return;
        }
        for (index, &node) in state.nodes.iter().enumerate() {
            let node = self.nodes.get(node);
            if !node.idle || !state.ledger.is_over(index, node.receives) {
                state.ledger.breaks(Rule::LeftOver);
            }
        }
        let Scenario { losses, resets, destroys, .. } = self.scenario;
        let harmed = (state.losses, state.resets, state.destroys) != (losses, resets, destroys);
        if self.scenario.arrives && !harmed && !state.ledger.all_succeeded() {
            state.ledger.breaks(Rule::Failed);
        }
    }
}

fn remove(flights: &mut Vec<Flight>, flight: Flight) -> Option<()> {
    let at = flights.iter().position(|other| *other == flight)?;
    flights.remove(at);
    Some(())
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        self.start().into_iter().collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // The first that is found is the nearest, but for what other threads are at.
        let stops = self.found.load(Ordering::Relaxed) && !self.walks.load(Ordering::Relaxed);
        if stops || state.ledger.broken.is_some() {
            return;
        }
        let mut must = false;
        let mut before = None;
        for flight in self.arriving(state) {
            must |= self.dies(&flight) <= state.now;
            if before.replace(flight) == Some(flight) {
                continue;
            }
            actions.push(Action::Deliver(flight));
            if !flight.copy {
                if state.copies > 0 {
                    actions.push(Action::Double(flight));
                }
                if state.losses > 0 && flight.born + 1 == state.now {
                    actions.push(Action::Lose(flight));
                }
            }
        }
        actions.extend(self.deeds(state));
        if !must && !self.is_quiet(state) {
            actions.push(Action::Wait);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Deliver(flight) | Action::Double(flight) => {
                remove(&mut next.flights, flight)?;
                if let Action::Double(_) = action {
                    next.copies -= 1;
                    next.flights.push(Flight { copy: true, ..flight });
                }
                self.apply(&mut next, self.frames.get(flight.frame).to, Input::Frame(flight.frame));
            }
            Action::Lose(flight) => {
                remove(&mut next.flights, flight)?;
                next.losses -= 1;
            }
            Action::Send => self.send(&mut next),
            Action::Receive => {
                next.late_receives -= 1;
                self.post_receive(&mut next, 1);
            }
            Action::Reset(node) => {
                let node = usize::from(node);
                next.resets[node] -= 1;
                next.ledger.reset(node, &self.scenario.messages);
                self.apply(&mut next, node, Input::Reset);
                self.post_receives(&mut next, node);
            }
            Action::Destroy(node) => {
                let node = usize::from(node);
                next.destroys[node] -= 1;
                self.apply(&mut next, node, Input::Destroy);
                next.ledger.forget_receives(node);
                // Without a quota every entry begins as it is posted.
                if self.scenario.tx_quota != 0 {
                    next.ledger.forget_sends(node, &self.scenario.messages);
                }
            }
            Action::Wait => self.wait(&mut next),
        }
        next.flights.sort_unstable();
        self.judge_quiet(&mut next);
        if next.ledger.broken.is_some() {
            self.found.store(true, Ordering::Relaxed);
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! always {
            ($($rule:ident),+) => {
                vec![$(Property::always(Rule::$rule.says(), |_, state: &State| {
                    state.ledger.broken != Some(Rule::$rule)
                }),)+]
            };
        }
        always![
            DeliveredTwice,
            Undelivered,
            WrongBytes,
            EndedTwice,
            Untrue,
            Changed,
            Credit,
            Late,
            LeftOver,
            Failed,
            Endless
        ]
    }
}
