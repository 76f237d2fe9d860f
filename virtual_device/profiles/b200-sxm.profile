# NVIDIA B200 SXM 180 GB. Datasheet: NVIDIA HGX B200 and DGX B200 datasheets, divided by eight.
parent = sm100

name = b200-sxm
product_name = NVIDIA B200
multiprocessors = 148                # deviceQuery
total_memory_bytes = 191502483456    # 182631 MiB: torch.cuda.get_device_properties in public logs
nvml_memory_bytes = 192265846784     # nvidia-smi: 183359 MiB
memory_bandwidth = 7.67e12           # 3996 MHz x 2 x 7680 bits; datasheet: 8 TB/s at most, 7.7 a device in HGX B200
memory_clock_khz = 3996000           # deviceQuery
memory_bus_bits = 7680               # deviceQuery
clock_khz = 1965000                  # deviceQuery
power_limit_watts = 1000             # datasheet

# Dense peaks, datasheet of HGX B200 (the sparse figures halved).
peak_fp64 = 37e12
peak_fp64_tensor = 37e12
peak_fp32 = 75e12
peak_tf32 = 1125e12
peak_fp16 = 2250e12
peak_bf16 = 2250e12
peak_fp8 = 4500e12
peak_int8 = 4500e12

pcie_bandwidth = 55e9                # PCIe 5.0 x16: 63 GB/s raw, about 55 GB/s for pinned copies
nvlink_bandwidth = 900e9             # datasheet: 1.8 TB/s, both directions
context_bytes = 718274560            # 685 MiB: the H100's figure scaled by multiprocessors (148 of 132)
attribute.139 = 0x290110de           # gpu_pci_device_id: PCI ID database
attribute.140 = 0x199910de           # gpu_pci_subsystem_id: public nvidia-smi -q outputs
