"""Reading text: lines, splits, encodings, compression, folders and globs."""

import bz2
import gzip

from tests.pyspark.registry import case, outcome


def written(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


@case("sc.textFile")
def lines_of_a_file(sc, folder):
    return sc.textFile(written(folder, "a.txt", b"one\ntwo\nthree\n"), 1).collect()


@case("sc.textFile")
def lines_without_a_last_line_end(sc, folder):
    return sc.textFile(written(folder, "a.txt", b"one\n\n two \n\nthree"), 1).collect()


@case("sc.textFile")
def lines_with_carriage_returns(sc, folder):
    return sc.textFile(written(folder, "a.txt", b"one\r\ntwo\rthree\r\n\r\nfour\n\r"), 1).collect()


@case("sc.textFile")
def lines_keep_other_separators(sc, folder):
    content = "a\x0bb\x0cc\x1cd\x85e\u2028f\n".encode()
    return sc.textFile(written(folder, "a.txt", content), 1).collect()


@case("sc.textFile")
def lines_of_an_empty_file(sc, folder):
    rdd = sc.textFile(written(folder, "a.txt", b""))
    return rdd.getNumPartitions(), rdd.collect()


@case("sc.textFile")
def lines_of_one_line_end(sc, folder):
    return sc.textFile(written(folder, "a.txt", b"\n"), 1).collect()


@case("sc.textFile")
def lines_in_unicode(sc, folder):
    return sc.textFile(written(folder, "a.txt", "é\n日本\n\U0001f600\n".encode()), 1).collect()


@case("sc.textFile")
def lines_with_broken_bytes(sc, folder):
    content = b"ok\n\xff\xfe\ncaf\xe9\n\xe2\x82\nend\xf0\x9f\n"
    return sc.textFile(written(folder, "a.txt", content), 1).collect()


@case("sc.textFile")
def lines_with_a_byte_order_mark(sc, folder):
    return sc.textFile(written(folder, "a.txt", b"\xef\xbb\xbfone\ntwo\n"), 1).collect()


@case("sc.textFile")
def lines_as_bytes(sc, folder):
    path = written(folder, "a.txt", "é\nb\n".encode())
    return sc.textFile(path, minPartitions=1, use_unicode=False).collect()


@case("sc.textFile")
def broken_lines_as_bytes(sc, folder):
    path = written(folder, "a.txt", b"caf\xe9\nok\n")
    return sc.textFile(path, 1, use_unicode=False).collect()


@case("sc.textFile")
def lines_by_default_in_two_splits(sc, folder):
    path = written(folder, "a.txt", b"aaaa\nbbbb\ncccc\ndddd\n")
    return sc.textFile(name=path).glom().collect()


@case("sc.textFile")
def lines_in_three_splits(sc, folder):
    path = written(folder, "a.txt", b"a\nbb\nccc\ndddd\neeeee\nffffff\n")
    return sc.textFile(path, 3).glom().collect()


@case("sc.textFile")
def lines_in_more_splits_than_lines(sc, folder):
    path = written(folder, "a.txt", b"aaa\nbbb\n")
    return sc.textFile(path, 7).glom().collect()


@case("sc.textFile")
def one_long_line_in_splits(sc, folder):
    path = written(folder, "a.txt", b"x" * 40 + b"\ny\n")
    return [[len(line) for line in part] for part in sc.textFile(path, 4).glom().collect()]


@case("sc.textFile")
def carriage_returns_at_split_borders(sc, folder):
    path = written(folder, "a.txt", b"ab\r\n" * 9)
    return [sc.textFile(path, number).glom().collect() for number in (2, 3, 5)]


@case("sc.textFile")
def multibyte_letters_at_split_borders(sc, folder):
    path = written(folder, "a.txt", "éé\n".encode() * 7)
    return sc.textFile(path, 4).glom().collect()


@case("sc.textFile")
def splits_of_line_sizes(sc, folder):
    path = written(folder, "a.txt", b"".join(b"%d\n" % n for n in range(100)))
    rdd = sc.textFile(path, 5)
    return rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()


@case("sc.textFile", order="sorted")
def splits_of_two_files(sc, folder):
    written(folder, "in/a.txt", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    written(folder, "in/b.txt", b"x\ny\n")
    return sc.textFile(str(folder / "in"), 3).glom().collect()


@case("sc.textFile", order="sorted")
def splits_of_files_of_very_unequal_sizes(sc, folder):
    written(folder, "in/a.txt", b"".join(b"%04d\n" % n for n in range(50)))
    written(folder, "in/b.txt", b"x\n")
    written(folder, "in/c.txt", b"")
    return [[len(part), *part[:1]] for part in sc.textFile(str(folder / "in"), 4).glom().collect()]


@case("sc.textFile")
def lines_of_a_gzip_file(sc, folder):
    path = written(folder, "a.txt.gz", gzip.compress(b"one\ntwo\n" * 20))
    rdd = sc.textFile(path, 4)
    return rdd.getNumPartitions(), rdd.count(), rdd.first()


@case("sc.textFile")
def lines_of_a_gzip_file_of_two_members(sc, folder):
    path = written(folder, "a.gz", gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    return sc.textFile(path).collect()


@case("sc.textFile")
def lines_of_a_bzip2_file(sc, folder):
    return sc.textFile(written(folder, "a.bz2", bz2.compress(b"one\ntwo\n")), 1).collect()


@case("sc.textFile")
def lines_of_a_broken_gzip_file(sc, folder):
    path = written(folder, "a.gz", b"this is not gzip")
    return outcome(lambda: sc.textFile(path), lambda r: r.collect())


@case("sc.textFile", order="sorted")
def lines_of_a_folder(sc, folder):
    for name in ("b.txt", "a.txt", "c"):
        written(folder, f"in/{name}", name.encode() + b"\n")
    return sc.textFile(str(folder / "in"), 1).collect()


@case("sc.textFile")
def hidden_files_are_skipped(sc, folder):
    for name in ("a.txt", "_SUCCESS", ".hidden", "_temporary", ".a.crc"):
        written(folder, f"in/{name}", name.encode() + b"\n")
    return sc.textFile(str(folder / "in")).collect()


@case("sc.textFile")
def a_hidden_file_named_itself(sc, folder):
    path = written(folder, "_hidden.txt", b"one\n")
    return outcome(lambda: sc.textFile(path, 1), lambda r: r.collect())


@case("sc.textFile")
def an_empty_folder(sc, folder):
    (folder / "in").mkdir()
    rdd = sc.textFile(str(folder / "in"))
    return outcome(lambda: rdd.getNumPartitions()), outcome(lambda: rdd.collect())


@case("sc.textFile")
def a_folder_in_a_folder(sc, folder):
    written(folder, "in/a.txt", b"a\n")
    written(folder, "in/deep/b.txt", b"b\n")
    return outcome(lambda: sc.textFile(str(folder / "in")), lambda r: r.collect())


@case("sc.textFile")
def a_glob(sc, folder):
    for name in ("a1.txt", "a2.txt", "b1.txt", "a1.log"):
        written(folder, name, name.encode() + b"\n")
    return [
        sorted(sc.textFile(f"{folder}/{pattern}", 1).collect())
        for pattern in ("a*.txt", "?1.txt", "[ab]1.*", "{a1,b1}.txt", "[!a]*.txt")
    ]


@case("sc.textFile")
def a_glob_over_folders(sc, folder):
    written(folder, "2024/a.txt", b"a\n")
    written(folder, "2025/b.txt", b"b\n")
    return sorted(sc.textFile(f"{folder}/20*/*.txt").collect()), sorted(
        sc.textFile(f"{folder}/20*").collect()
    )


@case("sc.textFile")
def a_glob_that_matches_nothing(sc, folder):
    return outcome(lambda: sc.textFile(f"{folder}/*.none"), lambda r: r.collect())


@case("sc.textFile")
def paths_with_commas(sc, folder):
    first, second = written(folder, "a.txt", b"a\n"), written(folder, "b.txt", b"b\n")
    return sc.textFile(f"{second},{first}", 1).collect()


@case("sc.textFile")
def a_path_with_spaces(sc, folder):
    return sc.textFile(written(folder, "with space é.txt", b"a\n"), 1).collect()


@case("sc.textFile")
def a_path_as_url(sc, folder):
    return sc.textFile("file://" + written(folder, "a.txt", b"a\n"), 1).collect()


@case("sc.textFile")
def a_missing_file(sc, folder):
    missing = str(folder / "missing.txt")
    return (
        outcome(lambda: sc.textFile(missing), lambda r: r.collect()),
        outcome(lambda: sc.textFile(missing).map(str), lambda r: r.getNumPartitions()),
        outcome(lambda: sc.textFile(missing).map(str).reduceByKey(max), lambda r: r.collect()),
    )


@case("sc.textFile")
def a_file_is_read_at_the_action(sc, folder):
    path = written(folder, "a.txt", b"a\n")
    rdd = sc.textFile(path, 1)
    written(folder, "a.txt", b"changed\n")
    return rdd.collect()


@case("sc.textFile")
def lines_of_wrong_minimum(sc, folder):
    path = written(folder, "a.txt", b"a\nb\n")
    return outcome(lambda: sc.textFile(path, 0).collect())


@case("sc.wholeTextFiles")
def whole_files(sc, folder):
    written(folder, "in/a.txt", b"one\r\ntwo")
    written(folder, "in/b.txt", b"")
    found = sc.wholeTextFiles(str(folder / "in")).collect()
    return sorted((path.removeprefix(f"file:{folder}"), text) for path, text in found)


@case("sc.wholeTextFiles")
def whole_files_with_broken_bytes(sc, folder):
    path = written(folder, "in/a.txt", b"caf\xe9\n")
    unicode = sc.wholeTextFiles(path, minPartitions=1).values().collect()
    return unicode, sc.wholeTextFiles(path, use_unicode=False).values().collect()


@case("sc.wholeTextFiles")
def whole_files_keys_as_bytes_or_text(sc, folder):
    path = written(folder, "a.txt", b"a")
    return [
        type(sc.wholeTextFiles(path, 1, use_unicode).keys().first()).__name__
        for use_unicode in (True, False)
    ]


@case("sc.wholeTextFiles")
def whole_files_compressed(sc, folder):
    written(folder, "in/a.gz", gzip.compress(b"squeezed"))
    return sc.wholeTextFiles(str(folder / "in")).values().collect()


@case("sc.wholeTextFiles")
def whole_files_hidden_and_globbed(sc, folder):
    for name in ("a.txt", "b.log", "_c.txt", ".d.txt"):
        written(folder, f"in/{name}", name.encode())
    return (
        sorted(sc.wholeTextFiles(f"{folder}/in").values().collect()),
        sorted(sc.wholeTextFiles(f"{folder}/in/*.txt").values().collect()),
    )


@case("sc.wholeTextFiles")
def whole_files_number_of_partitions(sc, folder):
    for number in range(4):
        written(folder, f"in/{number}.txt", b"x" * 10)
    return (
        sc.wholeTextFiles(f"{folder}/in").getNumPartitions(),
        sc.wholeTextFiles(f"{folder}/in", 1).getNumPartitions(),
    )


@case("sc.wholeTextFiles")
def whole_files_missing(sc, folder):
    return outcome(lambda: sc.wholeTextFiles(f"{folder}/none"), lambda r: r.collect())
