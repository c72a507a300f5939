"""Saving text: names, contents, compression, refusals."""

import bz2
import gzip

from tests.pyspark.registry import case, outcome


def shown(folder):
    """The visible files of a folder with their contents."""
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*")}


@case("saveAsTextFile")
def save_text(sc, folder):
    result = sc.parallelize(["one", "two", "three"], 2).saveAsTextFile(f"{folder}/out")
    return result, shown(folder / "out")


@case("saveAsTextFile")
def save_text_of_other_records(sc, folder):
    rows = [1, None, 2.5, True, (1, "é"), [1], b"raw", "日本", ""]
    sc.parallelize(rows, 1).saveAsTextFile(path=f"{folder}/out")
    return shown(folder / "out")


@case("saveAsTextFile")
def save_text_with_line_ends(sc, folder):
    sc.parallelize(["a\nb", "c\r\n"], 1).saveAsTextFile(f"{folder}/out")
    return shown(folder / "out")


@case("saveAsTextFile")
def save_text_of_empty_partitions(sc, folder):
    sc.parallelize(["a"], 3).saveAsTextFile(f"{folder}/out")
    return shown(folder / "out")


@case("saveAsTextFile")
def save_text_of_nothing(sc, folder):
    sc.emptyRDD().saveAsTextFile(f"{folder}/out")
    return shown(folder / "out")


@case("saveAsTextFile")
def save_text_makes_parent_folders(sc, folder):
    sc.parallelize(["a"], 1).saveAsTextFile(f"{folder}/deep/er/out")
    return shown(folder / "deep" / "er" / "out")


@case("saveAsTextFile")
def save_text_as_gzip(sc, folder):
    codec = "org.apache.hadoop.io.compress.GzipCodec"
    rdd = sc.parallelize(["foo", "bar"], 2)
    rdd.saveAsTextFile(f"{folder}/out", compressionCodecClass=codec)
    names = sorted(path.name for path in (folder / "out").glob("[!.]*"))
    return names, [gzip.decompress((folder / "out" / name).read_bytes()) for name in names[1:]]


@case("saveAsTextFile")
def save_text_as_bzip2(sc, folder):
    codec = "org.apache.hadoop.io.compress.BZip2Codec"
    sc.parallelize(["foo"], 1).saveAsTextFile(f"{folder}/out", codec)
    names = sorted(path.name for path in (folder / "out").glob("[!.]*"))
    return names, [bz2.decompress((folder / "out" / name).read_bytes()) for name in names[1:]]


@case("saveAsTextFile", "sc.textFile")
def save_text_and_read_again(sc, folder):
    codec = "org.apache.hadoop.io.compress.GzipCodec"
    sc.parallelize(range(20), 3).saveAsTextFile(f"{folder}/out", codec)
    return sorted(sc.textFile(f"{folder}/out").map(int).collect())


@case("saveAsTextFile")
def save_text_with_an_unknown_codec(sc, folder):
    rdd = sc.parallelize(["a"], 1)
    return outcome(lambda: rdd.saveAsTextFile(f"{folder}/out", "no.such.Codec"))


@case("saveAsTextFile")
def save_text_to_an_existing_folder(sc, folder):
    (folder / "out").mkdir()
    (folder / "out" / "mine").write_text("kept")
    failed = outcome(lambda: sc.parallelize(["a"], 1).saveAsTextFile(f"{folder}/out"))
    return failed, shown(folder / "out")


@case("saveAsTextFile")
def save_text_to_an_existing_file(sc, folder):
    (folder / "out").write_text("kept")
    failed = outcome(lambda: sc.parallelize(["a"], 1).saveAsTextFile(f"{folder}/out"))
    return failed, (folder / "out").read_text()


@case("saveAsTextFile")
def save_text_that_fails_has_no_success_mark(sc, folder):
    rdd = sc.parallelize([1, 0], 2).map(lambda x: 1 / x)
    failed = outcome(lambda: rdd.saveAsTextFile(f"{folder}/out"))
    return failed, (folder / "out" / "_SUCCESS").exists()


@case("saveAsTextFile")
def save_text_names_of_many_parts(sc, folder):
    sc.parallelize(range(12), 12).saveAsTextFile(f"{folder}/out")
    return sorted(shown(folder / "out"))


@case("saveAsTextFile")
def save_text_to_a_url(sc, folder):
    sc.parallelize(["a"], 1).saveAsTextFile(f"file://{folder}/out")
    return shown(folder / "out")
