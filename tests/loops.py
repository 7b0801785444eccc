"""Compile every loop once, as several processes of the tests would each compile it.

python tests/loops.py
"""

from __future__ import annotations

from dlsched.preparation import prepare
from dlsched.registry import problem, problem_names

for name in problem_names():
    owner = problem(name)
    parts = {part for m in owner.methods.values() for part in m.preload if part.startswith(".")}
    prepare(*sorted(owner.package + part for part in parts))
