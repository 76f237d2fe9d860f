# NVIDIA Tesla V100 SXM2, for the replay of public traces that were recorded on it; no device that Maya predicts for. Sources: NVIDIA
# Tesla V100 datasheet; CUDA programming guide, technical specifications of compute capability 7.0.
parent = a100-sxm-40
name = v100-sxm
product_name = Tesla V100-SXM2-32GB
compute_major = 7
compute_minor = 0
multiprocessors = 80                       # datasheet
total_memory_bytes = 34079637504           # as its profiler traces say
nvml_memory_bytes = 34359738368            # datasheet: 32 GB
memory_bandwidth = 900e9                   # datasheet
l2_bytes = 6291456                         # datasheet: 6 MB
memory_bus_bits = 4096                     # datasheet
power_limit_watts = 300                    # datasheet
peak_fp64 = 7.8e12                         # datasheet
peak_fp64_tensor = 7.8e12                  # no such units: as peak_fp64
peak_fp32 = 15.7e12                        # datasheet
peak_tf32 = 15.7e12                        # no such units: as peak_fp32
peak_fp16 = 125e12                         # datasheet, tensor cores
peak_bf16 = 15.7e12                        # no such units: as peak_fp32
peak_int8 = 62e12                          # four times peak_fp32: dp4a
l2_bandwidth = 2.2e12                      # about 2.4 times the memory's, as microbenchmarks of the chip found
nvlink_bandwidth = 150e9                   # datasheet: 300 GB/s, both directions
pcie_bandwidth = 12e9                      # PCIe 3.0 x16: 16 GB/s raw, about 12 GB/s for pinned copies
shared_bytes_per_multiprocessor = 98304    # programming guide: 96 KB
shared_bytes_per_block_optin = 98304       # programming guide
reserved_shared_bytes_per_block = 0        # programming guide: from 8.0 on
queued_gap_ns = 900                        # mean of a public trace, driver of 2024
