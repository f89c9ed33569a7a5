//! Whole NICs as Verilog, for simulation: exported once, and kept in the cache.
//!
//! An export takes seconds, and whoever simulates a NIC needs its text to find the model that was compiled of it. What
//! is kept goes by a hash of the sources that it was made from ([`export::SOURCES`]) and by all of the configuration.
//! A file that cannot be read is made anew; one that cannot be written is done without.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use tessera_abi::params::Config;
use tessera_abi::parts::UnknownConfig;
use tessera_rtl::emit::{EmitError, Export};
use tessera_rtl::export::{self, Edition};

use crate::tools::cache_dir;

/// The configuration of a name, parts left out included ([`Config::named`]).
///
/// # Errors
/// [`UnknownConfig`]. One that is found is kept for as long as the program runs: it is asked for once or twice.
pub fn config(name: &str) -> Result<&'static Config, UnknownConfig<'static>> {
    if let Some(config) = Config::by_name(name) {
        return Ok(config);
    }
    Ok(Box::leak(Box::new(Config::named(String::leak(name.to_owned()))?)))
}

type Exporter = fn(&'static Config, Edition) -> Result<Export, EmitError>;

/// [`export::nic`] for simulation.
///
/// # Errors
/// Of that.
pub fn nic(config: &'static Config) -> Result<Export, EmitError> {
    kept(&folder(), export::SOURCES, "nic", config, export::nic)
}

/// [`export::axi_nic`] for simulation.
///
/// # Errors
/// Of that.
pub fn axi_nic(config: &'static Config) -> Result<Export, EmitError> {
    kept(&folder(), export::SOURCES, "axi", config, export::axi_nic)
}

/// [`export::corundum_nic`] for simulation.
///
/// # Errors
/// Of that.
pub fn corundum_nic(config: &'static Config) -> Result<Export, EmitError> {
    kept(&folder(), export::SOURCES, "corundum", config, export::corundum_nic)
}

fn folder() -> PathBuf {
    cache_dir().join("exports")
}

fn kept(
    folder: &Path,
    sources: &str,
    shell: &str,
    config: &'static Config,
    exporter: Exporter,
) -> Result<Export, EmitError> {
    let key = Sha256::digest(format!("{sources} {shell} {config:?}"));
    let key: String = key.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = format!("{}-{shell}-", config.name);
    let file = folder.join(format!("{name}{key}.json"));
    if let Some(export) = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
        return Ok(export);
    }
    let export = exporter(config, Edition::default())?;
    let _ = keep(folder, &name, &file, &export);
    Ok(export)
}

/// In place of those of other sources.
fn keep(folder: &Path, name: &str, file: &Path, export: &Export) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let old = path.file_name().unwrap_or_default().to_string_lossy();
        if old.starts_with(name) && old.ends_with(".json") {
            // Another process may have done so.
            let _ = fs::remove_file(path);
        }
    }
    // Whole or not at all, beside other processes and threads that do the same.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let partial = folder.join(format!("{}-{number}.partial", std::process::id()));
    fs::write(&partial, serde_json::to_vec(export)?)?;
    fs::rename(&partial, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tessera_abi::params::{CONFIGS, NIC64, TINY};

    /// Another configuration by a name that is taken.
    static OTHER: Config = Config { name: TINY.name, ..NIC64 };

    static MADE: AtomicUsize = AtomicUsize::new(0);

    fn exporter(config: &'static Config, edition: Edition) -> Result<Export, EmitError> {
        assert_eq!(edition, Edition::default());
        MADE.fetch_add(1, Ordering::Relaxed);
        let verilog = format!("module {} ();\nendmodule\n", config.name);
        Ok(Export { top: config.name.into(), verilog, ports: Vec::new() })
    }

    fn made() -> usize {
        MADE.load(Ordering::Relaxed)
    }

    #[test]
    fn an_export_is_made_once() {
        let folder = std::env::temp_dir().join(format!("tessera-exports-{}", std::process::id()));
        let get = |shell, config| kept(&folder, "these", shell, config, exporter).unwrap();
        let first = get("nic", &TINY);
        assert_eq!((get("nic", &TINY), made()), (first.clone(), 1));
        // Neither another configuration nor another shell is taken for it.
        assert_eq!((get("nic", &NIC64).top.as_str(), made()), ("nic64", 2));
        assert_eq!((get("axi", &TINY).top.as_str(), made()), ("tiny", 3));
        get("nic", &TINY);
        get("nic", &NIC64);
        assert_eq!(made(), 3);
        get("nic", &OTHER);
        assert_eq!(made(), 4);
        // One that is broken is made anew.
        let files = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        assert_eq!(files().len(), 3);
        files().iter().for_each(|file| fs::write(file, "{").unwrap());
        assert_eq!((get("nic", &OTHER), made()), (first.clone(), 5));
        // Of other sources: made anew, and what was of these is gone.
        let anew = || kept(&folder, "others", "nic", &OTHER, exporter).unwrap();
        assert_eq!((anew(), made()), (first.clone(), 6));
        assert_eq!((anew(), made(), files().len()), (first, 6, 3));
        fs::remove_dir_all(&folder).unwrap();
        // Where nothing can be written.
        assert!(kept(Path::new("/proc/no such folder"), "these", "nic", &TINY, exporter).is_ok());
    }

    #[test]
    fn threads_keep_their_own() {
        let folder = std::env::temp_dir().join(format!("tessera-exports-threads-{}", std::process::id()));
        let long: Exporter = |config, _| {
            let verilog = config.name.repeat(100_000);
            Ok(Export { top: config.name.into(), verilog, ports: Vec::new() })
        };
        let none: Exporter = |config, _| panic!("{} was not kept", config.name);
        for round in 0..20 {
            let sources = round.to_string();
            let get = |config, exporter| kept(&folder, &sources, "nic", config, exporter).unwrap().top;
            std::thread::scope(|scope| {
                CONFIGS.iter().for_each(|config| drop(scope.spawn(move || get(config, long))));
            });
            CONFIGS.iter().for_each(|config| assert_eq!(get(config, none), config.name));
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_kept_is_what_is_exported() {
        let made = export::axi_nic(&TINY, Edition::default()).unwrap();
        // Made there, or by whoever asked before.
        assert!(axi_nic(&TINY).unwrap() == made && axi_nic(&TINY).unwrap() == made);
    }
}
