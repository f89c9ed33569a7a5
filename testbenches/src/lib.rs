//! Cycle tests block by block and whole-NIC scenarios.
//!
//! The tests are in `testbenches/tests`, one file per block; here is what they
//! share.

pub mod axi;
pub mod exchange;
pub mod fifos;
pub mod host;
pub mod merges;
pub mod packets;
pub mod pair;
pub mod pressed;
pub mod scripts;
pub mod segments;
pub mod tabulation;

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, OnceLock};

use tessera_abi::params::{Config, NIC512};
use tessera_abi::wire::Form;
use tessera_driver::{CreateError, EndpointKind, EndpointOptions};
use tessera_rtl::emit;
use tessera_rtl::prelude::Block;
use tessera_sim::exported;
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_sim::verilator::{BuildOptions, Design, Model};

/// The seed of a whole-NIC test: `TESSERA_SEED`, or the same number every time.
/// Such a run depends on every clock of several NICs, so CI repeats one that is
/// known; other seeds are for soaks.
pub fn seed(test: &str) -> u64 {
    match std::env::var_os("TESSERA_SEED") {
        Some(_) => tessera_sim::tb::seed(test),
        None => {
            eprintln!("{test}: TESSERA_SEED=1");
            1
        }
    }
}

/// The configuration that whole-NIC tests are for: `TESSERA_CONFIG`, or `nic512`.
///
/// # Panics
/// If there is no configuration of that name.
pub fn config() -> &'static Config {
    match std::env::var("TESSERA_CONFIG") {
        Ok(name) if !name.is_empty() => {
            exported::config(&name).unwrap_or_else(|error| panic!("TESSERA_CONFIG: {error}"))
        }
        _ => &NIC512,
    }
}

/// The forms of frames that [`config`]'s NIC knows: first over IPv4 without a tag, last with all that it has.
pub fn forms() -> Vec<Form> {
    let knows = |form: &Form| (config().ipv6 || !form.v6) && (config().vlan || !form.tagged);
    Form::ALL.into_iter().filter(knows).collect()
}

/// Whether [`config`]'s NIC has endpoints of datagrams; else that it refuses them, which is all that there is to see.
pub fn has_datagrams() -> bool {
    if !config().datagrams {
        let fabric = FabricOptions::new(1, 250, 0, 1);
        let pair = pair::Pair::new(nic_model(), &NicOptions::default(), fabric, &[]);
        let cq = pair.a.context.create_cq(16).unwrap();
        let options = EndpointOptions { kind: EndpointKind::Datagrams, ..Default::default() };
        let refused = pair.a.pd.create_endpoint(&options, &cq, &cq).map(drop);
        assert!(matches!(refused, Err(CreateError::LeftOut(_))), "{refused:?}");
    }
    config().datagrams
}

/// The form that is asked for, as far as [`config`]'s NIC has it.
pub fn nearest(form: Form) -> Form {
    Form { v6: form.v6 && config().ipv6, tagged: form.tagged && config().vlan }
}

/// [`config`]'s whole NIC: its exported Verilog.
///
/// # Panics
/// When it cannot be exported.
pub fn nic_design() -> &'static Design {
    static DESIGN: OnceLock<Design> = OnceLock::new();
    DESIGN.get_or_init(|| Design::from(&exported::nic(config()).unwrap_or_else(|e| panic!("{e}"))))
}

/// The same under Verilator, built once: compiled in a hurry, for tests run it for seconds.
///
/// # Panics
/// When Verilator refuses it.
pub fn nic_model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        Model::build(nic_design(), &BuildOptions::hurried()).unwrap_or_else(|e| panic!("{e}"))
    })
}

/// The seeds of a soak: `TESSERA_RUNS` of them, counting up from `TESSERA_SEED`
/// or from a fresh one. Without `TESSERA_RUNS`, the one of [`seed`].
///
/// # Panics
/// If `TESSERA_RUNS` is not a number: a soak of no runs would pass.
pub fn seeds(test: &str) -> Vec<u64> {
    let runs = std::env::var("TESSERA_RUNS").unwrap_or_default();
    if runs.is_empty() {
        return vec![seed(test)];
    }
    let runs: u64 = match runs.parse() {
        Ok(runs) if runs > 0 => runs,
        _ => panic!("TESSERA_RUNS={runs} is not a number of runs"),
    };
    let first = tessera_sim::tb::seed(test);
    (0..runs).map(|run| first.wrapping_add(run)).collect()
}

/// The exported Verilog of a block as a design to simulate. The block is made
/// where the stack is large enough for it, and where `make` knows of nothing but its own text, once.
///
/// # Panics
/// When the block cannot be exported.
pub fn design<B: Block>(top: &str, make: impl FnOnce() -> B + Send + 'static) -> Design {
    design_for(top, (), |()| make())
}

/// The same of a block that is made for `size`; once for each.
///
/// # Panics
/// As [`design`].
pub fn design_for<S, B, F>(top: &str, size: S, make: F) -> Design
where
    S: Debug + Send,
    B: Block,
    F: FnOnce(S) -> B + Send + 'static,
{
    static MADE: Mutex<BTreeMap<(TypeId, String), Design>> = Mutex::new(BTreeMap::new());
    // A closure of no size has captured nothing: all that there is of it is its type.
    let key = (size_of::<F>() == 0).then(|| (TypeId::of::<F>(), format!("{top} {size:?}")));
    let made = || MADE.lock().expect("nobody panics with it");
    if let Some(design) = key.as_ref().and_then(|key| made().get(key).cloned()) {
        return design;
    }
    let export = emit::with_big_stack(|| emit::export(&mut make(size), top));
    let design = Design::from(&export.unwrap_or_else(|error| panic!("{top}: {error}")));
    if let Some(key) = key {
        made().insert(key, design.clone());
    }
    design
}

/// A test for beats of 64 bytes and one for 16 of each function given, which takes that size:
/// `wide::name` and `narrow::name`.
#[macro_export]
macro_rules! both_widths {
    ($($name:ident),+ $(,)?) => {
        mod wide {
            $(#[test]
            fn $name() {
                super::$name($crate::packets::WIDE);
            })+
        }
        mod narrow {
            $(#[test]
            fn $name() {
                super::$name($crate::packets::NARROW);
            })+
        }
    };
}
