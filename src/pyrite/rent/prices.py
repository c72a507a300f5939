"""Reads the file of instance types and their prices."""

from __future__ import annotations

import argparse
import re
import tomllib
from itertools import pairwise
from typing import Any

from pyrite.errors import UserError
from pyrite.forecast.options import bits
from pyrite.quantities import parse_bytes
from pyrite.rent.completion import Instance

EXAMPLE = """\
[[instance]]
name = "m5.xlarge"
cores = 4
memory = "16g"
price_per_hour = 0.192
network = "1.25g"          # bits a second; without it, as fast as measured
disk = "125m"              # bytes a second; the same
startup = 40               # seconds that are paid before it works; 0 without it

[[instance]]
name = "r5.large"
kind = "storage"           # or "executor"; without it, it may be either
cores = 2
memory = "16g"
spot = true
prices = [[0, 0.041], [1800, 0.055]]   # from 1800 s after the start on, $0.055 an hour
"""
FIELDS = ("name", "cores", "memory", "price_per_hour", "prices", "spot", "kind", "pool",
          "network", "disk", "speed", "startup")  # fmt: skip
KINDS = ("executor", "storage")


class BadPrices(UserError):
    """The file of instance types is malformed; the message says where and why."""


def read_prices(path: str) -> list[Instance]:
    """Reads the instance types of a TOML file, in its order."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise BadPrices(f"the instance types {path!r} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadPrices(f"the instance types {path!r} are no text, so no TOML") from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadPrices(f"{path!r} is no TOML: {error}") from None
    tables = found.pop("instance", None)
    if not isinstance(tables, list) or not tables or found:
        blame = f"it has {', '.join(found)}" if found else "it has no [[instance]]"
        raise BadPrices(
            f"{path!r}: {blame}; one [[instance]] for each type is expected, such as\n{EXAMPLE}"
        )
    lines = [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if re.match(r"\s*\[\[\s*instance\s*\]\]", line)
    ]
    # They may be an array of inline tables instead.
    lines += [1] * (len(tables) - len(lines))
    instances = [
        PriceEntry(path, line, table).instance() for line, table in zip(lines, tables, strict=False)
    ]
    names = [each.name for each in instances]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise BadPrices(f"{path!r}: two types have the name {twice[0]!r}: give each its own")
    return instances


class PriceEntry:
    """One [[instance]], and the errors for its fields."""

    def __init__(self, path: str, line: int, table: Any) -> None:
        self.path = path
        self.line = line
        self.table: dict[str, Any] = table if isinstance(table, dict) else {}

    def instance(self) -> Instance:
        if strangers := [name for name in self.table if name not in FIELDS]:
            raise self.wrong(strangers[0], f"is no field; these are: {', '.join(FIELDS)}")
        kind = self.table.get("kind")
        if kind is not None and kind not in KINDS:
            raise self.wrong("kind", f'is {kind!r}: write "executor" or "storage", or leave it out')
        name = self.table.get("name")
        if not isinstance(name, str) or not name:
            raise self.wrong("name", "is missing: name the type as its provider does")
        pool = self.number("pool", most=1.0) if "pool" in self.table else None
        parts: dict[str, float] = {}
        if pool is not None:
            parts["storage_pool_part" if kind == "storage" else "pool_part"] = pool
        return Instance(
            name,
            self.cores(),
            self.size("memory", "16g"),
            self.prices(),
            network_bytes_per_s=self.network(),
            disk_bytes_per_s=self.size("disk", "125m") if "disk" in self.table else None,
            speed=self.number("speed") if "speed" in self.table else 1.0,
            startup_s=self.number("startup", least=0.0) if "startup" in self.table else 0.0,
            spot=self.spot(),
            executes=kind != "storage",
            stores=kind != "executor",
            **parts,
        )

    def spot(self) -> bool:
        value = self.table.get("spot", False)
        if not isinstance(value, bool):
            raise self.wrong("spot", f"is {shown(value)}: write true or false")
        return value

    def cores(self) -> int:
        value = self.table.get("cores")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.wrong("cores", f"is {shown(value)}: write a whole number, 1 or more")
        return value

    def size(self, name: str, example: str) -> int:
        value = self.table.get(name)
        try:
            size = parse_bytes(value) if isinstance(value, str) else 0
        except ValueError:
            size = 0
        if size < 1:
            raise self.wrong(name, f'is {shown(value)}: write bytes as "{example}"')
        return size

    def network(self) -> float | None:
        value = self.table.get("network")
        if value is None:
            return None
        try:
            return bits(str(value)) / 8
        except argparse.ArgumentTypeError:
            raise self.wrong(
                "network", f'is {shown(value)}: write bits a second as "300m", "1g" or "10g"'
            ) from None

    def prices(self) -> tuple[tuple[float, float], ...]:
        if "prices" not in self.table:
            return ((0.0, self.number("price_per_hour", least=0.0)),)
        if "price_per_hour" in self.table:
            raise self.wrong("prices", "and price_per_hour are both given: leave one of them out")
        value = self.table["prices"]
        cure = "write [[0, 0.34], [1800, 0.51]]: from which second on, and dollars an hour"
        if not isinstance(value, list) or not value or not all(map(is_pair, value)):
            raise self.wrong("prices", f"is {shown(value)}: {cure}")
        pairs = tuple((float(at_s), float(price)) for at_s, price in value)
        if pairs[0][0] != 0 or any(a >= b for (a, _), (b, _) in pairwise(pairs)):
            raise self.wrong("prices", f"must begin with second 0 and go up: {cure}")
        return pairs

    def number(self, name: str, least: float = 1e-9, most: float = float("inf")) -> float:
        value: Any = self.table.get(name)
        if is_number(value) and least <= value <= most:
            return float(value)
        bound = f" up to {most:g}" if most < float("inf") else ""
        raise self.wrong(name, f"is {shown(value)}: write a number above 0{bound}")

    def wrong(self, name: str, blame: str) -> BadPrices:
        known = self.table.get("name")
        whose = f" of {known!r}" if isinstance(known, str) and name != "name" else ""
        return BadPrices(
            f"{self.path!r}, the [[instance]] on line {self.line}: {name}{whose} {blame}"
        )


def is_number(value: Any) -> bool:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_one and 0 <= value < float("inf")


def is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value))


def shown(value: Any) -> str:
    return "missing" if value is None else repr(value)
