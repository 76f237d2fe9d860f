# NVIDIA A100 PCIe 80 GB. Datasheet: NVIDIA A100 Tensor Core GPU datasheet.
parent = a100-sxm-80

name = a100-pcie-80
product_name = NVIDIA A100 80GB PCIe
total_memory_bytes = 84987740160     # 81050.6 MiB, 79.15 GiB: OOM texts in public issues
memory_bandwidth = 1.935e12          # datasheet: 1,935 GB/s
memory_clock_khz = 1512000           # deviceQuery
power_limit_watts = 300              # datasheet
nvlink_bandwidth = 0                 # the NVLink bridge is an option, not part of the card
attribute.139 = 0x20b510de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x153310de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
