//! Whole configurations as Verilog.

use tessera_abi::params::Config;

use crate::emit::{export_with_header, with_big_stack, EmitError, Export, Header};
use crate::top::TesseraNic;

/// Exports a whole NIC, with the source revision in the file's head.
///
/// # Errors
/// [`EmitError`]: a fault of a block, named with its path and signal.
pub fn nic(config: &'static Config, revision: &str) -> Result<Export, EmitError> {
    with_big_stack(|| {
        let header = Header { configuration: config.name, revision, docs: crate::top::PORT_DOCS };
        export_with_header(&mut TesseraNic::new(config), &format!("tessera_{}", config.name), &header)
    })
}
