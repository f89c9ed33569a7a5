//! Scripts of the fabric that more than one test aims with.

use std::sync::{Arc, Mutex};

use tessera_sim::fabric::{PacketClass, Script, Verdict};
use tessera_sim::tb::Rng;

/// What a script met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aimed {
    /// Frames of the class it aims at.
    pub seen: u32,
    /// Those of them that it lost.
    pub lost: u32,
}

/// Loses frames of one class with `probability`, and counts: a test that aims at
/// a class asserts that it was hit.
pub fn lose_some(class: PacketClass, probability: f64, seed: u64) -> (Script, Arc<Mutex<Aimed>>) {
    let aimed = Arc::<Mutex<Aimed>>::default();
    let counted = Arc::clone(&aimed);
    let mut rng = Rng::new(seed);
    let script = move |_, _, frame: &[u8]| {
        if PacketClass::of(frame) != class {
            return Verdict::Pass;
        }
        let mut aimed = counted.lock().expect("the script does not panic");
        aimed.seen += 1;
        if rng.chance(probability) {
            aimed.lost += 1;
            Verdict::Lose
        } else {
            Verdict::Pass
        }
    };
    (Box::new(script), aimed)
}
