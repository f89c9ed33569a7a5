# What the scripts of this folder share: boards, parameters, and how a script fails.
#
# Tcl of 8.5 and younger, which Vivados have, and no command of Vivado. Tested by testbenches/tests/vendor_tcl.rs.

namespace eval tessera {
    variable here [file dirname [file normalize [info script]]]
    # The two files that `cargo tessera export --shell corundum` writes.
    variable sources {tessera_corundum.v mqnic_app_block.v}

    # What a design's config.tcl must say (docs/corundum.md): a value, or the least one.
    variable config {
        APP_ID                 {is 32'h54530001}
        APP_ENABLE             {is 1}
        APP_CTRL_ENABLE        {is 0}
        APP_DMA_ENABLE         {is 1}
        APP_AXIS_DIRECT_ENABLE {is 0}
        APP_AXIS_SYNC_ENABLE   {is 1}
        APP_AXIS_IF_ENABLE     {is 0}
        APP_STAT_ENABLE        {is 1}
        AXIL_APP_CTRL_ADDR_WIDTH {least 22 24}
        TX_RAM_SIZE            {least 65536 131072}
        RX_RAM_SIZE            {least 65536 131072}
    }

    # What Corundum's core gives the block at every board of this folder, where it is not the
    # block's own default. Those of a board are in its file, those that follow are in `parameters`.
    variable shared {
        PTP_CLK_PERIOD_NS_NUM    1024
        PTP_CLK_PERIOD_NS_DENOM  165
        PTP_TS_FMT_TOD           0
        RAM_ADDR_WIDTH           17
        AXI_DDR_DATA_WIDTH       512
        AXI_DDR_ADDR_WIDTH       34
        AXI_HBM_ADDR_WIDTH       33
        AXIS_IF_TX_ID_WIDTH      13
        AXIS_IF_RX_DEST_WIDTH    9
        AXIL_APP_CTRL_ADDR_WIDTH 24
    }
}

# Ends with a message that says what is wrong and what helps.
proc tessera::fail {wrong helps} {
    return -code error -errorcode TESSERA "$wrong\n  remedy: $helps"
}

# Runs a script's body: a failure of ours is its message and status 1, any other has its trace too.
proc tessera::main {name body} {
    if {[catch {uplevel #0 $body} message options]} {
        if {[dict get $options -errorcode] ne "TESSERA"} {
            set message [dict get $options -errorinfo]
        }
        puts stderr "$name: $message"
        exit 1
    }
}

proc tessera::boards {} {
    variable here
    set names {}
    foreach file [glob -directory [file join $here boards] *.tcl] { lappend names [file rootname [file tail $file]] }
    return [lsort $names]
}

# The description of a board: part, design, parameters, config.
proc tessera::board {name} {
    variable here
    if {$name ni [boards]} {
        fail "there is no board \"$name\"" "one of [join [boards] {, }], or a file of its own in [file join $here boards]"
    }
    source [file join $here boards $name.tcl]
    return $board
}

# A file's text, or a failure that names it.
proc tessera::text {file helps} {
    if {![file isfile $file]} { fail "$file is not there" $helps }
    set channel [open $file]
    fconfigure $channel -translation lf
    set text [read $channel]
    close $channel
    return $text
}

proc tessera::write {file text} {
    set channel [open $file w]
    fconfigure $channel -translation lf
    puts -nonewline $channel $text
    close $channel
}

# The exported files in a folder.
proc tessera::verilog {folder} {
    variable sources
    set files {}
    foreach name $sources {
        set file [file normalize [file join $folder $name]]
        if {![file isfile $file]} {
            fail "$file is not there" "cargo tessera export --shell corundum --out [file join $folder tessera_corundum.v]"
        }
        lappend files $file
    }
    return $files
}

# Bits that count to a number.
proc tessera::log2 {number} {
    set bits 0
    while {(1 << $bits) < $number} { incr bits }
    return $bits
}

# Parameters of the block at a board, as the core computes them, where they are not its defaults.
proc tessera::parameters {board} {
    variable config
    variable shared
    set all [dict merge $shared [dict get $board parameters]]
    dict for {name what} $config {
        if {[string match APP_* $name] && $name ne "APP_ENABLE"} { dict set all $name [lindex $what 1] }
    }
    # The engine has a client more than there are interfaces, and one bit for the two classes.
    dict set all DMA_TAG_WIDTH [expr {16 - [log2 [expr {[dict get $all IF_COUNT] + 1}]] - 1}]
    dict set all PTP_PEROUT_ENABLE 1
    return $all
}
