"""The simulation itself: what a policy sees, what it may decide, and what then happens."""
