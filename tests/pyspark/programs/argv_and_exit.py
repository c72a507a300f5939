"""Reads its arguments with argparse and ends with a code."""

import argparse
import os
import sys

from pyspark import SparkContext

parser = argparse.ArgumentParser(description="sums")
parser.add_argument("numbers", nargs="+", type=int)
parser.add_argument("--scale", type=float, default=1.0)
args = parser.parse_args()
print(os.path.basename(sys.argv[0]), sys.argv[1:], __name__, os.path.basename(__file__))
sc = SparkContext("local[2]", "argv")
print(sc.parallelize(args.numbers).map(lambda x: x * args.scale).sum())
print(sc.appName, sc.master)
sc.stop()
sys.exit(0)
