"""A shuffle for any program on its own: register one, put maps' outputs, get reducers' parts."""

from pyrite.exchange.errors import (
    AlreadyPut,
    ExchangeFull,
    ExchangeLost,
    MapsMissing,
    NotInShuffle,
    PartLost,
    UnknownShuffle,
)
from pyrite.exchange.exchange import Exchange
from pyrite.exchange.shuffle import Shuffle

__all__ = [
    "AlreadyPut",
    "Exchange",
    "ExchangeFull",
    "ExchangeLost",
    "MapsMissing",
    "NotInShuffle",
    "PartLost",
    "Shuffle",
    "UnknownShuffle",
]
