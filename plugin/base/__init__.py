"""What every part of the plugin stands on: errors, durable files, folders, locks."""
