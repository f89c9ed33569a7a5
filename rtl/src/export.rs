//! Whole configurations as Verilog.

use tessera_abi::params::{Config, CORE_BITS};

use crate::emit::{export_with_header, with_big_stack, EmitError, Export, Header};
use crate::shell::axi_nic::AxiNic;
use crate::shell::corundum_nic::CorundumNic;
use crate::shell::geared_axi_nic::GearedAxiNic;
use crate::shell::narrow_axi_nic::NarrowAxiNic;
use crate::top::{GearedNic, NarrowNic, TesseraNic};

/// Says which sources these exports are made from: with the same, a configuration's text is the same.
pub const SOURCES: &str = env!("TESSERA_RTL_SOURCES");

/// Which text of a NIC: that which is simulated here unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edition<'a> {
    /// The source revision in the file's head, if any. Without one, what was compiled of the text stays good until
    /// the hardware changes.
    pub revision: &'a str,
    /// Names of modules inside begin with the top's (`tessera_nic64_axi_fifo`), so that one project may hold several
    /// NICs. Otherwise they are the same in all configurations (`tessera_fifo`).
    pub own_names: bool,
}

impl<'a> Edition<'a> {
    fn header(self, config: &'static Config, top: &'a str) -> Header<'a> {
        let prefix = if self.own_names { top } else { "" };
        Header { configuration: config.name, revision: self.revision, prefix, docs: crate::top::PORT_DOCS }
    }
}

/// Exports a whole NIC.
///
/// # Errors
/// [`EmitError`]: a fault of a block, named with its path and signal.
///
/// # Panics
/// For a width of streams that there is no gear for.
pub fn nic(config: &'static Config, edition: Edition) -> Result<Export, EmitError> {
    with_big_stack(|| {
        let top = format!("tessera_{}", config.name);
        let header = edition.header(config, &top);
        match config.data_bits {
            64 => export_with_header(&mut NarrowNic::<64, 8>::new(config), &top, &header),
            128 => export_with_header(&mut NarrowNic::<128, 16>::new(config), &top, &header),
            256 => export_with_header(&mut GearedNic::<256, 32>::new(config), &top, &header),
            CORE_BITS => export_with_header(&mut TesseraNic::new(config), &top, &header),
            other => panic!("{}: no gear for streams of {other} bits", config.name),
        }
    })
}

/// Exports a whole NIC whose host memory is behind one AXI4 master.
///
/// # Errors
/// As [`nic`].
///
/// # Panics
/// As [`nic`].
pub fn axi_nic(config: &'static Config, edition: Edition) -> Result<Export, EmitError> {
    with_big_stack(|| {
        let top = format!("tessera_{}_axi", config.name);
        let header = edition.header(config, &top);
        match config.data_bits {
            64 => export_with_header(&mut NarrowAxiNic::<64, 8>::new(config), &top, &header),
            128 => export_with_header(&mut NarrowAxiNic::<128, 16>::new(config), &top, &header),
            256 => export_with_header(&mut GearedAxiNic::<256, 32>::new(config), &top, &header),
            CORE_BITS => export_with_header(&mut AxiNic::new(config), &top, &header),
            other => panic!("{}: no gear for streams of {other} bits", config.name),
        }
    })
}

/// Exports a whole NIC as it is inside Corundum's application block
/// (`fpga/corundum/mqnic_app_block.v`). Of the configuration it has the tables: how wide streams are is
/// the board's matter.
///
/// # Errors
/// As [`nic`].
pub fn corundum_nic(config: &'static Config, edition: Edition) -> Result<Export, EmitError> {
    with_big_stack(|| {
        let top = "tessera_corundum";
        let header = edition.header(config, top);
        let mut export = export_with_header(&mut CorundumNic::new(config), top, &header)?;
        export.verilog += "\n";
        export.verilog += MQNIC_WIDTHS;
        Ok(export)
    })
}

/// Corundum's application block around [`corundum_nic`], in Verilog by hand.
pub const MQNIC_APP_BLOCK: &str = include_str!("../../fpga/corundum/mqnic_app_block.v");
/// What it puts between a narrow board and the NIC; part of the export.
pub const MQNIC_WIDTHS: &str = include_str!("../../fpga/corundum/widths.v");
/// Its ports, as Corundum connects them: lines of direction, width, name.
pub const MQNIC_APP_BLOCK_PORTS: &str = include_str!("../../fpga/corundum/ports.txt");
