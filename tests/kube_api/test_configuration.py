"""The server is looked for where every Kubernetes program looks; what is wrong is said in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from scripted_api import Clock, Reply, Script, write_kubeconfig

from kube_api import NODES, KubeApi, NotConfigured
from kube_api.configuration import Kubeconfig, ServiceAccount, find

POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("of-the-pod")
    (folder / "ca.crt").write_text("not looked at here")
    return folder


def kubeconfig(path: Path, **user: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_kubeconfig(path, "http://127.0.0.1:1", {}, user)


def test_the_option_comes_before_the_environment_the_home_and_the_pod(tmp_path: Path, account: Path) -> None:
    option, variable = kubeconfig(tmp_path / "option"), kubeconfig(tmp_path / "variable")
    usual = kubeconfig(tmp_path / ".kube" / "config")
    environ = {"KUBECONFIG": str(variable), "HOME": str(tmp_path), **POD}

    assert find(option, "other", environ, account) == Kubeconfig(str(option), "other")
    assert find(None, None, environ, account) == Kubeconfig(str(variable), None)
    del environ["KUBECONFIG"]
    assert find(None, None, environ, account) == Kubeconfig(str(usual), None)
    usual.unlink()
    assert find(None, None, environ, account) == ServiceAccount(account, environ)


def test_a_user_whom_the_system_does_not_know_has_no_home_and_uses_the_account_of_the_pod(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)

    assert isinstance(find(None, None, POD, account), ServiceAccount)


def test_where_nothing_is_found_everything_that_was_looked_for_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured) as caught:
        find(None, None, {"HOME": str(tmp_path)}, tmp_path / "serviceaccount")

    said = str(caught.value)
    for place in ("option", "KUBECONFIG", str(tmp_path / ".kube/config"), "KUBERNETES_SERVICE_HOST", "token"):
        assert place in said


@pytest.mark.parametrize("said_by", ["option", "environment variable KUBECONFIG"])
def test_a_file_that_someone_named_must_exist(tmp_path: Path, account: Path, said_by: str) -> None:
    missing = tmp_path / "missing"
    environ = {"KUBECONFIG": str(missing), "HOME": str(tmp_path), **POD}

    with pytest.raises(NotConfigured, match=f"no such file; correct the {said_by}"):
        find(missing if said_by == "option" else None, None, environ, account)


def test_several_files_are_joined_and_some_may_be_missing(tmp_path: Path) -> None:
    environ = {"KUBECONFIG": f"{tmp_path / 'missing'}:{kubeconfig(tmp_path / 'there', token='t')}"}

    configuration = find(None, None, environ, tmp_path).load()

    assert configuration.host == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "just words",
        "{",
        "clusters: 3",
        "current-context: nowhere",
        '{"current-context": "a"}',
        "\0",
    ],
)
def test_a_file_that_is_no_kubeconfig_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "broken").write_text(content)

    with pytest.raises(NotConfigured, match=r"cannot use kubeconfig .*/broken: .*; correct it"):
        Kubeconfig(str(tmp_path / "broken"), None).load()


def test_a_kubeconfig_that_is_no_file_or_has_no_end_is_told_before_it_is_read(tmp_path: Path) -> None:
    pipe, large, deep = (tmp_path / name for name in ("pipe", "large", "deep"))
    os.mkfifo(pipe)
    large.touch()
    os.truncate(large, 2**30)
    deep.write_text("[" * 100_000)
    there = kubeconfig(tmp_path / "there", token="t")

    for file, reason in (
        (pipe, "no regular file"),
        (tmp_path, "no regular file"),
        (large, "larger than 16 MiB"),
    ):
        with pytest.raises(NotConfigured, match=rf"cannot read kubeconfig {file}: it is {reason}"):
            find(None, None, {"KUBECONFIG": f"{there}:{file}"}, tmp_path)
    with pytest.raises(NotConfigured, match=r"cannot use kubeconfig .*/deep"):
        Kubeconfig(str(deep), None).load()


def test_a_token_file_that_is_no_file_or_has_no_end_is_told_before_it_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 2**30)

    for name, reason in (
        ("pipe", "no regular file"),
        ("/dev/zero", "no regular file"),
        ("large", "larger than"),
    ):
        file = kubeconfig(tmp_path / "k", tokenFile=name)
        with pytest.raises(
            NotConfigured, match=rf"kubeconfig {file}: its tokenFile {tmp_path / name}: it is {reason}"
        ):
            Kubeconfig(str(file), None).load()


def test_a_token_file_whose_name_is_none_is_told(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", tokenFile="\0")

    with pytest.raises(NotConfigured, match=rf"cannot use kubeconfig {file}: .*null byte"):
        Kubeconfig(str(file), None).load()


def test_a_token_file_that_nobody_reads_may_be_anything(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", token="t", tokenFile="/dev/zero")

    assert Kubeconfig(str(file), None).load().api_key.popitem()[1] == "Bearer t"


def test_a_context_that_is_not_in_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match=r"cannot use context nowhere of kubeconfig .*nowhere"):
        Kubeconfig(str(kubeconfig(tmp_path / "k")), "nowhere").load()


def test_a_named_context_is_used(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", token="t")
    document = json.loads(file.read_text())
    document["clusters"].append({"name": "far", "cluster": {"server": "http://127.0.0.1:2"}})
    document["contexts"].append({"name": "other", "context": {"cluster": "far", "user": "me"}})
    file.write_text(json.dumps(document))

    assert Kubeconfig(str(file), "other").load().host == "http://127.0.0.1:2"


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_a_pod_without_its_files_is_told(account: Path, missing: str) -> None:
    (account / missing).unlink()

    with pytest.raises(NotConfigured, match=r"cannot use service account .*automountServiceAccountToken"):
        ServiceAccount(account, POD).load()


@pytest.mark.parametrize(("host", "address"), [("10.96.0.1", "10.96.0.1"), ("fd00::1", "[fd00::1]")])
def test_in_a_pod_the_server_is_where_the_environment_says(account: Path, host: str, address: str) -> None:
    configuration = ServiceAccount(account, POD | {"KUBERNETES_SERVICE_HOST": host}).load()

    assert configuration.host == f"https://{address}:443"


def test_a_token_in_a_file_beside_the_kubeconfig_is_read(
    tmp_path: Path, server: Script, clock: Clock
) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    file = write_kubeconfig(
        tmp_path / "k", f"http://127.0.0.1:{server.server_port}", {}, {"tokenFile": "token"}
    )
    server.answers(Reply({"metadata": {"name": "a"}}))
    api = KubeApi.connect(
        file, user_agent="t", clock=clock, sleep=clock.sleep, random=lambda: 0.0, environ={}
    )

    api.get(NODES, "a")
    api.close()

    assert server.requests[0].headers["Authorization"] == "Bearer from-a-file"
