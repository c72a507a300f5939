"""Counts the words of a text and searches its lines in memory: demo.py [FILE | FOLDER | GLOB]

Without an argument it makes a log of its own, of a million lines, in a temporary folder. On a
terminal it asks what to search for; elsewhere it searches for a few words by itself.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from operator import add
from random import Random

import pyrite
from pyrite import RDD, SparkConf, SparkContext
from pyrite.errors import PyriteError

LOG_LINES = 1_000_000
LOG_FILES = 16
LOG_STARTS_S = 1_772_323_200
SEARCHES = ["ERROR", "ERROR mail", "timeout", "lantern", "memory", "unicorn"]

WORD = re.compile(r"[^\W\d_]{2,}")
SERVICES = ["web", "web", "web", "search", "search", "cart", "mail", "login", "stock"]
# fmt: off
THINGS = [
    "anchor", "basket", "bell", "blanket", "bottle", "brush", "bucket", "button", "candle",
    "carpet", "clock", "compass", "cup", "drum", "flute", "hammer", "kettle", "key", "kite",
    "ladder", "lamp", "lantern", "loom", "map", "mirror", "needle", "oar", "pen", "pillow",
    "rope", "saddle", "scarf", "shovel", "spoon", "stove", "table", "teapot", "thimble",
    "umbrella", "violin", "wheel", "whistle",
]
# fmt: on
MESSAGES = {
    "INFO showed the %(thing)s to %(user)s in %(number)d ms": 300,
    "INFO searched for a %(thing)s for %(user)s, found %(number)d": 200,
    "INFO %(user)s took the %(thing)s for %(number)d cents": 120,
    "INFO sent the receipt for the %(thing)s to %(user)s, %(number)d bytes": 60,
    "INFO signed %(user)s in after %(number)d ms": 90,
    "DEBUG the picture of the %(thing)s was in the cache, %(number)d bytes": 110,
    "DEBUG woke after %(number)d ms": 40,
    "WARN slow answer to %(user)s about the %(thing)s, %(number)d ms": 45,
    "WARN wrong password from %(user)s, %(number)d characters": 15,
    "ERROR timeout while %(user)s waited for the %(thing)s, after %(number)d ms": 14,
    "ERROR the card of %(user)s was refused, code %(number)d": 6,
}
DISASTER = "ERROR out of memory while showing the %(thing)s, %(number)d bytes too few"
BOLD, DIM, PLAIN = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


def log_lines(part: int) -> Iterator[str]:
    """One file of the log: the same lines for the same number, wherever it is made."""
    random = Random(part)
    count = LOG_LINES // LOG_FILES
    texts = list(MESSAGES)
    chosen = random.choices(texts, cum_weights=list(accumulate(MESSAGES.values())), k=count)
    chosen[random.randrange(count)] = DISASTER
    services, things = random.choices(SERVICES, k=count), random.choices(THINGS, k=count)
    span_s = 86_400 / LOG_FILES
    for index, (text, service, thing) in enumerate(zip(chosen, services, things, strict=True)):
        level, _, message = text.partition(" ")
        seconds = LOG_STARTS_S + int(span_s * (part + index / count))
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
        number, user = int(random.random() * 2000), f"user-{int(random.random() * 5000)}"
        message %= {"user": user, "thing": thing, "number": number}
        yield f"{when} {level} {service} {message}"


@contextmanager
def step(label: str) -> Iterator[list[str]]:
    """Shows what is being done, and once it is done how long it took and what came of it."""
    if sys.stdout.isatty():
        print(f"  {label} ...", end="", flush=True)
    outcome: list[str] = []
    began_s = time.perf_counter()
    try:
        yield outcome
    finally:
        took_s = time.perf_counter() - began_s
        if sys.stdout.isatty():
            print("\r\033[K", end="")
    print(f"  {label:<36}{BOLD}{took_s:8.2f} s{PLAIN}   {', '.join(outcome)}", flush=True)


def write_log(sc: SparkContext, folder: str) -> str:
    """Has the executors write the log; gives its folder."""
    path = os.path.join(folder, "log")
    with step("making a log to work on") as outcome:
        sc.parallelize(range(LOG_FILES), LOG_FILES).flatMap(log_lines).saveAsTextFile(path)
        size = sum(entry.stat().st_size for entry in os.scandir(path))
        outcome += [f"{LOG_LINES:,} lines", f"{size / 1e6:.0f} MB", f"{LOG_FILES} files"]
    return path


def count_words(sc: SparkContext, path: str) -> list[tuple[str, int]]:
    """Counts words and shows the most frequent; gives them with their counts."""
    with step("counting the words") as outcome:
        words = sc.textFile(path).flatMap(lambda line: WORD.findall(line.lower()))
        counts = words.map(lambda word: (word, 1)).reduceByKey(add).cache()
        top = counts.takeOrdered(10, key=lambda pair: (-pair[1], pair[0]))
        total, different = counts.values().sum(), counts.count()
        outcome += [f"{total:,} words", f"{different:,} different ones"]
    for word, count in top:
        bar = "█" * max(1, round(30 * count / top[0][1]))
        print(f"    {word:<14.14}{count:>11,}  {DIM}{bar}{PLAIN}")
    return top


def load(sc: SparkContext, path: str) -> tuple[RDD[str], int]:
    """The lines, kept in the memory of the executors."""
    with step("reading the lines into memory") as outcome:
        lines = sc.textFile(path).cache()
        count = lines.count()
        outcome += [f"{count:,} lines", f"{lines.getNumPartitions()} partitions"]
    return lines, count


def with_word(lines: RDD[str], word: str) -> RDD[str]:
    return lines.filter(lambda line: word in line)


def search(lines: RDD[str], words: Sequence[str], total: int) -> None:
    """Shows how many lines have all the words, how long that took, and the first of them."""
    began_s = time.perf_counter()
    found = lines
    for word in words:
        found = with_word(found, word)
    count = found.count()
    took_ms = (time.perf_counter() - began_s) * 1e3
    print(f"    {BOLD}{count:,}{PLAIN} of {total:,} lines, in {BOLD}{took_ms:.0f} ms{PLAIN}")
    width = os.get_terminal_size().columns - 9 if sys.stdout.isatty() else 100
    mark = re.compile("|".join(map(re.escape, words)))
    for line in found.take(3):
        print("      " + mark.sub(lambda match: f"{BOLD}{match[0]}{PLAIN}", line[:width]))


def ask(lines: RDD[str], total: int, example: str) -> None:
    """Searches for what the user types until there is nothing more."""
    import readline  # noqa: F401 - gives the prompt its line editing

    print("\nSearch the lines: type a word, or several that a line must all have, as they are")
    print(f"written there (for example: {example}). Enter alone ends.\n")
    while True:
        try:
            words = input("search> ").split()
        except (EOFError, KeyboardInterrupt):
            print()
            break
        if not words:
            break
        try:
            search(lines, words, total)
        except KeyboardInterrupt:
            print("    cancelled")


def show(path: str | None, folder: str) -> None:
    conf = SparkConf().setIfMissing("spark.master", "local[*]").setAppName("demo")
    with step("starting, up to a first small job") as outcome:
        sc = SparkContext(conf=conf)
        sc.parallelize(range(sc.defaultParallelism)).count()
        outcome += [sc.master, f"{sc.defaultParallelism} processes"]
    with sc:
        searches = SEARCHES
        if path is None:
            path = write_log(sc, folder)
            top = count_words(sc, path)
        else:
            top = count_words(sc, path)
            searches = [word for word, _ in top[::4]]
        lines, total = load(sc, path)
        if sys.stdin.isatty() and sys.stdout.isatty():
            ask(lines, total, searches[1] if len(searches) > 1 else "word")
        else:
            for text in searches:
                print(f"\n  search: {text}")
                search(lines, text.split(), total)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) > 1 or any(each.startswith("-") for each in arguments):
        print(__doc__.strip())
        return 0 if arguments[0] in ("-h", "--help") else 2
    path = arguments[0] if arguments else None
    print(f"Pyrite {pyrite.__version__}: a word count and a log search, with no JVM.\n")
    try:
        with tempfile.TemporaryDirectory(prefix="pyrite-demo-") as folder:
            show(path, folder)
    except PyriteError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo: stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
