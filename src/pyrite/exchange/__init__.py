"""A shuffle for any program: register one, put maps' outputs, get reducers' parts."""

from pyrite.exchange.errors import (
    AlreadyPut,
    ExchangeFull,
    ExchangeLost,
    ExchangeNotStarted,
    MapsMissing,
    NotInShuffle,
    PartLost,
    TooManyFiles,
    UnknownShuffle,
)
from pyrite.exchange.exchange import Exchange
from pyrite.exchange.shuffle import Shuffle

__all__ = [
    "AlreadyPut",
    "Exchange",
    "ExchangeFull",
    "ExchangeLost",
    "ExchangeNotStarted",
    "MapsMissing",
    "NotInShuffle",
    "PartLost",
    "Shuffle",
    "TooManyFiles",
    "UnknownShuffle",
]
