"""Sums a column of pandas frames by key, in processes that shuffle through an exchange:
exchange_frames.py [ROWS_PER_FRAME]

It needs pandas, which Pyrite does not: pip install pandas"""

import multiprocessing
import pickle
import sys

import numpy as np
import pandas as pd

from pyrite.exchange import Exchange, Shuffle

FRAMES = 6
REDUCERS = 3


def make_frame(index: int, rows: int) -> pd.DataFrame:
    """What a process would read from a file of its own."""
    random = np.random.default_rng(index)
    prices = random.integers(1, 100, rows)
    return pd.DataFrame({"shop": random.integers(0, 10, rows), "price": prices})


def deal_out(shuffle: Shuffle, index: int, rows: int) -> None:
    """One map: a frame per reducer, each with all rows of its shops."""
    frame = make_frame(index, rows)
    frames = [frame[frame["shop"] % REDUCERS == reducer] for reducer in range(REDUCERS)]
    shuffle.put(index, [pickle.dumps(each, protocol=5) for each in frames])


def sum_up(shuffle: Shuffle, reducer: int) -> pd.Series:
    """One reducer: sums as the frames come, and holds one of them at a time."""
    sums = [
        pickle.loads(part).groupby("shop")["price"].sum()
        for part in shuffle.get(reducer, timeout_s=60)
    ]
    return pd.concat(sums).groupby(level=0).sum()


def main(rows: int) -> None:
    with Exchange(memory="256m") as exchange, multiprocessing.Pool(2) as pool:
        shuffle = exchange.register(FRAMES, REDUCERS)
        # Reducers begin beside the maps: they wait for those that are not there yet.
        maps = pool.starmap_async(deal_out, [(shuffle, index, rows) for index in range(FRAMES)])
        sums = pool.starmap(sum_up, [(shuffle, reducer) for reducer in range(REDUCERS)])
        maps.get()
    for shop, price in pd.concat(sums).sort_index().items():
        print(f"shop {shop}: {price}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
