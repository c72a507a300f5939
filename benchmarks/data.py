"""Input files made from a seed, the same bytes on every machine."""

import os
import struct
from bisect import bisect
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from random import Random

VOCABULARY = 50_000


class DataFolder:
    """Where the generated inputs live; each is made once and named by what is in it."""

    def __init__(self, path: Path):
        self.path = path

    def file(self, name: str, write: Callable[[Path], None]) -> str:
        """The path of the file `name`, which `write` makes if it is not there yet."""
        target = self.path / name
        if not target.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f"{name}.{os.getpid()}.unfinished")
            write(unfinished)
            unfinished.rename(target)
        return str(target)

    def text(self, lines: int, words_per_line: int) -> str:
        """Lines of words, some words far more frequent than others, as in any language."""
        name = f"text-{lines}x{words_per_line}.txt"
        return self.file(name, lambda path: _write_lines(path, _text(lines, words_per_line)))

    def documents(self, count: int, words_each: int) -> str:
        """One document a line: its number, a tab, its words."""

        def numbered() -> Iterator[str]:
            return (f"{index}\t{line}" for index, line in enumerate(_text(count, words_each)))

        return self.file(
            f"documents-{count}x{words_each}.txt", lambda path: _write_lines(path, numbered())
        )

    def log(self, lines: int) -> str:
        """A web service's log, one line in ten an error."""
        return self.file(f"log-{lines}.txt", lambda path: _write_lines(path, _log(lines)))

    def sort_records(self, count: int) -> str:
        """Records of 100 bytes, the first 10 a random key, back to back."""

        def write(path: Path) -> None:
            random = Random(4)
            with path.open("wb") as file:
                for index in range(count):
                    file.write(random.randbytes(10) + b"%090d" % index)

        return self.file(f"records-{count}.bin", write)

    def labelled_points(self, count: int, dimensions: int) -> str:
        """Lines of a label, 1 or -1, and that many coordinates."""
        name = f"labelled-{count}x{dimensions}.txt"
        return self.file(name, lambda path: _write_lines(path, _labelled(count, dimensions)))

    def labelled_matrix(self, count: int, dimensions: int) -> str:
        """The same kind of points as rows of doubles, the label first, back to back."""

        def write(path: Path) -> None:
            pack = struct.Struct(f"<{dimensions + 1}d").pack
            with path.open("wb") as file:
                for line in _labelled(count, dimensions):
                    file.write(pack(*map(float, line.split())))

        return self.file(f"labelled-{count}x{dimensions}.bin", write)

    def places(self, count: int) -> str:
        """Lines of two coordinates, in clouds around a few centres."""
        return self.file(f"places-{count}.txt", lambda path: _write_lines(path, _places(count)))

    def graph(self, nodes: int, edges: int) -> str:
        """Lines of two node numbers, the targets unevenly popular."""
        name = f"graph-{nodes}x{edges}.txt"
        return self.file(name, lambda path: _write_lines(path, _edges(nodes, edges)))


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    with path.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)


def _text(lines: int, words_per_line: int) -> Iterator[str]:
    random = Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(random.choices(letters, k=random.randint(2, 10))) for _ in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))
    for _ in range(lines):
        yield " ".join(random.choices(words, cum_weights=weights, k=words_per_line))


def _log(lines: int) -> Iterator[str]:
    random = Random(2)
    services = ["mysql", "nginx", "kafka", "redis", "auth", "billing", "search", "mail"]
    for index in range(lines):
        level = "ERROR" if random.random() < 0.1 else "INFO"
        service = services[int(random.random() * 8)]
        clock = f"{index // 3600 % 24:02}:{index // 60 % 60:02}:{index % 60:02}"
        yield f"{clock} {level} {service} request {index:08} took {int(random.random() * 9e4)} us"


def _labelled(count: int, dimensions: int) -> Iterator[str]:
    random = Random(5)
    for index in range(count):
        label = 1 if index % 2 else -1
        coordinates = (f"{random.gauss(label * 0.7, 1.0):.6f}" for _ in range(dimensions))
        yield f"{label} {' '.join(coordinates)}"


def _places(count: int) -> Iterator[str]:
    random = Random(6)
    centres = [(random.uniform(-10, 10), random.uniform(-10, 10)) for _ in range(12)]
    for _ in range(count):
        x, y = random.choice(centres)
        yield f"{random.gauss(x, 1.5):.6f} {random.gauss(y, 1.5):.6f}"


def _edges(nodes: int, edges: int) -> Iterator[str]:
    random = Random(7)
    weights = list(accumulate(1 / (rank + 10) for rank in range(nodes)))
    for _ in range(edges):
        source = int(random.random() * nodes)
        # Spread the popular nodes over the number range, or one partition would hold them all.
        target = bisect(weights, random.random() * weights[-1]) * 7919 % nodes
        yield f"{source} {target}"
