"""The functions of the language, by topic: each module offers ``OVERLOADS``, pure functions on values."""
