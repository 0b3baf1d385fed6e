"""Links and number formats to choose from."""

# Bytes per second in one direction. Bekman, Machine Learning Engineering, network.
LINKS = {
    "NVLink 4 (H100)": 450e9,
    "NVLink 3 (A100)": 300e9,
    "PCIe 5 x16": 63e9,
    "PCIe 4 x16": 31e9,
    "InfiniBand NDR": 50e9,
    "InfiniBand HDR": 25e9,
    "InfiniBand EDR": 12.5e9,
    "100 GbE": 12.5e9,
    "25 GbE": 3.125e9,
    "10 GbE": 1.25e9,
}

# Bytes a number.
PRECISIONS = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1}
