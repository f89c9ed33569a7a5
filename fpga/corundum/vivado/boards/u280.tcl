# Alveo U280: two ports of 100G, PCIe Gen3 x16.
set board {
    part   xcu280-fsvh2892-2L-e
    design fpga/mqnic/Alveo/fpga_100g/fpga_AU280
    parameters {
        IF_COUNT             2
        AXIS_DATA_WIDTH      512
        AXIS_SYNC_DATA_WIDTH 512
        RAM_SEG_COUNT        2
        RAM_SEG_DATA_WIDTH   512
    }
    config {}
}
