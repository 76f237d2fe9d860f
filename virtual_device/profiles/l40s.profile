# NVIDIA L40S 48 GB. Datasheet: NVIDIA L40S datasheet.
parent = sm89

name = l40s
product_name = NVIDIA L40S
multiprocessors = 142                # datasheet: 18,176 cores of 128 a multiprocessor
total_memory_bytes = 47803531264     # 45589 MiB: torch.cuda.get_device_properties in public logs
nvml_memory_bytes = 48305799168      # nvidia-smi: 46068 MiB
memory_bandwidth = 864e9             # datasheet
memory_clock_khz = 9001000           # deviceQuery
memory_bus_bits = 384                # deviceQuery
clock_khz = 2520000                  # deviceQuery
l2_bytes = 100663296                 # deviceQuery: 96 MB
l2_bandwidth = 4.5e12                # about what published L2 read benchmarks of AD102 reach
power_limit_watts = 350              # datasheet
copy_engines = 2                     # deviceQuery

# Dense peaks, datasheet (the sparse figures halved).
peak_fp64 = 1.43e12
peak_fp32 = 91.6e12
peak_tf32 = 183e12
peak_fp16 = 362e12
peak_bf16 = 362e12
peak_fp8 = 733e12
peak_int8 = 733e12

pcie_bandwidth = 25e9                # PCIe 4.0 x16: 32 GB/s raw, about 25 GB/s for pinned copies
nvlink_bandwidth = 0                 # datasheet: none

# As on other devices of the years 2020 to 2023: reference figures for A100 and H100 lie this close together.
kernel_floor_ns = 1500
queued_gap_ns = 1500
launch_latency_ns = 9000
launch_host_ns = 3500

driver_reserve_bytes = 4194304       # nvidia-smi shows 0 to 4 MiB in use on an idle device
context_bytes = 517996544            # 494 MiB: the H100's figure scaled by resident threads (142 x 1536 of 132 x 2048)
attribute.108 = 66060288             # max_persisting_l2_cache_size: 21/32 of the L2, as deviceQuery reports for AD102
attribute.139 = 0x26b910de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x185110de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
