"""Drawings of simulations."""
