# NVIDIA H100 PCIe 80 GB. Datasheet: NVIDIA H100 Tensor Core GPU datasheet; whitepaper: H100 Tensor Core GPU Architecture.
parent = sm90

name = h100-pcie
product_name = NVIDIA H100 PCIe
multiprocessors = 114                # whitepaper
total_memory_bytes = 84943044608     # 81008 MiB: torch.cuda.get_device_properties in public logs
nvml_memory_bytes = 85520809984      # nvidia-smi: 81559 MiB
memory_bandwidth = 2.039e12          # 1593 MHz x 2 x 5120 bits; datasheet: 2 TB/s
memory_clock_khz = 1593000           # deviceQuery
memory_bus_bits = 5120               # deviceQuery
clock_khz = 1755000                  # deviceQuery
power_limit_watts = 350              # datasheet

# Dense peaks, whitepaper table "H100 PCIe".
peak_fp64 = 25.6e12
peak_fp64_tensor = 51.2e12
peak_fp32 = 51.2e12
peak_tf32 = 378e12
peak_fp16 = 756e12
peak_bf16 = 756e12
peak_fp8 = 1513e12
peak_int8 = 1513e12

pcie_bandwidth = 55e9                # PCIe 5.0 x16: 63 GB/s raw, about 55 GB/s for pinned copies
nvlink_bandwidth = 0                 # the NVLink bridge is an option, not part of the card
attribute.139 = 0x233110de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x162610de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
