"""The page that shows who holds which devices: one HTML document, and a server that keeps it up to date."""
