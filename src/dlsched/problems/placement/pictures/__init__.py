"""Drawings of instances and solutions."""
