# NVIDIA A100 SXM4 40 GB. Datasheet: NVIDIA A100 Tensor Core GPU datasheet.
parent = sm80

name = a100-sxm-40
product_name = NVIDIA A100-SXM4-40GB
total_memory_bytes = 42505273344     # cuDeviceTotalMem in profiler traces of A100 40 GB
nvml_memory_bytes = 42949672960      # nvidia-smi: 40960 MiB
memory_bandwidth = 1.555e12          # datasheet: 1,555 GB/s
memory_clock_khz = 1215000           # deviceQuery
power_limit_watts = 400              # datasheet
pcie_bandwidth = 25e9                # PCIe 4.0 x16: 32 GB/s raw, about 25 GB/s for pinned copies
nvlink_bandwidth = 300e9             # datasheet: 600 GB/s, both directions
attribute.139 = 0x20b010de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x134f10de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
