"""Alternating least squares with numpy and broadcast factors."""

import numpy as np
from numpy.random import rand

from pyspark import SparkContext

LAMBDA = 0.01
np.random.seed(42)


def rmse(R, ms, us):
    diff = R - ms * us.T
    return np.sqrt(np.sum(np.power(diff, 2)) / (M * U))


def update(i, mat, ratings):
    uu = mat.shape[0]
    ff = mat.shape[1]
    XtX = mat.T * mat
    Xty = mat.T * ratings[i, :].T
    for j in range(ff):
        XtX[j, j] += LAMBDA * uu
    return np.linalg.solve(XtX, Xty)


M, U, F, ITERATIONS, partitions = 10, 15, 3, 3, 2
sc = SparkContext("local[2]", "PythonALS")
R = np.matrix(rand(M, F)) * np.matrix(rand(U, F).T)
ms = np.matrix(rand(M, F))
us = np.matrix(rand(U, F))
Rb = sc.broadcast(R)
msb = sc.broadcast(ms)
usb = sc.broadcast(us)
for i in range(ITERATIONS):
    ms_ = (
        sc.parallelize(range(M), partitions).map(lambda x: update(x, usb.value, Rb.value)).collect()
    )
    ms = np.matrix(np.array(ms_)[:, :, 0])
    msb = sc.broadcast(ms)
    us_ = (
        sc.parallelize(range(U), partitions)
        .map(lambda x: update(x, msb.value, Rb.value.T))
        .collect()
    )
    us = np.matrix(np.array(us_)[:, :, 0])
    usb = sc.broadcast(us)
    print("Iteration %d:" % i)
    print("RMSE: %5.4f" % rmse(R, ms, us))
sc.stop()
