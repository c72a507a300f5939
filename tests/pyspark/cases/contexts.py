"""Contexts: making, finding, describing and stopping them; configurations."""

import getpass
import os
import time
import zipfile

from tests.pyspark.api import api, submodule
from tests.pyspark.registry import APP_NAME, MASTER, case, fails, outcome


@case("sc.version", "sc.applicationId", "sc.startTime", "sc.sparkUser")
def descriptions(sc):
    return (
        [type(each).__name__ for each in (sc.version, sc.applicationId, sc.startTime)],
        sc.version.split(".")[0].isdigit(),
        sc.applicationId.startswith("local-"),
        abs(time.time() * 1000 - sc.startTime) < 3_600_000,
        sc.sparkUser() == os.environ.get("SPARK_USER", getpass.getuser()),
    )


@case("sc.getConf")
def attributes(sc):
    return (
        sc.appName,
        sc.master,
        sc.getConf().get("spark.app.name"),
        sc.getConf().get("spark.master"),
    )


@case("sc.getConf")
def get_conf_is_a_copy(sc):
    sc.getConf().set("spark.app.name", "changed")
    return sc.getConf().get("spark.app.name"), type(sc.getConf()).__name__


@case("sc.getOrCreate")
def get_or_create_finds_the_context(sc):
    return api.SparkContext.getOrCreate() is sc, api.SparkContext.getOrCreate(api.SparkConf()) is sc


@case("sc.getOrCreate", "sc.stop", context="none")
def get_or_create_makes_a_context():
    conf = api.SparkConf().setMaster("local[1]").setAppName("made")
    sc = api.SparkContext.getOrCreate(conf=conf)
    try:
        return sc.appName, sc.master, sc.defaultParallelism, sc.parallelize([1, 2]).collect()
    finally:
        sc.stop()


@case("sc.stop")
def a_second_context_fails(sc):
    return outcome(lambda: api.SparkContext(MASTER, "second"))


@case("sc.stop", context="none")
def a_context_after_another_was_stopped():
    first = api.SparkContext("local[1]", "first")
    first.stop()
    second = api.SparkContext("local[1]", "second")
    try:
        return second.appName, second.parallelize([1]).collect()
    finally:
        second.stop()


@case("sc.stop", context="none")
def stop_twice():
    sc = api.SparkContext("local[1]", APP_NAME)
    return sc.stop(), sc.stop()


@case("sc.stop", context="none")
def use_after_stop_fails():
    sc = api.SparkContext("local[1]", APP_NAME)
    rdd = sc.parallelize([1])
    sc.stop()
    return fails(lambda: sc.parallelize([1]).collect()), fails(lambda: rdd.collect())


@case("sc.__enter__", context="none")
def with_statement_stops_the_context():
    with api.SparkContext("local[1]", APP_NAME) as sc:
        rows = sc.parallelize([1, 2]).collect()
    with api.SparkContext("local[1]", "again") as sc:
        return rows, sc.appName


@case("sc.__enter__", context="none")
def with_statement_lets_errors_pass():
    def fail():
        with api.SparkContext("local[1]", APP_NAME):
            raise KeyError("mine")

    return outcome(fail)


@case("sc.stop", context="none")
def an_unknown_master_fails():
    return outcome(lambda: api.SparkContext("no-such-master", "x"), lambda sc: sc.stop())


@case("sc.defaultParallelism", context="none")
def parallelism_of_masters():
    found = []
    for master in ("local", "local[1]", "local[3]"):
        with api.SparkContext(master, APP_NAME) as sc:
            found.append((sc.defaultParallelism, sc.defaultMinPartitions))
    return found


@case("sc.setLogLevel", context="fresh")
def log_levels(sc):
    levels = ["ALL", "DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN"]
    returned = [sc.setLogLevel(logLevel=level) for level in reversed(levels)]
    sc.setLogLevel("OFF")
    sc.setLogLevel("off")
    return returned, outcome(lambda: sc.setLogLevel("LOUD"))


@case("sc.setLocalProperty", "sc.getLocalProperty", context="fresh")
def local_properties(sc):
    absent = sc.getLocalProperty("mine")
    sc.setLocalProperty("mine", "value")
    present = sc.getLocalProperty(key="mine")
    sc.setLocalProperty(key="mine", value=None)
    return absent, present, sc.getLocalProperty("mine")


@case("sc.getConf", context="fresh", conf={"mine.option": "7", "spark.my.flag": "true"})
def own_options(sc):
    conf = sc.getConf()
    return (
        conf.get("mine.option"),
        conf.get("spark.my.flag"),
        conf.get("absent"),
        conf.contains("absent"),
    )


@case("SparkConf", context="none")
def conf_sets_and_gets():
    conf = api.SparkConf(loadDefaults=False)
    chained = conf.setMaster("local[2]").setAppName("named").set("a", "b")
    return (
        chained is conf,
        conf.get("spark.master"),
        conf.get("spark.app.name"),
        conf.get("a"),
        conf.get("absent"),
        conf.get("absent", "default"),
        conf.get("absent", defaultValue=None),
        conf.contains("a"),
        conf.contains("absent"),
    )


@case("SparkConf", context="none")
def conf_sets_several():
    conf = api.SparkConf(False).setAll([("a", "1"), ("b", "2")])
    conf.setIfMissing("a", "9").setIfMissing("c", "3")
    conf.setSparkHome("home").setExecutorEnv("NAME", "value")
    conf.setExecutorEnv(pairs=[("X", "1"), ("Y", "2")])
    return sorted(conf.getAll())


@case("SparkConf", context="none")
def conf_values_become_text():
    conf = api.SparkConf(False).set("number", 5).set("flag", True)
    return conf.get("number"), conf.get("flag")


@case("SparkConf", context="none")
def conf_shows_itself():
    conf = api.SparkConf(False).set("b", "2").set("a", "1")
    return sorted(conf.toDebugString().splitlines())


@case("SparkConf", context="none")
def conf_executor_environment_needs_one_form():
    conf = api.SparkConf(False)
    return (
        outcome(lambda: conf.setExecutorEnv("NAME", "value", [("X", "1")])),
        outcome(lambda: conf.setExecutorEnv()),
    )


@case("SparkConf", context="none")
def conf_given_to_a_context():
    conf = api.SparkConf().setMaster("local[1]").setAppName("by conf").set("mine", "x")
    with api.SparkContext(conf=conf) as sc:
        return sc.appName, sc.master, sc.getConf().get("mine")


@case("SparkConf", context="none")
def arguments_win_over_the_conf():
    conf = api.SparkConf().setMaster("local[1]").setAppName("by conf")
    with api.SparkContext("local[2]", "by argument", conf=conf) as sc:
        return sc.appName, sc.master


@case("sc.getConf", context="none")
def environment_given_to_a_context():
    with api.SparkContext("local[1]", APP_NAME, environment={"COLOUR": "blue"}) as sc:
        return sc.parallelize([0], 1).map(lambda _: os.environ.get("COLOUR")).collect()


@case("sc.addFile", "sc.listFiles", "SparkFiles", context="fresh")
def added_files_reach_tasks(sc, folder):
    (folder / "numbers.txt").write_text("100")
    before = sc.listFiles
    result = sc.addFile(str(folder / "numbers.txt"))
    SparkFiles = api.SparkFiles

    def scale(rows):
        with open(SparkFiles.get("numbers.txt")) as file:
            factor = int(file.read())
        return [row * factor for row in rows]

    rows = sc.parallelize([1, 2, 3], 2).mapPartitions(scale).collect()
    return before, result, rows, [path.rpartition("/")[2] for path in sc.listFiles]


@case("SparkFiles", context="fresh")
def added_files_in_the_driver(sc, folder):
    (folder / "a.txt").write_text("here")
    sc.addFile(path=str(folder / "a.txt"), recursive=False)
    path = api.SparkFiles.get("a.txt")
    with open(path) as file:
        return file.read(), os.path.dirname(path) == api.SparkFiles.getRootDirectory()


@case("sc.addFile", context="fresh")
def added_folders_need_recursion(sc, folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "a.txt").write_text("deep")
    refused = outcome(lambda: sc.addFile(str(folder / "deep")))
    sc.addFile(str(folder / "deep"), recursive=True)
    SparkFiles = api.SparkFiles

    def read(_):
        with open(os.path.join(SparkFiles.get("deep"), "a.txt")) as file:
            return file.read()

    return refused, sc.parallelize([0], 1).map(read).collect()


@case("sc.addFile", context="fresh")
def added_files_that_are_missing(sc, folder):
    return outcome(lambda: sc.addFile(str(folder / "missing")))


@case("sc.addFile", "sc.listFiles", context="fresh")
def added_files_count_once(sc, folder):
    (folder / "a.txt").write_text("1")
    sc.addFile(str(folder / "a.txt"))
    sc.addFile(str(folder / "a.txt"))
    return len(sc.listFiles)


@case("sc.addPyFile", context="fresh")
def added_modules_can_be_imported_in_tasks(sc, folder):
    (folder / "recorded_module_one.py").write_text("ANSWER = 42\n")
    result = sc.addPyFile(str(folder / "recorded_module_one.py"))

    def ask(_):
        import recorded_module_one

        return recorded_module_one.ANSWER

    return result, sc.parallelize([0, 0], 2).map(ask).collect()


@case("sc.addPyFile", context="fresh")
def added_zips_can_be_imported_in_tasks(sc, folder):
    with zipfile.ZipFile(folder / "modules.zip", "w") as archive:
        archive.writestr("recorded_module_two/__init__.py", "def double(x):\n    return 2 * x\n")
    sc.addPyFile(path=str(folder / "modules.zip"))

    def ask(x):
        from recorded_module_two import double

        return double(x)

    return sc.parallelize([1, 2], 2).map(ask).collect()


@case("sc.addPyFile", context="none")
def modules_given_to_a_context(folder):
    (folder / "recorded_module_three.py").write_text("ANSWER = 3\n")
    path = str(folder / "recorded_module_three.py")

    def ask(_):
        import recorded_module_three

        return recorded_module_three.ANSWER

    with api.SparkContext("local[1]", APP_NAME, pyFiles=[path]) as sc:
        return sc.parallelize([0]).map(ask).collect()


@case("sc.addArchive", "sc.listArchives", context="fresh")
def added_archives_are_unpacked(sc, folder):
    with zipfile.ZipFile(folder / "held.zip", "w") as archive:
        archive.writestr("inside.txt", "unpacked")
    before = sc.listArchives
    result = sc.addArchive(str(folder / "held.zip"))
    sc.addArchive(path=f"{folder}/held.zip#renamed")
    SparkFiles = api.SparkFiles

    def read(name):
        with open(os.path.join(SparkFiles.get(name), "inside.txt")) as file:
            return file.read()

    rows = sc.parallelize(["held.zip", "renamed"], 2).map(read).collect()
    return before, result, rows, sorted(path.rpartition("/")[2] for path in sc.listArchives)


@case("sc.stop", context="none")
def names_that_users_import():
    found = {
        "context": ["SparkContext"],
        "conf": ["SparkConf"],
        "rdd": ["RDD", "RDDBarrier", "portable_hash"],
        "storagelevel": ["StorageLevel"],
        "accumulators": ["Accumulator", "AccumulatorParam"],
        "broadcast": ["Broadcast"],
        "files": ["SparkFiles"],
        "status": ["StatusTracker", "SparkJobInfo", "SparkStageInfo"],
        "taskcontext": ["TaskContext", "BarrierTaskContext", "BarrierTaskInfo"],
        "statcounter": ["StatCounter"],
        "resultiterable": ["ResultIterable"],
        "util": ["InheritableThread", "inheritable_thread_target"],
        "serializers": ["PickleSerializer", "CPickleSerializer", "MarshalSerializer"],
    }
    return [
        f"{module}.{name}"
        for module, names in found.items()
        for name in names
        if not hasattr(submodule(module), name)
    ]


@case("sc.stop", context="none")
def names_at_the_top():
    names = """
    SparkConf SparkContext SparkFiles RDD StorageLevel Broadcast Accumulator AccumulatorParam
    StatusTracker SparkJobInfo SparkStageInfo TaskContext BarrierTaskContext BarrierTaskInfo
    InheritableThread RDDBarrier MarshalSerializer CPickleSerializer
    """
    return [name for name in names.split() if not hasattr(api, name)]


@case("sc.listFiles", "sc.listArchives", "sc.getCheckpointDir", context="fresh")
def folders_and_files_are_uris(sc, folder):
    (folder / "a file.txt").write_text("x")
    (folder / "b.txt").write_text("y")
    with zipfile.ZipFile(folder / "c.zip", "w") as archive:
        archive.writestr("inside", "z")
    sc.addFile(str(folder / "a file.txt"))
    sc.addFile(f"file://{folder}/b.txt")
    sc.addArchive(f"{folder}/c.zip#name")
    sc.setCheckpointDir(str(folder / "kept"))
    shown = [*sorted(sc.listFiles), *sc.listArchives, sc.getCheckpointDir().rpartition("/")[0]]
    return [each.replace(str(folder), "FOLDER") for each in shown]


@case("sc.startTime", context="none")
def spark_home():
    homes = []
    for home in (None, "/opt/spark"):
        sc = api.SparkContext("local[1]", "home", sparkHome=home)
        homes.append(sc.sparkHome)
        sc.stop()
    return homes


def one_after_another(use):
    """What comes of things of a stopped context, beside those of one that runs."""
    old = api.SparkContext(MASTER, "old")
    kept = {
        "rdd": old.parallelize([(1, "a"), (2, "b")], 2),
        "broadcast": old.broadcast("old"),
        "accumulator": old.accumulator(1),
    }
    old.stop()
    new = api.SparkContext(MASTER, "new")
    try:
        return use(new, **kept)
    finally:
        new.stop()


@case("sc.stop", "join", "cogroup", "subtract", "intersection", "sc.runJob", context="none")
def rdds_of_a_stopped_context_are_refused():
    def use(sc, rdd, **_):
        ours = sc.parallelize([(1, "c"), (3, "d")], 2)
        return [
            fails(lambda: ours.join(rdd).collect()),
            fails(lambda: rdd.join(ours).collect()),
            fails(lambda: ours.cogroup(rdd).collect()),
            fails(lambda: ours.subtract(rdd).collect()),
            fails(lambda: ours.intersection(rdd).collect()),
            fails(lambda: rdd.union(ours).collect()),
            fails(lambda: rdd.collect()),
            fails(lambda: rdd.map(str).count()),
            fails(lambda: sc.runJob(rdd, list)),
            ours.count(),
        ]

    return one_after_another(use)


@case("sc.stop", "id", "getNumPartitions", "getStorageLevel", "name", context="none")
def what_rdds_of_a_stopped_context_still_tell():
    def use(sc, rdd, **_):
        levels = str(rdd.getStorageLevel()), str(rdd.cache().getStorageLevel())
        return rdd.id(), rdd.getNumPartitions(), rdd.setName("n").name(), *levels

    return one_after_another(use)


@case("sc.stop", "sc.broadcast", context="none")
def broadcasts_of_a_stopped_context():
    def use(sc, broadcast, **_):
        ours = sc.broadcast("new")
        rows = sc.parallelize([1, 2], 2)
        return (
            broadcast.value,
            fails(lambda: rows.map(lambda x: broadcast.value).collect()),
            rows.map(lambda x: ours.value).collect(),
        )

    return one_after_another(use)


@case("sc.stop", "sc.accumulator", context="none")
def accumulators_of_a_stopped_context():
    def use(sc, accumulator, **_):
        ours = sc.accumulator(10)
        sc.parallelize([1, 2, 3], 2).foreach(lambda x: (accumulator.add(x), ours.add(x)))
        return accumulator.value, ours.value

    return one_after_another(use)
