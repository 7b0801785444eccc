"""Where instances of shares come from."""
