//! Which testbench answers for which block.

/// A testbench (`testbenches/tests/<test>`) and the blocks it judges: kernels
/// and leaf cells, as [`super::block_of`] names them.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    /// Name of the test program.
    pub test: &'static str,
    /// The blocks it must notice a mistake in.
    pub blocks: &'static [&'static str],
}

/// Every block of a NIC has its place here; `testbenches/tests/tools.rs`
/// refuses one that has not.
pub const JUDGES: &[Judge] = &[
    Judge { test: "fifo", blocks: &["fifo"] },
    Judge { test: "late_fifo", blocks: &["late_fifo", "late_control", "pair_fifo"] },
    Judge { test: "slice_fifo", blocks: &["slice_fifo"] },
    Judge { test: "commit_fifo", blocks: &["commit_fifo"] },
    Judge { test: "round_robin", blocks: &["round_robin"] },
    Judge {
        test: "emit",
        blocks: &["dff", "sdp_ram", "forward_ram", "byte_dff", "byte_ram", "lut_ram", "slice_ram"],
    },
    Judge {
        test: "wire_cells",
        blocks: &[
            "keep_count",
            "keep_bytes",
            "xor_register",
            "xor_matrix",
            "from_wire",
            "to_wire",
            "rom",
            "delay",
            "delay_block",
            "delay_ultra",
            "lowest",
        ],
    },
    Judge {
        test: "registers",
        blocks: &["registers", "register_file", "counters", "path_counters", "cleared_ram"],
    },
    Judge {
        test: "sq_fetch",
        blocks: &["sq_fetch", "ring_reader", "work_queue", "key_check", "byte_reverse"],
    },
    Judge { test: "rq_fetch", blocks: &["rq_fetch"] },
    Judge { test: "send_tally", blocks: &["send_tally"] },
    Judge { test: "soft_reset", blocks: &["soft_reset", "dma_gate"] },
    Judge { test: "event_queue", blocks: &["event_queue"] },
    Judge { test: "interrupts", blocks: &["interrupts"] },
    Judge { test: "reclaim_marks", blocks: &["reclaim_marks", "mark_count"] },
    Judge { test: "cq_writer", blocks: &["cq_writer"] },
    Judge { test: "ctrl_read_mux", blocks: &["ctrl_read_mux"] },
    Judge { test: "ctrl_write_mux", blocks: &["ctrl_write_mux"] },
    Judge { test: "icrc", blocks: &["icrc_insert", "icrc", "narrow_icrc_insert", "narrow_icrc"] },
    Judge {
        test: "rx_parse",
        blocks: &[
            "rx_parse",
            "rx_heads",
            "rx_address",
            "rx_judge",
            "rx_payload",
            "endpoint_keys",
            "narrow_rx_parse",
            "narrow_rx_heads",
            "narrow_rx_payload",
        ],
    },
    Judge { test: "vlan", blocks: &["vlan_strip", "vlan_insert", "narrow_vlan_strip", "narrow_vlan_insert"] },
    Judge {
        test: "tx_build",
        blocks: &[
            "tx_build",
            "tx_choice",
            "tx_fields",
            "tx_head",
            "tx_beats",
            "narrow_tx_build",
            "narrow_tx_beats",
        ],
    },
    Judge {
        test: "path_scheduler",
        blocks: &["path_scheduler", "path_draw", "recycle_rings", "destination_hash"],
    },
    Judge { test: "match_table", blocks: &["match_table", "match_nodes", "match_tenants", "tag_hash"] },
    Judge {
        test: "lookup",
        blocks: &[
            "lookup",
            "lookup_hash",
            "hash_seed",
            "lookup_way",
            "lookup_tables",
            "lookup_numbers",
            "lookup_judge",
            "lookup_ends",
            "lookup_tally",
            "lookup_tenants",
            "lookup_reply",
        ],
    },
    Judge {
        test: "rx_context",
        blocks: &[
            "receiver",
            "context",
            "intake",
            "arrival",
            "ending",
            "stock",
            "block_slot",
            "whole_chunk",
            "window",
            "interval",
            "aim",
            "grant",
            "feedback",
        ],
    },
    Judge { test: "rounds", blocks: &["rounds"] },
    Judge { test: "grant_order", blocks: &["grant_order"] },
    Judge { test: "access", blocks: &["access", "rx_fence"] },
    Judge { test: "placement", blocks: &["placement", "narrow_placement"] },
    Judge { test: "chunks", blocks: &["chunks"] },
    Judge { test: "datagrams", blocks: &["rx_datagram", "tx_datagram"] },
    Judge { test: "bitmap", blocks: &["bitmap", "zero_scan"] },
    Judge { test: "timer_wheel", blocks: &["timer_wheel", "timer_place"] },
    Judge { test: "retransmit_queue", blocks: &["retransmit_queue"] },
    Judge {
        test: "tx_slots",
        blocks: &[
            "sender",
            "slots",
            "starter",
            "chooser",
            "completer",
            "releaser",
            "outlet",
            "unasked",
            "request_intake",
            "free_list",
            "slot_ring",
            "timers",
            "rtt_table",
            "window_table",
            "judge",
            "act",
            "packet_maker",
            "nack",
        ],
    },
    Judge { test: "flight", blocks: &["flight"] },
    Judge { test: "turn_lists", blocks: &["turn_lists"] },
    Judge { test: "payload_reader", blocks: &["payload_reader", "payload_order", "narrow_payload_reader"] },
    Judge { test: "nic", blocks: &["nic512", "core", "wide_path", "event_map"] },
    Judge { test: "gears", blocks: &["widen", "split"] },
    Judge { test: "axi", blocks: &["axi_read", "axi_write"] },
    Judge { test: "axi_blocks", blocks: &["axi_merge", "axi_bridge"] },
    Judge { test: "segments", blocks: &["line_ring", "seg_read", "seg_write"] },
    Judge { test: "frames", blocks: &["frame_tap", "frame_join"] },
    Judge { test: "app_regs", blocks: &["app_regs"] },
    Judge { test: "corundum", blocks: &["corundum_nic", "stat_feed"] },
    Judge {
        test: "configs",
        blocks: &[
            "narrow_nic",
            "narrow_path",
            "geared_nic",
            "axi_nic",
            "narrow_axi_nic",
            "geared_axi_nic",
            "tessera_nic",
        ],
    },
];

/// The testbenches that answer for blocks of this name; two blocks may share
/// one.
pub fn judges_of(block: &str) -> impl Iterator<Item = &'static Judge> + '_ {
    JUDGES.iter().filter(move |judge| judge.blocks.contains(&block))
}
