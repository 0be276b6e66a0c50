import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.version import Version


@pytest.mark.parametrize(
    ("text", "semver"),
    [
        ("12.6", "12.6.0"),
        ("560.35.03", "560.35.3"),
        ("8", "8.0.0"),
        ("v1.2", "1.2.0"),
        ("1.2.3-rc.1", "1.2.3-rc.1"),
        ("1.2.3-rc.01+b.7", "1.2.3-rc.1+b.7"),
    ],
)
def test_a_short_version_is_completed_to_semver_and_keeps_its_text(text, semver):
    version = Version.parse(text)

    assert (version.text, version.semver) == (text, semver)


@pytest.mark.parametrize("text", ["", "a", "1.2.3.4", "1.", "-1", "1.2.3-", "1" * 65])
def test_what_is_no_version_is_refused(text):
    with pytest.raises(ValueError, match="must be a version"):
        Version.parse(text)


def test_versions_order_by_semver_precedence():
    texts = ["1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-rc", "1.0", "1.0.1", "1.10", "2"]

    assert sorted(reversed(texts), key=Version.parse) == texts


def test_build_metadata_and_spelling_do_not_count():
    assert Version.parse("560.35.03") == Version.parse("560.35.3+x")
    assert hash(Version.parse("560.35.03")) == hash(Version.parse("560.35.3+x"))


@given(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)))
def test_the_semver_form_is_equal_to_the_version(parts):
    version = Version.parse(".".join(f"{part:02}" for part in parts))

    assert Version.parse(version.semver) == version
