"""The Group Tree: complete at first, split and merged by size, stable."""

from hypothesis import given
from hypothesis import strategies as st

from pyrite.place.grouptree import Branch, GroupTree


def depth(branch: Branch) -> int:
    return 1 + max(map(depth, branch.children)) if branch.children else 0


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_the_first_tree_is_complete_and_even(shape: tuple[int, int]) -> None:
    partitions, groups = shape
    tree = GroupTree(partitions, groups)
    tree.check()
    sizes = [len(span) for span in tree.groups()]
    assert len(sizes) == groups and max(sizes) - min(sizes) <= 1
    # Complete: as shallow as it can be.
    assert depth(tree.root) == (groups - 1).bit_length()


SIZES = st.lists(st.integers(0, 100), min_size=16, max_size=16)


@given(st.integers(1, 16), st.lists(SIZES, min_size=1, max_size=5), st.integers(0, 60))
def test_reports_settle(groups: int, all_sizes: list[list[int]], low: int) -> None:
    tree = GroupTree(16, groups)
    for sizes in all_sizes:
        tree.resize(sizes, 2 * low, low)
        tree.check()
        assert tree.resize(sizes, 2 * low, low) == []
        for first, end in tree.groups():
            assert end - first == 1 or sum(sizes[first:end]) <= 2 * low
        pending = [tree.root]
        for branch in pending:
            pending += branch.children or ()
            if branch.children and not any(each.children for each in branch.children):
                assert sum(sizes[branch.span.first : branch.span.end]) >= low


def test_paper_figure_8() -> None:
    """Four groups; two of them are overloaded and split, and merge when the load is gone."""
    tree = GroupTree(16, 4)
    assert [tuple(each) for each in tree.groups()] == [(0, 4), (4, 8), (8, 12), (12, 16)]
    busy = [4] * 4 + [1] * 4 + [4] * 4 + [1] * 4
    tree.resize(busy, 10, 4)
    assert [tuple(each) for each in tree.groups()] == [
        *((0, 2), (2, 4), (4, 8)),
        *((8, 10), (10, 12), (12, 16)),
    ]
    assert tree.version == 1 and tree.group_of(3) == (2, 4)
    tree.resize([0] * 16, 10, 4)
    assert [tuple(each) for each in tree.groups()] == [(0, 16)]
    assert "group 0-15: 0 bytes" in tree.text([0] * 16)
