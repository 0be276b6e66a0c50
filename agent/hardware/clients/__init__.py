"""Which processes hold a GPU, so that its MIG mode cannot change."""
