"""Records what PySpark answers to every case, into recorded.json beside this file.

Run it from the root of the project with a Python that has PySpark 4 and a JDK 17 or later:

    python -m tests.pyspark.record            all cases
    python -m tests.pyspark.record joins      only cases whose names contain a word; others are kept

Cases are never recorded from Pyrite. A case that raises where it does not say so is an error of
the case: it is printed and left out.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded.json")
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
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


def main(words: list[str]) -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":
        # PySpark's workers hash with this seed; its driver must agree to place a key.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.pyspark.record", *words])
    root = str(Path(__file__).parents[2])
    os.environ["RECORDED_ENGINE"] = "pyspark"
    # Functions at the top of a case module travel by name: PySpark's workers must import them.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = " ".join(f"--conf {key}={value}" for key, value in QUIET.items())
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
    chosen = [c for c in cases if not words or any(word in c.name for word in words)]
    contexts = Contexts(make)
    broken = 0
    for each in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results[each.name] = contexts.run(each, Path(folder))
            except Exception as error:
                broken += 1
                print(f"{each.name} raised: {str(error)[:1000]}", file=sys.stderr)
    contexts.close()
    if broken:
        print(f"{broken} cases raised and were left out", file=sys.stderr)
    write_recorded(api.__version__, results)
    print(f"recorded {len(chosen) - broken} of {len(cases)} cases")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
