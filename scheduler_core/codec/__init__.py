"""Decodes API objects from dictionaries and encodes them again. Every error names the path of the mistake."""
