"""The subcommands: each reads its options, calls the packages and prints the result."""
