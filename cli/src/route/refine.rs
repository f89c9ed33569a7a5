//! A placement refined before it is routed, and a router that takes its time.

use std::path::Path;

use serde_json::Value;
use tessera_place::{Effort, Refined, STAGES};
use tessera_sim::progress::Progress;

use super::Router;
use crate::output::{self, Failure};

/// Settings of nextpnr's that have no option of their own: a router2 that goes on getting better where a device is full.
/// What is overused gets dearer more slowly, detours may be longer, and time counts for nothing.
const PATIENT: [(&str, &str); 5] = [
    ("router2/estimateWeight", "1.0"),
    ("router2/currCongWeightMult", "0.5"),
    ("router2/bbMargin/x", "5"),
    ("router2/bbMargin/y", "5"),
    // As nextpnr writes a number: 32 bits.
    ("timing_driven", "00000000000000000000000000000000"),
];

/// Reads what nextpnr placed, and writes it refined.
pub fn refine(placed: &Path, to: &Path, effort: Effort, router: Router) -> Result<Refined, Failure> {
    let progress = Progress::start(format!("refining the placement, seed {}", effort.seed));
    let wrong = |error: String| Failure::new(format!("cannot refine {}: {error}", placed.display()));
    let text = std::fs::read(placed).map_err(|error| wrong(error.to_string()))?;
    let mut design: Value = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    let refined = tessera_place::refine(&mut design, effort, |stage, figures| {
        progress.detail(format!("temperature {} of {STAGES}: {figures}", stage + 1));
    })
    .map_err(|error| wrong(error.to_string()))?;
    settle(&mut design, router);
    output::write(to, serde_json::to_vec(&design).map_err(|error| wrong(error.to_string()))?)?;
    Ok(refined)
}

/// What the design was placed with goes over nextpnr's options, so that the router must be named there.
fn settle(design: &mut Value, router: Router) {
    let modules = design["modules"].as_object_mut().into_iter().flat_map(|modules| modules.values_mut());
    for settings in modules.filter_map(|module| module["settings"].as_object_mut()) {
        settings.insert("router".into(), router.name().into());
        if router == Router::Router2 {
            settings.extend(PATIENT.map(|(name, value)| (name.to_owned(), Value::from(value))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_router_is_the_one_that_is_asked_for() {
        let mut design =
            serde_json::json!({"modules": {"top": {"settings": {"router": "router1", "seed": "1"}}}});
        settle(&mut design, Router::Router2);
        let settings = &design["modules"]["top"]["settings"];
        assert_eq!((&settings["router"], &settings["seed"]), (&"router2".into(), &"1".into()));
        assert_eq!(settings["router2/currCongWeightMult"], "0.5");
        let mut design = serde_json::json!({"modules": {"top": {"settings": {"router": "router2"}}}});
        settle(&mut design, Router::Router1);
        assert_eq!(design["modules"]["top"]["settings"], serde_json::json!({"router": "router1"}));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = std::env::temp_dir().join(format!("tessera-refine-none-{}", std::process::id()));
        let effort = Effort { rounds: 1, seed: 1, time: 0.0 };
        let said = refine(&folder, &folder, effort, Router::Router2).unwrap_err().to_string();
        assert!(said.contains("cannot refine") && said.contains("tessera-refine-none"), "{said}");
        assert!(!folder.exists());
    }
}
