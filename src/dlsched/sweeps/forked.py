"""Imported last by the server of processes, so that each of them need not do it again."""

import gc

from dlsched.solvers.kernels import kernels

kernels()
gc.collect()
gc.freeze()  # a collection would touch, and so copy, all memory that is shared
