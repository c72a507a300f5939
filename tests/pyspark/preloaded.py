"""PySpark's daemon, which has loaded all that programs import before it forks their workers."""

from pyspark.daemon import manager
from tests.pyspark.registry import all_cases

if __name__ == "__main__":
    all_cases()
    manager()
