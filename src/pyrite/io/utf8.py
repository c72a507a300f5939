"""UTF-8 text with broken bytes replaced the way the JVM replaces them."""

from __future__ import annotations

import re
from typing import Final

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_REPLACEMENT: Final = "\ufffd".encode()

# The JVM replaces an encoded surrogate as one character; Python would replace each of its bytes.
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def decode(data: bytes) -> str:
    """Text from bytes of which some may not be UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_REPLACEMENT, data).decode("utf-8", "replace")


def repair(data: bytes) -> bytes:
    """The same bytes, as valid UTF-8."""
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return decode(data).encode()
    return data
