"""Compile every loop once, as several processes of the tests would each compile it.

python tests/loops.py
"""

from __future__ import annotations

from dlsched.registry import problem, problem_names
from dlsched.solvers.preparation import prepare

SIMULATION = (
    "dlsched.simulation.bounds.relaxation",
    "dlsched.simulation.list_search",
    "dlsched.simulation.published.muri.blossom_stages",
)

modules = set(SIMULATION)
for name in problem_names():
    owner = problem(name)
    parts = {part for m in owner.methods.values() for part in m.preload if part.startswith(".")}
    modules |= {owner.package + part for part in parts}
# All at once, so that no core waits at the end of each problem.
prepare(*sorted(modules), package="dlsched")
