"""What a running program knows, and how it is asked for it over its own socket."""
