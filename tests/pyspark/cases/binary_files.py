"""Reading bytes and pickled records."""

from tests.pyspark.registry import case, outcome


@case("sc.binaryFiles")
def binary_files_of_a_folder(sc, folder):
    (folder / "in").mkdir()
    (folder / "in" / "a.bin").write_bytes(b"\x00\xff\n")
    (folder / "in" / "b.bin").write_bytes(b"")
    (folder / "in" / "_hidden").write_bytes(b"no")
    found = sc.binaryFiles(f"{folder}/in").collect()
    return sorted((path.removeprefix(f"file:{folder}"), held) for path, held in found)


@case("sc.binaryFiles")
def binary_files_of_one_file(sc, folder):
    (folder / "a.bin").write_bytes(bytes(range(256)))
    rdd = sc.binaryFiles(path=f"{folder}/a.bin", minPartitions=1)
    return rdd.getNumPartitions(), rdd.mapValues(len).values().collect()


@case("sc.binaryFiles")
def binary_files_are_not_decompressed(sc, folder):
    (folder / "a.gz").write_bytes(b"not gzip")
    return sc.binaryFiles(f"{folder}/*.gz").values().collect()


@case("sc.binaryFiles")
def binary_files_missing(sc, folder):
    return outcome(lambda: sc.binaryFiles(f"{folder}/none"), lambda r: r.collect())


@case("sc.binaryRecords")
def binary_records(sc, folder):
    (folder / "a.bin").write_bytes(b"aabbccdd")
    return sc.binaryRecords(path=f"{folder}/a.bin", recordLength=2).collect()


@case("sc.binaryRecords")
def binary_records_of_several_files(sc, folder):
    (folder / "in").mkdir()
    (folder / "in" / "b").write_bytes(b"333")
    (folder / "in" / "a").write_bytes(b"111222")
    return sorted(sc.binaryRecords(f"{folder}/in", 3).collect())


@case("sc.binaryRecords")
def binary_records_of_an_empty_file(sc, folder):
    (folder / "a.bin").write_bytes(b"")
    return sc.binaryRecords(f"{folder}/a.bin", 4).collect()


@case("sc.binaryRecords")
def binary_records_with_a_remainder(sc, folder):
    (folder / "a.bin").write_bytes(b"aabbc")
    return outcome(lambda: sc.binaryRecords(f"{folder}/a.bin", 2), lambda r: r.collect())


@case("sc.binaryRecords")
def binary_records_of_no_length(sc, folder):
    (folder / "a.bin").write_bytes(b"aabb")
    return outcome(lambda: sc.binaryRecords(f"{folder}/a.bin", 0), lambda r: r.collect())


@case("sc.pickleFile", "saveAsPickleFile")
def pickle_file_round_trip(sc, folder):
    rows = [1, "é", None, (2, [3]), {"k": b"v"}, {4}]
    sc.parallelize(rows, 2).saveAsPickleFile(f"{folder}/out")
    return sorted(sc.pickleFile(f"{folder}/out").collect(), key=str)


@case("sc.pickleFile", "saveAsPickleFile")
def pickle_file_with_batch_sizes(sc, folder):
    result = []
    for size in (0, 1, 3, 1000):
        sc.parallelize(range(10), 2).saveAsPickleFile(f"{folder}/out{size}", batchSize=size)
        result.append(sorted(sc.pickleFile(name=f"{folder}/out{size}", minPartitions=3).collect()))
    return result


@case("sc.pickleFile", "saveAsPickleFile")
def pickle_file_of_nothing(sc, folder):
    sc.parallelize([], 2).saveAsPickleFile(f"{folder}/out")
    rdd = sc.pickleFile(f"{folder}/out")
    return rdd.collect(), sorted(path.name for path in (folder / "out").glob("[!.]*"))


@case("saveAsPickleFile")
def pickle_file_to_an_existing_folder(sc, folder):
    (folder / "out").mkdir()
    return outcome(lambda: sc.parallelize([1], 1).saveAsPickleFile(f"{folder}/out"))


@case("sc.pickleFile")
def pickle_file_missing(sc, folder):
    return outcome(lambda: sc.pickleFile(f"{folder}/none"), lambda r: r.collect())
