"""Kinds of jobs, and solutions from their times."""
