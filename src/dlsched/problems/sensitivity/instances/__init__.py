"""Where instances come from: generators, strategies of tests, the library, measured files."""
