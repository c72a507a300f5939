"""One engine's run of the suite ray: prints the seconds of each workload as JSON.

python -m benchmarks.ray_run ENGINE SCALE ADDRESS WORKLOAD...
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from benchmarks.ray_cases import OnPyrite, OnRayData, OnRayTasks, Sizes


def main(engine: str, scale: str, address: str, names: list[str]) -> None:
    sizes = Sizes(scale)
    cases: Any
    if engine in ("pyrite", "local-cluster"):
        from pyrite import SparkConf, SparkContext

        conf = SparkConf(False).set("spark.executor.memory", "1g").set("pyrite.pool.memory", "1g")
        conf.set("spark.executorEnv.PYTHONPATH", os.getcwd())
        on_ray = engine == "pyrite"
        conf.setMaster(f"ray[{address}]" if on_ray else "local-cluster[2,1,2g]")
        cases = OnPyrite(SparkContext(conf=conf), sizes)
    else:
        import ray

        environment = {"env_vars": {"PYTHONPATH": os.getcwd()}}
        ray.init(address=address, log_to_driver=False, runtime_env=environment)
        if engine == "ray-data":
            import ray.data

            ray.data.DataContext.get_current().enable_progress_bars = False
        cases = OnRayData(ray, sizes) if engine == "ray-data" else OnRayTasks(ray, sizes)
    # Executors and Ray's workers start with the first tasks.
    cases.tiny_job()
    found = {}
    for name in names:
        began_s = time.perf_counter()
        if name == "tiny_jobs":
            answer = sum(cases.tiny_job() for _ in range(sizes.jobs))
        else:
            answer = getattr(cases, name)()
        found[name] = [time.perf_counter() - began_s, answer]
    print("RESULT " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
