# The block alone, out of context: every port has a clock's delay, or none by intent.
#
# One clock of 250 MHz. A nanosecond on either side is what wires and the register of a neighbour take:
# Corundum's DMA engine and its FIFOs have registers at their outputs.

create_clock -name clk -period 4.000 [get_ports clk]

set_input_delay -clock clk -max 1.000 [get_ports -filter {DIRECTION == IN} {
    rst s_axil_app_ctrl_* m_axil_ctrl_* m_axis_ctrl_dma_* s_axis_ctrl_dma_* m_axis_data_dma_* s_axis_data_dma_*
    ctrl_dma_ram_* data_dma_ram_* ptp_sync_* s_axis_sync_* m_axis_sync_* s_axis_if_* m_axis_if_* m_axis_stat_*
}]
set_input_delay -clock clk -min 0.100 [get_ports -filter {DIRECTION == IN} {
    rst s_axil_app_ctrl_* m_axil_ctrl_* m_axis_ctrl_dma_* s_axis_ctrl_dma_* m_axis_data_dma_* s_axis_data_dma_*
    ctrl_dma_ram_* data_dma_ram_* ptp_sync_* s_axis_sync_* m_axis_sync_* s_axis_if_* m_axis_if_* m_axis_stat_*
}]
set_output_delay -clock clk -max 1.000 [get_ports -filter {DIRECTION == OUT} {
    s_axil_app_ctrl_* m_axil_ctrl_* m_axis_ctrl_dma_* m_axis_data_dma_* ctrl_dma_ram_* data_dma_ram_*
    s_axis_sync_* m_axis_sync_* s_axis_if_* m_axis_if_* m_axis_stat_*
}]
set_output_delay -clock clk -min 0.000 [get_ports -filter {DIRECTION == OUT} {
    s_axil_app_ctrl_* m_axil_ctrl_* m_axis_ctrl_dma_* m_axis_data_dma_* ctrl_dma_ram_* data_dma_ram_*
    s_axis_sync_* m_axis_sync_* s_axis_if_* m_axis_if_* m_axis_stat_*
}]

# Ports of other clocks: nothing of the block is at them, they are wires through it or ends.
set_false_path -from [get_ports -filter {DIRECTION == IN} {
    ptp_clk ptp_rst ptp_sample_clk ptp_td_sd ptp_pps ptp_pps_str ptp_perout_* direct_* s_axis_direct_* m_axis_direct_*
    ddr_* m_axi_ddr_* hbm_* m_axi_hbm_* gpio_in jtag_*
}]
set_false_path -to [get_ports -filter {DIRECTION == OUT} {
    s_axis_direct_* m_axis_direct_* m_axi_ddr_* m_axi_hbm_* gpio_out jtag_*
}]
