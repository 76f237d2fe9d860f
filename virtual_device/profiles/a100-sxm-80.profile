# NVIDIA A100 SXM4 80 GB. Datasheet: NVIDIA A100 Tensor Core GPU datasheet.
parent = a100-sxm-40

name = a100-sxm-80
product_name = NVIDIA A100-SXM4-80GB
total_memory_bytes = 85198045184     # cuDeviceTotalMem in public profiler traces: 81251 MiB
nvml_memory_bytes = 85899345920      # nvidia-smi: 81920 MiB
memory_bandwidth = 2.039e12          # datasheet: 2,039 GB/s
memory_clock_khz = 1593000           # deviceQuery
attribute.139 = 0x20b210de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x146310de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
