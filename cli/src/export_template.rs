//! What a project needs to take an exported NIC: an instance to copy, and a FuseSoC core.

use std::fmt::Write as _;
use std::path::Path;

use tessera_rtl::emit::{Direction, Export};

use crate::model::Shell;

/// How the NIC stands between a board's parts.
fn drawing(shell: Shell) -> &'static str {
    match shell {
        Shell::Thin => {
            "\
//                        +-----------------------+
//   host registers ----->| s_axil                |
//   interrupts     <-----| irq (level)           |
//                        |        m_axis         |-----> MAC, transmit (it adds the FCS)
//   rings    <---------->| dma_ctrl_*            |
//   payload  <---------->| dma_data_*            |
//                        |        s_axis         |<----- MAC, receive (it takes the FCS off)
//                        +-----------------------+
//   dma_*: descriptors, data and statuses of a DMA engine (docs/architecture.md)."
        }
        Shell::Axi => {
            "\
//                        +-----------------------+
//   PCIe bridge, BAR --->| s_axil                |
//     (AXI4-Lite)        |        m_axis         |-----> MAC, transmit (it adds the FCS)
//   its interrupts <-----| irq (level)           |
//   PCIe bridge,    <----| m_axi                 |
//     host memory        |        s_axis         |<----- MAC, receive (it takes the FCS off)
//     (AXI4)             +-----------------------+
//   One clock: clock converters of the board stand between it and the MAC's, and the bridge's."
        }
        Shell::Corundum => {
            "//   Corundum instantiates mqnic_app_block, which instantiates this: docs/corundum.md."
        }
    }
}

/// An instance with every port, and a wire for each.
pub fn instance(export: &Export, shell: Shell) -> String {
    let mut text =
        format!("// An instance of {}, to copy: each port with a wire of its name.\n//\n", export.top);
    text += drawing(shell);
    text += "\n\n";
    for port in &export.ports {
        if let Some(doc) = &port.doc {
            let _ = writeln!(text, "// {doc}");
        }
        let range = if port.width == 1 { String::new() } else { format!("[{}:0] ", port.width - 1) };
        let way = if port.direction == Direction::In { "in" } else { "out" };
        let _ = writeln!(text, "wire {range}{};  // {way}", port.name);
    }
    let width = export.ports.iter().map(|port| port.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "\n{} nic (", export.top);
    for (i, port) in export.ports.iter().enumerate() {
        let comma = if i + 1 == export.ports.len() { "" } else { "," };
        let _ = writeln!(text, "    .{:<width$} ({}){comma}", port.name, port.name);
    }
    text += ");\n";
    text
}

/// A FuseSoC core (CAPI2) of that name of the exported file: the NIC for others to depend on, and lint.
/// Its outermost module is `top`.
pub fn core(name: &str, top: &str, files: &[&Path]) -> String {
    // Quoted as YAML has it: a name may have what means something there.
    let quoted = |name: &str| format!("      - '{}'", name.replace('\'', "''"));
    let listed: Vec<String> =
        files.iter().filter_map(|file| Some(quoted(file.file_name()?.to_str()?))).collect();
    format!(
        "CAPI=2:\nname: tessera:nic:{name}:{}\n\
         description: Tessera, a transport block without queue pairs ({name})\n\n\
         filesets:\n  rtl:\n    files:\n{}\n    file_type: verilogSource\n\n\
         targets:\n  default:\n    filesets: [rtl]\n\n  lint:\n    flow: lint\n    \
         filesets: [rtl]\n    toplevel: {}\n    flow_options:\n      tool: verilator\n",
        env!("CARGO_PKG_VERSION"),
        listed.join("\n"),
        top,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config;
    use std::sync::OnceLock;
    use tessera_sim::exported;

    const SHELLS: [Shell; 3] = [Shell::Thin, Shell::Axi, Shell::Corundum];

    fn exported(name: &str, shell: Shell) -> Export {
        let exported = match shell {
            Shell::Thin => exported::nic,
            Shell::Axi => exported::axi_nic,
            Shell::Corundum => exported::corundum_nic,
        };
        exported(config(name).unwrap()).unwrap()
    }

    /// `tiny` for each shell, made once for all tests.
    fn tiny() -> impl Iterator<Item = (Shell, &'static Export)> {
        static EXPORTS: OnceLock<[Export; 3]> = OnceLock::new();
        SHELLS.into_iter().zip(EXPORTS.get_or_init(|| SHELLS.map(|shell| exported("tiny", shell))))
    }

    /// The top module with its ports, and nothing in it.
    fn hollow(export: &Export) -> String {
        let begin = export.verilog.find(&format!("module {} (", export.top)).unwrap();
        let ports = export.verilog[begin..].split_inclusive("\n);\n").next().unwrap();
        format!("{ports}endmodule\n")
    }

    #[test]
    fn an_instance_has_every_port_once() {
        for (shell, export) in tiny() {
            let text = instance(export, shell);
            for port in &export.ports {
                let named = format!(" {};", port.name);
                let wires = text.lines().filter(|line| line.starts_with("wire ") && line.contains(&named));
                assert_eq!(wires.count(), 1, "{}", port.name);
                assert_eq!(text.matches(&format!("({})", port.name)).count(), 1, "{}", port.name);
            }
        }
    }

    #[test]
    fn a_core_lists_its_files() {
        let text = core("tiny_axi", "tessera_tiny_axi", &[Path::new("/somewhere/a.v"), Path::new("b.v")]);
        assert!(text.starts_with("CAPI=2:\nname: tessera:nic:tiny_axi:"), "{text}");
        assert!(text.contains("      - 'a.v'\n      - 'b.v'\n"), "{text}");
        let text = core("tiny_axi", "tessera_tiny_axi", &[Path::new("it's: #1.v")]);
        assert!(text.contains("      - 'it''s: #1.v'\n"), "{text}");
        assert!(text.contains("toplevel: tessera_tiny_axi\n"), "{text}");
    }

    /// What is to be copied fits the exported Verilog: no width, no port, no name is another.
    #[test]
    fn an_instance_is_linted_with_the_nic() {
        use tessera_sim::tools;
        let folder = tools::cache_dir().join("checks").join("instance");
        std::fs::create_dir_all(&folder).expect("the cache can be written");
        let verilator = tools::pinned_verilator(&tools::ToolOptions::default()).unwrap();
        let lint = |top: &str, verilog: &str, text: &str| {
            let file = folder.join(format!("{top}.v"));
            std::fs::write(&file, format!("module project;\n{text}\nendmodule\n{verilog}")).unwrap();
            // A project drives the wires and reads them; what is in the NIC is linted wherever a model of it is made.
            let loose = ["-Wno-DECLFILENAME", "-Wno-TIMESCALEMOD", "-Wno-UNDRIVEN", "-Wno-UNUSEDSIGNAL"];
            let mut command = verilator.command();
            command.args(["--lint-only", "-Wall", "--top-module", "project"]).args(loose).arg(&file);
            let output = command.output().unwrap();
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let others = [("nic64", Shell::Thin), ("nic128", Shell::Axi)]
            .map(|(name, shell)| (shell, exported(name, shell)));
        let mut all: Vec<(Shell, &Export)> = tiny().collect();
        all.extend(others.iter().map(|(shell, export)| (*shell, export)));
        for (shell, export) in all {
            let (hollow, text) = (hollow(export), instance(export, shell));
            let (ok, said) = lint(&export.top, &hollow, &text);
            assert!(ok, "{}: {said}", export.top);
            if shell == Shell::Axi {
                let wrong = [
                    ("wire [31:0] s_axil_wdata;", "wire [30:0] s_axil_wdata;", "WIDTH"),
                    ("    .s_axil_wdata ", "    .s_axil_data ", "s_axil_data"),
                    ("    .s_axil_wdata ", "    // .s_axil_wdata ", "PINMISSING"),
                ];
                for (from, to, complaint) in wrong {
                    let changed = text.replace(from, to);
                    assert_ne!(changed, text);
                    let (ok, said) = lint(&export.top, &hollow, &changed);
                    assert!(!ok && said.contains(complaint), "{said}");
                }
            }
        }
    }
}
