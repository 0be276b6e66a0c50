"""Foreign MIG instances: which ones no record of a claim explains, and which devices overlap them."""
