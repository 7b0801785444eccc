"""The integer program by kinds of jobs, and its parts."""
