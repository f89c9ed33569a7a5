//! Shape of the exported text.

use crate::blocks::Sampler;
use tessera_rtl::emit::{export_with_header, with_big_stack, Direction, Header};

#[test]
fn a_block_with_everything_reads_well() {
    let header = Header {
        configuration: "test",
        revision: "none",
        prefix: "",
        docs: &[("busy", "High while a run is going on.")],
    };
    let export =
        with_big_stack(|| export_with_header(&mut Sampler::default(), "sampler", &header)).expect("exports");
    let entry = &export.ports[4];
    assert_eq!((entry.name.as_str(), entry.width, entry.direction), ("entry", 32, Direction::In));
    let fields: Vec<_> = entry.fields.iter().map(|f| (f.name.as_str(), f.lsb, f.width)).collect();
    assert_eq!(fields, [("tag", 0, 7), ("inner", 7, 5), ("count", 12, 20)]);
    assert!(export.ports[0].is_clock && !export.ports[1].is_clock);
    for line in [
        "// Configuration: test",
        "  // High while a run is going on.",
        "  assign parts_0 = sum[6:2];",
        "  assign wide = {12'h0, sum + entry[31:12]};",
        "        end else if ((sum - 20'h5) < 20'h80000) begin",
        "  tessera_dff_2 phase (",
        "  tessera_sdp_ram_32x64 memory (",
        "    .read_data(stored)",
    ] {
        assert!(export.verilog.lines().any(|l| l == line), "no `{line}` in\n{}", export.verilog);
    }
    let stages = export.verilog.matches("\nmodule tessera_stages").count();
    assert_eq!(stages, 1, "three equal stages share one module");
}

#[test]
fn modules_inside_are_named_after_their_prefix() {
    let export = |prefix| {
        let header = Header { prefix, ..Header::default() };
        with_big_stack(|| export_with_header(&mut Sampler::default(), "sampler", &header))
    };
    let [plain, own] = ["", "mine"].map(|prefix| export(prefix).expect("exports").verilog);
    assert!(plain.contains("\n  tessera_dff_2 phase (") && own.contains("\n  mine_dff_2 phase ("));
    assert_eq!(own.replace("mine_", "tessera_"), plain);
    let error = export("a-b").unwrap_err().to_string();
    assert!(error.contains("a-b") && error.contains("portable name"), "{error}");
}
