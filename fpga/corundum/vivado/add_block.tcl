# Makes a design of a Corundum checkout that has Tessera: a folder beside that of the board, with its
# Makefile and config.tcl changed as docs/corundum.md says. Nothing that is there is changed.
#
#   tclsh add_block.tcl BOARD CORUNDUM VERILOG [DESIGN]
#   vivado -mode batch -source add_block.tcl -tclargs BOARD CORUNDUM VERILOG [DESIGN]
#
# CORUNDUM is the checkout, VERILOG the folder that `cargo tessera export --shell corundum` wrote to,
# DESIGN a folder of the checkout to begin with instead of the board's own.

source [file join [file dirname [file normalize [info script]]] tessera.tcl]

# The path of a file as a Makefile of Corundum has it: from the folder above the design's, or from the root.
proc tessera::make_path {file checkout design} {
    if {[regexp {\s} $file]} { fail "make cannot have blanks in the name of a file: $file" "export to another folder" }
    if {![string match [file join $checkout *] $file]} { return $file }
    set from [file split [file dirname $design]]
    set to [file split $file]
    while {[llength $from] && [lindex $from 0] eq [lindex $to 0]} {
        set from [lrange $from 1 end]
        set to [lrange $to 1 end]
    }
    foreach folder $from { set to [linsert $to 0 ..] }
    return [file join {*}$to]
}

# The Makefile with more files for synthesis, behind the last that it has.
proc tessera::with_sources {makefile name files part} {
    if {[regexp -line {^.*mqnic_app_block.*$} $makefile line]} {
        fail "$name has an application block: [string trim $line]" "name a design without one"
    }
    if {![regexp -line {^FPGA_PART\s*:?=\s*(\S+)} $makefile - its]} {
        fail "$name has no FPGA_PART" "name a design of Corundum for Vivado"
    }
    # Grades of speed differ between releases; device and package are the board's.
    if {[lrange [split $its -] 0 1] ne [lrange [split $part -] 0 1]} {
        fail "$name is for $its, the board has $part" "name the board's own design"
    }
    set lines [split $makefile \n]
    set at -1
    for {set i 0} {$i < [llength $lines]} {incr i} {
        if {[regexp {^SYN_FILES\s*\+?:?=} [lindex $lines $i]]} {
            while {[string match {*\\} [lindex $lines $i]]} { incr i }
            set at [expr {$i + 1}]
        }
    }
    if {$at < 0} { fail "$name has no SYN_FILES" "name a design of Corundum for Vivado" }
    foreach file $files { set lines [linsert $lines $at "SYN_FILES += $file"] }
    return [join $lines \n]
}

# The config.tcl with the parameters of the block.
proc tessera::with_config {config name settings} {
    dict for {parameter what} $settings {
        set pattern [string map [list NAME $parameter] {^[ \t]*dict set params NAME[ \t]+(\S.*?)[ \t]*$}]
        set found [regexp -all -line -inline $pattern $config]
        if {[llength $found] != 2} {
            fail "$name sets $parameter [expr {[llength $found] / 2}] times instead of once" \
                "name a design of a release of Corundum, or set it by hand (docs/corundum.md)"
        }
        lassign $what kind value instead
        if {$kind eq "least"} {
            set has [string trim [lindex $found 1] {"{}}]
            if {![string is integer -strict $has]} {
                fail "$name: $parameter is [lindex $found 1], not a number" "write a number, $value or more"
            }
            if {$has >= $value} continue
            set value $instead
        }
        regsub -line $pattern $config "dict set params $parameter \"$value\"" config
    }
    return $config
}

tessera::main add_block.tcl {
    if {[llength $argv] ni {3 4}} {
        tessera::fail "[llength $argv] arguments instead of 3 or 4" "add_block.tcl BOARD CORUNDUM VERILOG \[DESIGN\]"
    }
    lassign $argv name checkout folder design
    set board [tessera::board $name]
    set checkout [file normalize $checkout]
    if {![file isfile [file join $checkout fpga common rtl mqnic_core.v]]} {
        tessera::fail "$checkout has no fpga/common/rtl/mqnic_core.v" "name the folder of a Corundum checkout"
    }
    if {$design eq ""} { set design [dict get $board design] }
    if {$design eq ""} {
        tessera::fail "Corundum has no design for the board $name" "name one of your own as the last argument"
    }
    set design [file normalize [file join $checkout $design]]
    set files {}
    foreach file [tessera::verilog $folder] { lappend files [tessera::make_path $file $checkout $design] }
    set helps "name a design of this checkout as the last argument"
    set makefile [tessera::text [file join $design Makefile] $helps]
    set config [tessera::text [file join $design config.tcl] $helps]
    set makefile [tessera::with_sources $makefile [file join $design Makefile] $files [dict get $board part]]
    set settings [dict merge $tessera::config [dict get $board config]]
    set config [tessera::with_config $config [file join $design config.tcl] $settings]
    set target ${design}_tessera
    if {[file exists $target]} { tessera::fail "$target is there already" "remove it, or build it" }
    # All at once: no half of a design stays when a disk is full.
    file delete -force $target.new
    if {[catch {
        file mkdir $target.new
        tessera::write [file join $target.new Makefile] $makefile
        tessera::write [file join $target.new config.tcl] $config
        file rename $target.new $target
    } message]} {
        catch {file delete -force $target.new}
        tessera::fail "cannot make $target: $message" "make room, or give yourself the right to write there"
    }
    puts "$target: [dict get $board part], [llength $files] files and [dict size $settings] parameters of Tessera"
    puts "next: make -C $target"
}
