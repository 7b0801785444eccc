"""One package per problem, each with the same files."""
