"""How texts of sizes, durations and truth values are read."""

import re

_SIZE_FACTORS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_TIME_FACTORS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def parse_bytes(text: str, bare_unit: str = "b") -> int:
    """The bytes of a size such as ``512m``; a bare number is in the given unit.

    >>> parse_bytes("512m"), parse_bytes("1.5kb"), parse_bytes("64")
    (536870912, 1536, 64)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(b|[kmgtp](?:i?b)?)?", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is no size: write it as 512m, 2g or 64k")
    return int(float(match[1]) * _SIZE_FACTORS[(match[2] or bare_unit)[0]])


def parse_seconds(text: str, bare_unit: str = "ms") -> float:
    """The seconds of a duration such as ``100ms``; a bare number is in milliseconds, as in Spark,
    unless a unit is given.

    >>> parse_seconds("3s"), parse_seconds("100ms"), parse_seconds("2min"), parse_seconds("500")
    (3.0, 0.1, 120.0, 0.5)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s|min|m|h|d)?", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is no duration: write it as 100ms, 3s or 5min")
    return float(match[1]) * _TIME_FACTORS[match[2] or bare_unit]


def parse_bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"
