"""Members of one group get devices together or not at all: one question over devices and nodes."""
