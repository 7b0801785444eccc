"""Instances as arrays, and the partial solutions that methods update."""
