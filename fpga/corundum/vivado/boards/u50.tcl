# Alveo U50: one port of 100G, PCIe Gen3 x16.
set board {
    part   xcu50-fsvh2104-2-e
    design fpga/mqnic/Alveo/fpga_100g/fpga_AU50
    parameters {
        IF_COUNT             1
        AXIS_DATA_WIDTH      512
        AXIS_SYNC_DATA_WIDTH 512
        RAM_SEG_COUNT        2
        RAM_SEG_DATA_WIDTH   512
    }
    config {}
}
