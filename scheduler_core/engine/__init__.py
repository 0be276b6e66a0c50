"""The fast engine: the answers of ``explain.allocate``, from tables that are kept between calls."""
