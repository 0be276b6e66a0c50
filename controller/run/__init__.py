"""The running controller: threads that watch, one that decides, several that write."""
