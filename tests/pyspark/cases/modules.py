"""What programs take from modules beside the main ones."""

import io

from tests.pyspark.api import api, submodule
from tests.pyspark.registry import case, outcome


def partitions(sc):
    return sc.parallelize([(x % 3, x) for x in range(60)], 3)


@case("sample")
def samplers_by_name(sc):
    module = submodule("rddsampler")
    samplers = [
        module.RDDSampler(False, 0.2, 7),
        module.RDDSampler(True, 0.3, 7),
        module.RDDRangeSampler(0.1, 0.4, 7),
        module.RDDStratifiedSampler(False, {0: 0.1, 1: 0.5, 2: 0.2}, 7),
        module.RDDStratifiedSampler(True, {0: 0.1, 1: 0.5, 2: 0.2}, 7),
    ]
    return [partitions(sc).mapPartitionsWithIndex(each.func).collect() for each in samplers]


@case("join")
def joins_as_functions(sc):
    module = submodule("join")
    left, right = sc.parallelize([(1, "a"), (2, "b")], 2), sc.parallelize([(1, "c"), (3, "d")], 2)
    joins = [
        module.python_join,
        module.python_left_outer_join,
        module.python_right_outer_join,
        module.python_full_outer_join,
    ]
    joined = [each(left, right, 2) for each in joins]
    groups = module.python_cogroup([left, right, left], 2).mapValues(lambda g: [*map(list, g)])
    return [
        (each.getNumPartitions(), sorted(each.collect(), key=repr)) for each in [*joined, groups]
    ]


def told(requests):
    return {name: [each.resourceName, each.amount] for name, each in sorted(requests.items())}


@case()
def resource_profiles(sc):
    module = submodule("resource")
    executor = module.ExecutorResourceRequests().memory("2g").memoryOverhead("512m").cores(4)
    executor = executor.pysparkMemory("1g").resource("gpu", 2, "/script", "maker")
    task = module.TaskResourceRequests().cpus(2).resource("gpu", 0.5)
    builder = module.ResourceProfileBuilder().require(executor).require(task)
    gpu = builder.executorResources["gpu"]
    profile = builder.build
    before = [told(builder.executorResources), told(builder.taskResources)]
    builder.clearTaskResourceRequests()
    return [
        *before,
        [gpu.discoveryScript, gpu.vendor],
        [told(profile.executorResources), told(profile.taskResources)],
        told(builder.taskResources),
        profile.id != module.ResourceProfileBuilder().require(task).build.id,
    ]


@case()
def information_on_resources(sc):
    gpus = submodule("resource").ResourceInformation("gpu", ["0", "1"])
    return gpus.name, gpus.addresses, sc.resources


@case()
def versions(sc):
    version = submodule("util").VersionUtils.majorMinorVersion
    return version("4.3.0"), version("2.10.1-SNAPSHOT"), outcome(lambda: version("4"))


def through(serializer, rows):
    file = io.BytesIO()
    serializer.dump_stream(rows, file)
    size = file.tell()
    file.seek(0)
    return repr(serializer), size, list(serializer.load_stream(file))


@case()
def serializers_of_streams(sc):
    module = submodule("serializers")
    pickled = module.CloudPickleSerializer()
    return [
        through(module.MarshalSerializer(), [1, "a", [2]]),
        through(module.NoOpSerializer(), [b"a", b""]),
        through(module.BatchedSerializer(module.MarshalSerializer(), 2), [1, 2, 3]),
        through(module.BatchedSerializer(module.MarshalSerializer()), [1, 2, 3]),
        through(module.AutoBatchedSerializer(module.MarshalSerializer()), range(10)),
        pickled.loads(pickled.dumps([1])),
        module.BatchedSerializer(pickled, 2) == module.BatchedSerializer(pickled, 2),
        module.BatchedSerializer(pickled, 2) == module.BatchedSerializer(pickled, 3),
    ]


@case()
def texts_of_streams(sc):
    module = submodule("serializers")
    file = io.BytesIO()
    module.NoOpSerializer().dump_stream([b"a", "é".encode()], file)
    file.seek(0)
    texts = list(module.UTF8Deserializer().load_stream(file))
    file.seek(0)
    first = module.UTF8Deserializer().loads(file)
    return texts, first, list(module.UTF8Deserializer(use_unicode=False).load_stream(file))


def listing(between=()):
    module = submodule("shuffle")
    return module.Aggregator(lambda v: [v], lambda c, v: [*c, v], lambda c, d: [*c, *between, *d])


@case(context="none")
def mergers_by_name():
    merger = submodule("shuffle").ExternalMerger(listing(["and"]), 1 << 20)
    rows = [("b", 1), ("a", 2), ("b", 3), (None, 4), (1, 5), (1.0, 6), (True, 7)]
    empty = list(merger.items())
    merger.mergeValues(iter(rows))
    values = list(merger.items())
    merger.mergeCombiners([("a", [8]), ("c", [9]), ("c", [10])])
    return empty, values, list(merger.items()), list(merger.items())


@case()
def mergers_in_tasks(sc):
    def merged(rows):
        merger = submodule("shuffle").ExternalMerger(adding, 1 << 20, localdirs=None, batch=10)
        merger.mergeValues(rows)
        return merger.items()

    adding = submodule("shuffle").SimpleAggregator(lambda a, b: a + b)
    return sc.parallelize([(x % 7, x) for x in range(1000)], 3).mapPartitions(merged).collect()


# A limit below what any process has: all goes through files.
@case(context="none", order="sorted")
def mergers_of_more_than_their_memory():
    merger = submodule("shuffle").ExternalMerger(listing(), 1, partitions=3)
    merger.mergeValues((x % 30_000, x) for x in range(60_000))
    merger.mergeCombiners((x, [str(x)]) for x in range(100))
    return [
        (key, [str(value) for value in found]) for key, found in merger.items() if key % 999 < 3
    ]


@case(context="none")
def what_mergers_refuse():
    module = submodule("shuffle")

    def stop(*_):
        raise StopIteration("mine")

    def merge(agg, rows):
        merger = module.ExternalMerger(agg, 1 << 20)
        merger.mergeValues(rows)
        return list(merger.items())

    return [
        outcome(lambda: merge(module.SimpleAggregator(stop), [(1, 2)])),
        outcome(lambda: merge(module.SimpleAggregator(stop), [(1, 2), (1, 3)])),
        outcome(lambda: merge(module.Aggregator(stop, stop, stop), [(1, 2)])),
        outcome(lambda: merge(listing(), [1])),
        outcome(lambda: merge(listing(), [([], 1)])),
        outcome(lambda: merge(listing(), None)),
        outcome(lambda: module.ExternalMerger(None).mergeValues([(1, 2)])),
        outcome(lambda: module.Merger(listing()).items()),
        outcome(lambda: module.Merger(listing()).agg.createCombiner(1)),
        outcome(lambda: module.SimpleAggregator(max).createCombiner(1)),
    ]


@case(context="none")
def sorters_by_name():
    sort = submodule("shuffle").ExternalSorter(1 << 20).sorted
    words = ["pear", "fig", "apple", "kiwi", "date"]
    return [
        sort(iter(words)),
        sort(words, len),
        sort(words, key=len, reverse=True),
        sort([]),
        outcome(lambda: sort([1, "a"])),
        outcome(lambda: sort(None)),
    ]


@case(context="none")
def sorters_of_more_than_their_memory():
    sort = submodule("shuffle").ExternalSorter(1).sorted
    rows = [(x * 7919 % 100_003 % 1000, x) for x in range(60_000)]
    forth = list(sort(iter(rows), key=lambda row: row[0]))
    back = list(sort(rows, lambda row: row[0], True))
    return forth == sorted(rows, key=lambda row: row[0]), forth[:3], back[:3], len(back)


@case(context="fresh")
def system_properties_are_defaults_of_settings(sc):
    sc.setSystemProperty("spark.mine.property", "x y")
    return (
        sc.getSystemProperty("spark.mine.property"),
        api.SparkConf().get("spark.mine.property"),
        sc.getSystemProperty("spark.mine.none"),
    )
