//! One scenario explored to its end, and the way to a fault told step by step.

use std::time::{Duration, Instant};

use serde::Serialize;
use stateright::{Checker, HasDiscoveries, Model};
use tessera_model::settings::SettingsError;

use crate::ledger::Rule;
use crate::scenario::Scenario;
use crate::trace;
use crate::world::World;

/// How far an exploration has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// States come to, however often.
    pub states: usize,
    /// Different states.
    pub unique: usize,
    /// Longest way to a state.
    pub depth: usize,
}

/// What an exploration says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every state was seen, every rule holds in each.
    Holds,
    /// A rule is broken.
    Broken(Rule),
    /// Every state was seen, but never this drop reason or status, so what holds
    /// holds for want of trying.
    Unreached(&'static str),
    /// Time was up before every state was seen.
    Unfinished,
}

/// What came of an exploration.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The scenario.
    pub scenario: String,
    /// The verdict.
    pub verdict: Verdict,
    /// States come to, however often.
    pub states: usize,
    /// Different states.
    pub unique: usize,
    /// Different states of single nodes.
    pub nodes: usize,
    /// Longest way to a state, in actions.
    pub depth: usize,
    /// Seconds it took.
    pub seconds: f64,
    /// Drop reasons and statuses that occurred.
    pub reached: Vec<&'static str>,
    /// Actions on the shortest way found to where a rule is broken, 0 for none.
    pub steps: usize,
    /// That way, a line per action; turns passed on are none.
    pub trace: Vec<String>,
}

impl Outcome {
    /// Whether it is as it is to be: all holds, or the mistake made on purpose shows.
    pub fn is_good(&self, scenario: &Scenario) -> bool {
        match scenario.breaks {
            None => self.verdict == Verdict::Holds,
            Some(rule) => self.verdict == Verdict::Broken(rule),
        }
    }
}

/// How often progress is told.
const TOLD: Duration = Duration::from_millis(500);
const LOOKED: Duration = Duration::from_millis(10);

/// Explores a scenario on so many threads, for at most `limit`.
pub fn check(
    scenario: &Scenario,
    threads: usize,
    limit: Duration,
    mut progress: impl FnMut(Progress),
) -> Result<Outcome, SettingsError> {
    let world = World::new(scenario.clone());
    world.start()?;
    let begun = Instant::now();
    let builder = world.checker().threads(threads).timeout(limit).finish_when(HasDiscoveries::AnyFailures);
    let mut checker = builder.spawn_bfs();
    let handles = checker.handles();
    let mut told = begun;
    while !handles.iter().all(|handle| handle.is_finished()) {
        std::thread::sleep(LOOKED);
        if told.elapsed() >= TOLD {
            told = Instant::now();
            let (states, unique) = (checker.state_count(), checker.unique_state_count());
            progress(Progress { states, unique, depth: checker.max_depth() });
        }
    }
    for handle in handles {
        if let Err(panic) = handle.join() {
            std::panic::resume_unwind(panic);
        }
    }
    let elapsed = begun.elapsed();
    let world = checker.model();
    world.explored();
    let shortest = checker.discoveries().into_values().min_by_key(|path| path.clone().into_actions().len());
    let reached = world.reached();
    let unreached = scenario.reaches.iter().find(|&&name| !reached.contains(name));
    let broken = shortest.as_ref().and_then(|path| path.last_state().ledger.broken);
    let verdict = match (broken, unreached) {
        (Some(rule), _) => Verdict::Broken(rule),
        _ if elapsed >= limit => Verdict::Unfinished,
        (None, Some(name)) => Verdict::Unreached(name),
        (None, None) => Verdict::Holds,
    };
    Ok(Outcome {
        scenario: scenario.name.clone(),
        verdict,
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        nodes: world.distinct_nodes(),
        depth: checker.max_depth(),
        seconds: elapsed.as_secs_f64(),
        reached: reached.iter().copied().collect(),
        steps: shortest.as_ref().map_or(0, |path| path.clone().into_actions().len()),
        trace: shortest.map(|path| trace::lines(world, path.into_vec())).unwrap_or_default(),
    })
}
