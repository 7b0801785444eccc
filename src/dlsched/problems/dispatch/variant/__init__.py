"""Hooks of variants: on which machines jobs may run, and the methods that follow from it."""
