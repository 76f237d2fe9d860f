# NVIDIA H100 SXM5 80 GB. Datasheet: NVIDIA H100 Tensor Core GPU datasheet; whitepaper: H100 Tensor Core GPU Architecture.
parent = sm90

name = h100-sxm
product_name = NVIDIA H100 80GB HBM3
multiprocessors = 132                # whitepaper
total_memory_bytes = 85028896768     # cuDeviceTotalMem, memory_overheads.csv and public deviceQuery outputs
nvml_memory_bytes = 85520809984      # nvidia-smi: 81559 MiB
memory_bandwidth = 3.352e12          # 2619 MHz x 2 x 5120 bits; datasheet: 3.35 TB/s
memory_clock_khz = 2619000           # deviceQuery
memory_bus_bits = 5120               # deviceQuery
clock_khz = 1980000                  # deviceQuery
power_limit_watts = 700              # datasheet

# Dense peaks, whitepaper table "H100 SXM5" (tensor peaks at 1830 MHz, the others at 1980 MHz).
peak_fp64 = 33.5e12
peak_fp64_tensor = 66.9e12
peak_fp32 = 66.9e12
peak_tf32 = 494.7e12
peak_fp16 = 989.4e12
peak_bf16 = 989.4e12
peak_fp8 = 1978.9e12
peak_int8 = 1978.9e12

pcie_bandwidth = 55e9                # PCIe 5.0 x16: 63 GB/s raw, about 55 GB/s for pinned copies
nvlink_bandwidth = 450e9             # datasheet: 900 GB/s, both directions
attribute.139 = 0x233010de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x16c110de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
