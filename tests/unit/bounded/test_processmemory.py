"""A process knows how much memory it has, and how near it is to its limit."""

import os
import resource
import subprocess
import sys

from pyrite.bounded.processmemory import DataLimit, read_pages

MEBIBYTE = 1 << 20


def test_private_memory_grows_with_what_the_process_holds() -> None:
    before = read_pages().private_bytes
    held = bytearray(b"x") * (32 * MEBIBYTE)
    assert read_pages().private_bytes - before > 24 * MEBIBYTE
    del held


def test_a_forked_child_measures_itself() -> None:
    read_pages()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        before = read_pages().private_bytes
        held = bytearray(b"x") * (32 * MEBIBYTE)
        os.write(write_end, b"%d" % (read_pages().private_bytes - before + len(held) * 0))
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(read_end, 100)) > 24 * MEBIBYTE
    os.close(read_end)
    os.close(write_end)


def test_without_a_limit_no_process_is_near_it() -> None:
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY
    limit = DataLimit(1 << 60)
    limit.relieved()
    assert not limit.is_near()


NEAR_THE_LIMIT = """
import resource
from pyrite.bounded.processmemory import DataLimit, read_pages
size = 64 << 20
most = read_pages().data_bytes + 3 * size
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
limit = DataLimit(size // 2)
untouched = bytes(size)
assert not limit.is_near()
more = bytes(size + size // 2 + size // 8)
assert limit.is_near()
limit.relieved()
assert not limit.is_near(), "half of what is left may be taken"
last = bytes(size // 4)
assert limit.is_near()
"""


A_LIMIT_OF_THE_USER_S = """
import resource
from pyrite.bounded.processmemory import DataLimit, read_pages
most = 4 * read_pages().data_bytes
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
assert not DataLimit(1 << 50).is_near()
"""


def test_a_limit_far_below_the_task_s_is_not_near_at_once() -> None:
    subprocess.run([sys.executable, "-c", A_LIMIT_OF_THE_USER_S], check=True)


def test_untouched_pages_count() -> None:
    subprocess.run([sys.executable, "-c", NEAR_THE_LIMIT], check=True)
