"""A safetensors file as a dict of PyTorch tensors, read without numpy or further packages."""
import json
import struct

import torch

_DTYPES = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16,
           "I64": torch.int64, "I32": torch.int32, "U8": torch.uint8, "BOOL": torch.bool}


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if begin == end:
            tensors[name] = torch.empty(entry["shape"], dtype=_DTYPES[entry["dtype"]])
            continue
        flat = torch.frombuffer(data[begin:end], dtype=_DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
