"""What all tests share: no property has a deadline, since machines are slow now and then."""

from hypothesis import settings

settings.register_profile("tangram", deadline=None)
settings.load_profile("tangram")
