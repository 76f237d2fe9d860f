# NVIDIA H200 SXM 141 GB. Datasheet: NVIDIA H200 Tensor Core GPU datasheet. The compute die is that of the H100 SXM.
parent = h100-sxm

name = h200-sxm
product_name = NVIDIA H200
total_memory_bytes = 150020816896    # memory_overheads.csv: 139.72 GiB (143071 MiB)
nvml_memory_bytes = 150754820096     # nvidia-smi: 143771 MiB
memory_bandwidth = 4.8e12            # datasheet; the clock below would give 4.92
memory_clock_khz = 3201000           # deviceQuery
memory_bus_bits = 6144               # deviceQuery
power_limit_watts = 700              # datasheet
l2_bytes = 62914560                  # deviceQuery: 60 MB
attribute.108 = 39321600             # max_persisting_l2_cache_size: 5/8 of the L2
attribute.139 = 0x233510de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x18be10de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
