"""What random lineages compare rows by."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
from odd_rows import KINDS
from row_functions import digest, rank

SHOWN = """
from odd_rows import KINDS
from row_functions import digest
print([digest(kind(number)) for kind in KINDS for number in range(8)])
"""


def test_a_row_that_was_sent_has_the_digest_it_had() -> None:
    rows = [kind(number) for kind in KINDS for number in range(50)]
    assert list(map(digest, rows)) == [digest(pickle.loads(pickle.dumps(row))) for row in rows]


def test_digests_do_not_depend_on_the_hashes_of_a_process() -> None:
    shown = {digests_in_a_process(seed) for seed in range(5)}
    assert len(shown) == 1


def test_arrays_are_ranked_by_all_that_they_hold() -> None:
    numbers = np.arange(3000)
    assert rank(numbers) == rank(np.arange(6000).reshape(3000, 2)[:, 0] // 2)
    changed = numbers.copy()
    changed[1500] = 0
    # As printed they are the same.
    assert repr(changed) == repr(numbers) and rank(changed) != rank(numbers)
    assert rank(np.array([1, "a"], dtype=object)) == rank((1, "a"))
    assert rank(np.int64(3)) == rank(3)


def digests_in_a_process(hash_seed: int) -> str:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", SHOWN]
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout.decode()
