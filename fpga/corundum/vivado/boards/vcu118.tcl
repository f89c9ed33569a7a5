# VCU118: two ports of 100G, PCIe Gen3 x16.
set board {
    part   xcvu9p-flga2104-2L-e
    design fpga/mqnic/VCU118/fpga_100g/fpga
    parameters {
        IF_COUNT             2
        AXIS_DATA_WIDTH      512
        AXIS_SYNC_DATA_WIDTH 512
        RAM_SEG_COUNT        2
        RAM_SEG_DATA_WIDTH   512
        PTP_CLK_PERIOD_NS_NUM   32
        PTP_CLK_PERIOD_NS_DENOM 5
    }
    config {}
}
