"""What is stuck in a cluster: facts are API objects as documents, and the findings in them."""
