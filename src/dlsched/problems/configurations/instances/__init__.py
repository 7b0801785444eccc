"""Where instances of configurations come from."""
