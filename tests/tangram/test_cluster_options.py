"""``--cluster`` without a cluster: what does not go together, and what is missing, is told in one line."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No way to an API server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "--cluster"), "KUBECONFIG"),
        (("show", "--cluster", "--kubeconfig", "/nonexistent/file"), "/nonexistent/file"),
        (("show", "--cluster", "--sizes"), "--sizes: has no effect with --cluster"),
        (("show", "--cluster", "--machine", "m"), "--machine: 'm': has no effect with --cluster"),
        (("show", "--cluster", "-f", "x.yaml"), "--file"),
        (("show", "--node", "a100x2", "--context", "c"), "--context: 'c': is for --cluster"),
        (("validate",), "validate: say what to judge: --file FILE, or --cluster"),
        (("validate", "--cluster"), "KUBECONFIG"),
        (("validate", "-f", "x.yaml", "--context", "c"), "--context: 'c': is for --cluster"),
        (("explain",), "pod/NAME, claim/NAME, or --file FILE"),
        (("explain", "--cluster"), "--claim: must be NAME or NAMESPACE/NAME"),
        (("explain", "--cluster", "--claim", "name/"), "--claim: 'name/': must be NAME or"),
        (("explain", "--cluster", "--claim", "/name"), "--claim: '/name': must be NAME or"),
        (("explain", "--cluster", "--claim", "a/b/c"), "--claim: 'a/b/c': must be NAME or"),
        (("explain", "--cluster", "-f", "x.yaml", "--claim", "a/b"), "--file"),
        (("explain", "-f", "x.yaml", "--claim", "a/b"), "--claim: 'a/b': is for --cluster"),
    ],
)
def test_a_wrong_use_is_one_message_and_status_2(tangram, arguments, told):
    answer = tangram(*arguments)

    assert answer.status == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
