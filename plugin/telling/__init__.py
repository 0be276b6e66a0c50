"""What users learn about their claims: status, events, log lines."""
