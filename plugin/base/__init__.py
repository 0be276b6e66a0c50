"""What the other folders use: errors, claim UIDs, durable files, folders, locks."""
