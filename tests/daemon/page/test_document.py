"""The page is one document without network, and texts of objects cannot become markup in it."""

import base64
import hashlib
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from daemon.page.document import document, embedded, policy_of_page

VALUE = {"title": "a cluster", "nodes": []}
TEXTS = st.text(st.characters() | st.sampled_from("<>&/'\"\u2028\u2029!-"), max_size=40)


def parts(html: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", html, re.DOTALL)


def test_the_document_has_its_data_and_nothing_from_elsewhere():
    html = document(VALUE)
    data, script = parts(html, "script")
    assert json.loads(data) == VALUE
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "innerHTML" not in script
    assert "@" not in re.sub(r"@media", "", html)


def test_only_the_script_and_the_style_of_the_document_may_run():
    html = document(VALUE)
    for name, text in (("style", parts(html, "style")[0]), ("script", parts(html, "script")[1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy_of_page()
    assert policy_of_page().startswith("default-src 'none'; ")
    assert f'content="{policy_of_page()}"' in html


@given(TEXTS, TEXTS)
def test_any_text_comes_back_and_cannot_end_its_element(key: str, text: str):
    found = embedded({key: [text]})
    assert json.loads(found) == {key: [text]}
    assert not set("<>&\u2028\u2029").intersection(found)


def test_a_lone_surrogate_is_written_as_an_escape():
    assert json.loads(embedded({"name": "\ud800"}).encode().decode()) == {"name": "\ud800"}
