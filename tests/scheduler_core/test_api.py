from scheduler_core import api


def test_everything_that_is_promised_is_there_and_documented():
    for name in api.__all__:
        assert getattr(api, name).__doc__, name
