"""A Pyomo model in, a checked outcome out."""
