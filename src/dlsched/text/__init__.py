"""Numbers and renderings as text: the ground floor, which imports nothing of dlsched."""
