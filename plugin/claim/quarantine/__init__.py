"""Claims whose records cannot be believed, and what is known of them."""
