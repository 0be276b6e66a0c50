"""``tangram doctor``: what is stuck, why it matters and what to do. Facts in, findings out."""
