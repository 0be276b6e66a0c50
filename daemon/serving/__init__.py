"""What servers of a program share: a bounded number of connections, each for a bounded time, and TLS."""
