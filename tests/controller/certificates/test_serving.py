"""What is served: the last certificate that could be used, from a Secret or from files."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path

import pytest
from kept_certificates import key_lines
from webhook_clients import Client, a_review, a_webhook, authority, pair, trusting

from controller.certificates.serving import MountedCertificate, WatchedCertificate
from daemon.tls import Unusable, tls_settings

SIGNER = authority()
CERTIFICATE, KEY = pair(SIGNER)
OTHER_CERTIFICATE, OTHER_KEY = pair(SIGNER)


@pytest.mark.parametrize(
    ("certificate", "key", "sentence"),
    [
        (b"", KEY, "tls.crt is missing or empty"),
        (CERTIFICATE, b"", "tls.key is missing or empty"),
        (CERTIFICATE, OTHER_KEY, "are no pair in PEM form: KEY_VALUES_MISMATCH"),
        (b"nonsense", KEY, "tls.crt and tls.key are no pair in PEM form"),
        (CERTIFICATE, KEY[:60], "tls.crt and tls.key are no pair in PEM form"),
    ],
)
def test_what_is_no_pair_is_told_in_a_sentence_without_the_key(
    certificate: bytes, key: bytes, sentence: str
) -> None:
    with pytest.raises(Unusable, match=sentence) as caught:
        tls_settings(certificate, key)

    assert not any(line in str(caught.value) for line in key_lines(KEY) + key_lines(OTHER_KEY))


def test_no_version_of_tls_before_1_2_is_spoken() -> None:
    assert tls_settings(CERTIFICATE, KEY).minimum_version is ssl.TLSVersion.TLSv1_2


def test_making_the_settings_leaves_no_open_file() -> None:
    before = len(os.listdir("/proc/self/fd"))
    tls_settings(CERTIFICATE, KEY)

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_secret_that_is_damaged_emptied_or_gone_does_not_end_what_is_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    served = WatchedCertificate()
    assert served.context() is None
    served.take({})
    served.take({"tls.crt": CERTIFICATE, "tls.key": KEY})
    context = served.context()

    served.take({"tls.crt": CERTIFICATE, "tls.key": OTHER_KEY})
    served.take({})
    served.take(None)

    assert context is not None
    assert served.context() is context
    assert caplog.text.count("the certificate in the Secret cannot be served, the last one stays") == 1


class Folder:
    """A folder as the kubelet mounts a Secret: files that lead through one link, which is replaced."""

    def __init__(self, path: Path) -> None:
        self.path, self._number = path, 0

    def mount(self, certificate: bytes, key: bytes) -> None:
        self._number += 1
        new = self.path / f"..{self._number}"
        new.mkdir()
        (new / "tls.crt").write_bytes(certificate)
        (new / "tls.key").write_bytes(key)
        (self.path / "..new").symlink_to(new.name)
        (self.path / "..new").rename(self.path / "..data")
        for name in ("tls.crt", "tls.key"):
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")


def test_files_that_are_replaced_are_read_again_and_others_are_not(tmp_path: Path) -> None:
    folder, served = Folder(tmp_path), MountedCertificate(tmp_path)
    folder.mount(CERTIFICATE, KEY)
    first = served.context()
    again = served.context()
    folder.mount(OTHER_CERTIFICATE, OTHER_KEY)

    assert first is not None
    assert again is first
    assert served.context() not in (None, first)


def test_a_missing_or_half_replaced_file_is_told_once_and_the_last_certificate_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    served = MountedCertificate(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert served.context() is served.context() is None
    assert caplog.text.count(f"the certificate in {tmp_path} cannot be served: ") == 1
    (tmp_path / "tls.crt").write_bytes(CERTIFICATE)
    (tmp_path / "tls.key").write_bytes(KEY)
    first = served.context()
    (tmp_path / "tls.crt").write_bytes(OTHER_CERTIFICATE + b"\n")

    assert served.context() is served.context() is first
    assert caplog.text.count("KEY_VALUES_MISMATCH") == 1
    (tmp_path / "tls.key").write_bytes(OTHER_KEY)
    assert served.context() not in (None, first)


def test_a_mounted_certificate_is_replaced_under_a_server_that_runs(tmp_path: Path) -> None:
    folder, served, other = Folder(tmp_path), MountedCertificate(tmp_path), authority()
    folder.mount(CERTIFICATE, KEY)
    with a_webhook(served.context) as (port, _):
        before = Client(port, trusting(SIGNER))
        assert before.ask(a_review())[0] == 200
        folder.mount(*pair(other))
        after = Client(port, trusting(other))

        assert after.ask(a_review())[0] == 200
        assert before.ask(a_review())[0] == 200
        before.close()
        after.close()
