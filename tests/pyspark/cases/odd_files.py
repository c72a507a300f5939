"""Text with odd ends of lines, odd encodings and odd values, read and written."""

import gzip

from tests.pyspark.tables import add_programs

TEXTS = {
    "empty": lambda: b"",
    "newlines": lambda: b"\n\n\n",
    "windows": lambda: b"a\r\nb\r\n\r\nc",
    "old_mac": lambda: b"a\rb\rc\r",
    "mixed_ends": lambda: b"a\rb\nc\r\nd\n\re",
    "form_feeds": lambda: b"a\x0cb\x0bc\x1cd\x1de\x1ef",
    "next_lines": lambda: "a\x85b\u2028c\u2029d".encode(),
    "byte_order_mark": lambda: b"\xef\xbb\xbfa\nb",
    "bad_utf8": lambda: b"a\xff\xfeb\n\xc3\n\xe2\x82",
    "surrogates": lambda: b"\xed\xa0\x80\n\xf4\x90\x80\x80",
    "utf16": lambda: "a\nb".encode("utf-16"),
    "wide": lambda: "日本\n😀😀\n".encode(),
    "long_line": lambda: b"x" * 70_000 + b"\n" + b"y" * 3,
    "many_lines": lambda: b"".join(b"%d\r\n" % n for n in range(5_000)),
}


def at(folder, data, name="in.txt"):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_bytes(data)
    return str(folder / "in" / name)


READS = {
    "textFile": lambda sc, folder, data: sc.textFile(at(folder, data), 1).collect(),
    "textFile_in_parts": lambda sc, folder, data: sc.textFile(at(folder, data), 3).collect(),
    "textFile_as_bytes": lambda sc, folder, data: sc.textFile(
        at(folder, data), 2, use_unicode=False
    ).collect(),
    "textFile_of_gzip": lambda sc, folder, data: sc.textFile(
        at(folder, gzip.compress(data), "in.gz"), 2
    ).collect(),
    "wholeTextFiles": lambda sc, folder, data: (
        at(folder, data) and sc.wholeTextFiles(str(folder / "in")).values().collect()
    ),
    "binaryFiles": lambda sc, folder, data: sc.binaryFiles(at(folder, data)).values().collect(),
    "binaryRecords": lambda sc, folder, data: sc.binaryRecords(at(folder, data), 1).count(),
    "written_again": lambda sc, folder, data: written_again(sc, folder, data),
}


def written_again(sc, folder, data):
    sc.textFile(at(folder, data), 1).saveAsTextFile(str(folder / "out"))
    return (folder / "out" / "part-00000").read_bytes()


PATHS = {
    "missing": lambda: "missing.txt",
    "a_folder": lambda: "",
    "a_pattern": lambda: "*.txt",
    "a_pattern_of_nothing": lambda: "*.nothing",
    "alternatives": lambda: "{a,c}.txt",
    "a_class": lambda: "[ab].txt",
    "a_question_mark": lambda: "?.txt",
    "hidden": lambda: ".hidden.txt",
    "underscored": lambda: "_under.txt",
    "spaced": lambda: "with space.txt",
    "accented": lambda: "é.txt",
    "percent": lambda: "100%25.txt",
    "hash": lambda: "a#b.txt",
    "dots": lambda: "../files/a.txt",
    "slashes": lambda: "//a.txt",
}
NAMES = ("a.txt", "b.txt", "c.txt", ".hidden.txt", "_under.txt", "with space.txt", "é.txt")


def written(folder):
    (folder / "files").mkdir()
    for name in (*NAMES, "100%25.txt", "a#b.txt"):
        (folder / "files" / name).write_text(f"in {name}\n")
    return folder / "files"


def names_and_text(rdd):
    return sorted((path.rpartition("/")[2], held) for path, held in rdd.collect())


NAMED = {
    "textFile": lambda sc, folder, path: sorted(sc.textFile(f"{written(folder)}/{path}").collect()),
    "wholeTextFiles": lambda sc, folder, path: names_and_text(
        sc.wholeTextFiles(f"{written(folder)}/{path}")
    ),
    "with_a_scheme": lambda sc, folder, path: sorted(
        sc.textFile(f"file://{written(folder)}/{path}").collect()
    ),
}

add_programs("odd_files", READS, TEXTS)
add_programs("odd_files", NAMED, PATHS)
