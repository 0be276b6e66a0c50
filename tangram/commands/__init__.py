"""The subcommands: each reads its options, calls the packages, and shows what came out."""
