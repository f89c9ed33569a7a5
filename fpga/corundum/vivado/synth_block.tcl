# Synthesis of the block alone, out of context, for a board's part at 250 MHz: area and timing.
#
#   vivado -mode batch -source synth_block.tcl -tclargs BOARD VERILOG OUT [route]
#
# VERILOG is the folder that `cargo tessera export --shell corundum` wrote to, OUT a folder for the
# reports; with `route` the block is placed and routed too, and reported once more.

source [file join [file dirname [file normalize [info script]]] tessera.tcl]

# Area, by block too, and the longest ways, of what is in memory.
proc tessera::report {out stage} {
    report_utilization -file [file join $out ${stage}_utilization.txt]
    report_utilization -hierarchical -hierarchical_depth 4 -file [file join $out ${stage}_utilization_by_block.txt]
    report_timing_summary -delay_type min_max -max_paths 20 -file [file join $out ${stage}_timing.txt]
    write_checkpoint -force [file join $out $stage.dcp]
    set longest [get_timing_paths -setup -max_paths 1 -nworst 1]
    puts "$stage: slack [get_property SLACK $longest] ns of 4.000"
}

tessera::main synth_block.tcl {
    if {[llength $argv] ni {3 4} || [lindex $argv 3] ni {{} route}} {
        tessera::fail "\"$argv\" is not understood" "synth_block.tcl BOARD VERILOG OUT \[route\]"
    }
    lassign $argv name folder out stage
    set board [tessera::board $name]
    set part [dict get $board part]
    set files [tessera::verilog $folder]
    if {[info commands synth_design] eq ""} {
        tessera::fail "this Tcl is not Vivado's" "vivado -mode batch -source synth_block.tcl -tclargs $argv"
    }
    if {[llength [get_parts -quiet $part]] == 0} {
        tessera::fail "this Vivado does not know $part" "install the device's family"
    }
    set out [file normalize $out]
    if {[file exists $out] && (![file isdirectory $out] || [llength [glob -nocomplain -directory $out *]])} {
        tessera::fail "$out is not an empty folder" "name another"
    }
    if {[catch {file mkdir $out} message]} { tessera::fail "cannot make $out: $message" "name another" }
    create_project -in_memory -part $part
    read_verilog $files
    read_xdc -mode out_of_context [file join $tessera::here block.xdc]
    set generics {}
    dict for {parameter value} [tessera::parameters $board] { lappend generics -generic $parameter=$value }
    synth_design -top mqnic_app_block -part $part -mode out_of_context {*}$generics
    tessera::report $out synthesis
    if {$stage eq "route"} {
        opt_design
        place_design
        phys_opt_design
        route_design
        tessera::report $out route
    }
}
