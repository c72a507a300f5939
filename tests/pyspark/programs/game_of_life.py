"""Conway's Game of Life on a set of living cells."""

from operator import add

from pyspark import SparkContext


def neighbours(cell):
    x, y = cell
    return [((x + i, y + j), 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def show(cells):
    xs = range(-1, 6)
    for y in range(-1, 6):
        print("".join("#" if (x, y) in cells else "." for x in xs))
    print()


sc = SparkContext("local[2]", "life")
board = sc.parallelize([(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)], 2)
for generation in range(4):
    show(set(board.collect()))
    counts = board.flatMap(neighbours).reduceByKey(add)
    living = board.map(lambda c: (c, True))
    board = (
        counts.leftOuterJoin(living)
        .filter(lambda c: c[1][0] == 3 or (c[1][0] == 2 and c[1][1]))
        .keys()
    )
    if generation % 2:
        board.cache()
sc.stop()
