"""Proofs of optimality that can be checked without a solver: see ``docs/proofs.md``.

`dlsched.proofs.check` and what it imports is all that has to be trusted.
"""
