"""Rows as one frame, in one bytes object."""

from __future__ import annotations

from typing import Any

from pyrite.blocks.codec import encode


def encode_bytes(rows: list[Any]) -> bytes:
    return b"".join(encode(rows))
