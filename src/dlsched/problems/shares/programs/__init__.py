"""The program over kinds of jobs, and solutions from its times."""
