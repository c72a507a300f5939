"""Counts the words of a text in plain processes that shuffle through an exchange:
exchange_words.py FILE [HOW_MANY]"""

import multiprocessing
import pickle
import re
import sys
from collections import Counter
from zlib import crc32

from pyrite.exchange import Exchange, Shuffle

WORD = re.compile(r"[^\W\d_]+")
MAPS = 8
REDUCERS = 4


def count_some(shuffle: Shuffle, index: int, text: str) -> None:
    """One map: counts the words of its text, and deals them out by a hash that all agree on."""
    parts: list[dict[str, int]] = [{} for _ in range(shuffle.reducers)]
    for word, count in Counter(WORD.findall(text.lower())).items():
        parts[crc32(word.encode()) % shuffle.reducers][word] = count
    shuffle.put(index, [pickle.dumps(part) for part in parts])


def add_up(shuffle: Shuffle, reducer: int) -> Counter[str]:
    """One reducer: adds up the counts of its words."""
    total: Counter[str] = Counter()
    for part in shuffle.get(reducer, timeout_s=60):
        total.update(pickle.loads(part))
    return total


def main(path: str, how_many: int) -> None:
    with open(path) as file:
        lines = file.readlines()
    texts = ["".join(lines[index::MAPS]) for index in range(MAPS)]
    with Exchange(memory="64m") as exchange, multiprocessing.Pool(2) as pool:
        shuffle = exchange.register(MAPS, REDUCERS)
        pool.starmap(count_some, [(shuffle, index, text) for index, text in enumerate(texts)])
        totals = pool.starmap(add_up, [(shuffle, reducer) for reducer in range(REDUCERS)])
    counts = [pair for total in totals for pair in total.items()]
    for word, count in sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:how_many]:
        print(f"{count:6d} {word}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
