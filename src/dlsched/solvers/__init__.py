"""Solvers for Pyomo models: compilation, back ends, certificates, lexicographic optimization."""
