"""Reads a safetensors file with the standard library alone, checks it, and writes another one, narrow dtypes first and unpadded.

usage: exchange.py FROM TO
"""
import json
import struct
import sys

FORMATS = {"F64": "d", "I32": "i", "BOOL": "?"}


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        code = FORMATS[entry["dtype"]]
        count = (end - begin) // struct.calcsize(code)
        tensors[name] = (entry["dtype"], entry["shape"], list(struct.unpack(f"<{count}{code}", data[begin:end])))
    return tensors, metadata


def write(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, values) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"data_offsets": [begin, len(data)], "shape": shape, "dtype": dtype}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    tensors, metadata = read(sys.argv[1])
    assert metadata == {"step": "10"}, metadata
    assert tensors["w"] == ("F64", [2, 3], [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]), tensors["w"]
    assert tensors["n"] == ("I32", [2], [-3, 5]), tensors["n"]
    assert tensors["m"] == ("BOOL", [2], [True, False]), tensors["m"]
    dtype, shape, values = tensors["w"]
    doubled = {"m": tensors["m"], "n": tensors["n"], "w": (dtype, shape, [2 * v for v in values])}
    write(sys.argv[2], doubled, {"by": "python", "step": "11"})


main()
