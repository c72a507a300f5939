"""Records what PySpark answers to every case, into recorded.json beside this file.

Run it from the root of the project with a Python that has PySpark 4 and a JDK 17 or later:

    python -m tests.pyspark.record            all cases
    python -m tests.pyspark.record joins      only cases whose names contain a word; others are kept
    python -m tests.pyspark.record --new      only cases that are not recorded yet

Cases are never recorded from Pyrite. A case that raises where it does not say so, or that answers
otherwise when it is asked again, is an error of the case: it is printed and left out.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded.json")
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A worker ends with the first error that it meets, and the next one would load numpy again.
    "spark.python.daemon.module": "tests.pyspark.preloaded",
}


def read_recorded() -> dict[str, str]:
    """The recorded results by the names of their cases."""
    if not RECORDED.exists():
        return {}
    return dict(json.loads(RECORDED.read_text(encoding="utf-8"))["cases"])


def write_recorded(version: str, results: Mapping[str, str]) -> None:
    """Writes one line for each case, sorted."""
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(results[name], ensure_ascii=False)}"
        for name in sorted(results)
    )
    text = f'{{"pyspark": {json.dumps(version)}, "cases": {{\n{lines}\n}}}}\n'
    RECORDED.write_text(text, encoding="utf-8")


def answer(contexts: Any, chosen: Any) -> str:
    """What PySpark answers, asked twice: an answer that changes can't be demanded of anyone."""
    answers = [str(contexts.run(chosen)) for _ in range(2 if chosen.context == "shared" else 1)]
    if answers[0] != answers[-1]:
        raise ValueError(f"it answers {answers[0]} and then {answers[-1]}")
    return answers[0]


def record_all(contexts: Any, chosen: Sequence[Any], results: dict[str, str]) -> int:
    """Adds the answers to the results, and gives the number of cases without one."""
    broken = 0
    for number, each in enumerate(chosen):
        if number % 50 == 0:
            print(f"{number} of {len(chosen)}: {each.name}", file=sys.stderr)
        try:
            results[each.name] = answer(contexts, each)
        except Exception as error:
            broken += 1
            print(f"{each.name} raised: {str(error)[:1000]}", file=sys.stderr)
    contexts.close()
    return broken


def main(words: list[str]) -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":
        # PySpark's workers hash with this seed; its driver must agree to place a key.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.pyspark.record", *words])
    root = Path(__file__).parents[2]
    sys.path.append(str(root / "tests" / "lineages"))
    os.environ["RECORDED_ENGINE"] = "pyspark"
    # Functions at the top of a case module travel by name: PySpark's workers must import them.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(root), *sys.path])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = " ".join(f"--conf {key}={value}" for key, value in QUIET.items())
    # For programs that name none.
    options += " --master local[2]"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"

    # Only now: the package under study is chosen by the environment.
    from tests.pyspark.api import api
    from tests.pyspark.registry import APP_NAME, MASTER, Contexts, all_cases

    def make(conf: Mapping[str, str]) -> Any:
        context = api.SparkContext(MASTER, APP_NAME, conf=api.SparkConf().setAll(conf.items()))
        context.setLogLevel("OFF")
        return context

    cases = all_cases()
    kept = read_recorded()
    results = {c.name: kept[c.name] for c in cases if c.name in kept} if words else {}
    if words == ["--new"]:
        chosen = [each for each in cases if each.name not in kept]
    else:
        chosen = [each for each in cases if not words or any(word in each.name for word in words)]
    try:
        broken = record_all(Contexts(make), chosen, results)
    finally:
        write_recorded(api.__version__, results)
    print(
        f"recorded {len(chosen) - broken} of {len(cases)} cases; {broken} raised and are left out"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
