# Alveo U55C: two ports of 100G, PCIe Gen3 x16. Corundum has no design for it: the block alone, or a
# design of your own.
set board {
    part   xcu55c-fsvh2892-2L-e
    design {}
    parameters {
        IF_COUNT             2
        AXIS_DATA_WIDTH      512
        AXIS_SYNC_DATA_WIDTH 512
        RAM_SEG_COUNT        2
        RAM_SEG_DATA_WIDTH   512
    }
    config {}
}
