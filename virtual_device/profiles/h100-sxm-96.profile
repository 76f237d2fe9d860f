# NVIDIA H100 SXM5 96 GB HBM2e: the part of torchtitan's published runs. 500 W and 2.4 TB/s as torchtitan's performance notes say;
# the compute die is that of the 80 GB part.
parent = h100-sxm

name = h100-sxm-96
product_name = NVIDIA H100           # torchtitan logs: "NVIDIA H100 with 95.04GiB memory"
total_memory_bytes = 102047940608    # memory_overheads.csv: 95.0396 GiB, from torchtitan logs
nvml_memory_bytes = 102625181696     # 97871 MiB: nvidia-smi of 96 GB parts of this generation
memory_bandwidth = 2.4e12            # torchtitan performance notes
memory_clock_khz = 1563000           # from 2.4 TB/s over 6144 bits
memory_bus_bits = 6144               # six stacks of 16 GB
power_limit_watts = 500              # torchtitan performance notes
l2_bytes = 62914560                  # 60 MB on parts with six stacks (deviceQuery of H200)
attribute.108 = 39321600             # max_persisting_l2_cache_size: 5/8 of the L2
attribute.139 = 0x233d10de           # gpu_pci_device_id: PCI ID database, H100 96 GB
