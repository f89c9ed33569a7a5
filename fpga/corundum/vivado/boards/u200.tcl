# Alveo U200: two ports of 100G, PCIe Gen3 x16.
set board {
    part   xcu200-fsgd2104-2-e
    design fpga/mqnic/Alveo/fpga_100g/fpga_AU200
    parameters {
        IF_COUNT             2
        AXIS_DATA_WIDTH      512
        AXIS_SYNC_DATA_WIDTH 512
        RAM_SEG_COUNT        2
        RAM_SEG_DATA_WIDTH   512
    }
    config {}
}
