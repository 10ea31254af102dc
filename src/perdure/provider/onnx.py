"""The tensors of an ONNX file, read by hand: only protobuf's wire format, and no more of it than that.

Source: onnx.proto3 of ONNX 1.x: ModelProto.graph = 7, GraphProto.initializer = 5, TensorProto.dims = 1,
data_type = 2, name = 8, raw_data = 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perdure.errors import ConfigError

_GRAPH, _INITIALIZER = 7, 5
_DIMS, _TYPE, _NAME, _RAW = 1, 2, 8, 9
_VARINT, _LENGTH = 0, 2
_FIXED_BYTES = {1: 8, 5: 4}
_TYPES = {1: "<f4", 3: "i1", 7: "<i8", 10: "<f2"}


def read_tensors(data: bytes) -> dict[str, NDArray[Any]]:
    """Give the initializers by name, as views of `data`; those of other types or without bytes are left out.

    Raises `ConfigError` if the bytes are not an ONNX model.
    """
    try:
        found = dict(_initializers(memoryview(data)))
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise ConfigError("The encoder's weights are not an ONNX file.") from error
    return found


def _initializers(model: memoryview) -> Iterator[tuple[str, NDArray[Any]]]:
    for number, graph in _fields(model):
        if number != _GRAPH or isinstance(graph, int):
            continue
        for field, tensor in _fields(graph):
            if field == _INITIALIZER and not isinstance(tensor, int):
                yield from _tensor(tensor)


def _tensor(data: memoryview) -> Iterator[tuple[str, NDArray[Any]]]:
    dims: list[int] = []
    kind, name, raw = 0, "", memoryview(b"")
    for number, value in _fields(data):
        if number == _DIMS:
            dims += [value] if isinstance(value, int) else _packed(value)
        elif number == _TYPE and isinstance(value, int):
            kind = value
        elif number == _NAME and not isinstance(value, int):
            name = bytes(value).decode()
        elif number == _RAW and not isinstance(value, int):
            raw = value
    if kind in _TYPES and len(raw):
        yield name, np.frombuffer(raw, np.dtype(_TYPES[kind])).reshape(dims)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _LENGTH:
            size, at = _varint(data, at)
        else:
            size = _FIXED_BYTES[wire]
        if at + size > len(data):
            raise ValueError(number)
        yield number, data[at : at + size]
        at += size


def _packed(data: memoryview) -> list[int]:
    found: list[int] = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the last byte of a varint has no top bit
            return value, at
        shift += 7
