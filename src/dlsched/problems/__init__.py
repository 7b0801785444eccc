"""One room per problem, each with the same files."""
