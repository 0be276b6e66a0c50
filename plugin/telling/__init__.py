"""What users are told of their claims: status, events, log."""
