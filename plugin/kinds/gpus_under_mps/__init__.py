"""GPUs whose programs run under MPS: of one claim, and in shares of several."""
