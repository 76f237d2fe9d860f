# NVIDIA A100 PCIe 40 GB. Datasheet: NVIDIA A100 Tensor Core GPU datasheet.
parent = a100-sxm-40

name = a100-pcie-40
product_name = NVIDIA A100-PCIE-40GB
power_limit_watts = 250              # datasheet
nvlink_bandwidth = 0                 # the NVLink bridge is an option, not part of the card
attribute.139 = 0x20f110de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x145f10de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
