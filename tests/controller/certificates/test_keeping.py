"""The leader keeps a certificate that every API server trusts at every moment, whatever is stored."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_certificates import NAMES, START, Cluster, accepts, key_lines

from controller.certificates.life import Life
from controller.certificates.making import key_pem_of, new_authority, new_leaf, pem_of
from controller.certificates.plan import plan
from controller.certificates.ports import CertificateError
from controller.certificates.stored import Stored, data_of, read_certificates, read_stored

LIFE = Life()
_SIGNER = new_authority(START, LIFE)
DATA = data_of(
    Stored(authorities=(_SIGNER.certificate,), signer=_SIGNER, leaf=new_leaf(_SIGNER, NAMES, START, LIFE))
)


@pytest.fixture
def cluster() -> Cluster:
    """One in which the certificates are made and trusted."""
    cluster = Cluster()
    cluster.settle(cluster.keeper())
    return cluster


def test_a_cluster_without_a_secret_gets_one_after_its_authority_is_trusted() -> None:
    cluster = Cluster()

    cluster.settle(cluster.keeper())

    assert cluster.log == ["trust", "secret"]
    assert accepts(cluster.trusted[0], cluster.leaf, cluster.now)
    assert all(accepts(cluster.trusted[0], cluster.leaf, cluster.now, name) for name in NAMES)


def test_while_nothing_is_due_nothing_is_written(cluster: Cluster) -> None:
    cluster.log.clear()
    keeper = cluster.keeper()

    for _ in range(59):
        cluster.later(days=1)
        keeper.turn()

    assert cluster.log == []


def test_a_certificate_is_renewed_before_its_last_third_is_over_by_the_same_authority(
    cluster: Cluster,
) -> None:
    before, trusted = cluster.leaf, cluster.trusted[0]
    keeper = cluster.keeper()
    keeper.turn()

    cluster.later(days=61)
    cluster.settle(keeper)

    assert cluster.leaf != before
    assert cluster.trusted[0] == trusted


def test_a_new_authority_is_trusted_for_a_while_before_it_signs_what_is_served(cluster: Cluster) -> None:
    cluster.later(days=30)
    keeper = cluster.keeper(Life(renew_share=0.9, leaf=timedelta(days=365)))
    cluster.log.clear()
    leaf = cluster.leaf
    cluster.later(days=10)  # a tenth of the authority's life is over, and of a third of the certificate's

    cluster.settle(keeper)
    assert cluster.leaf == leaf
    assert len(read_certificates(cluster.trusted[0])) == 2
    cluster.later(minutes=11)
    cluster.settle(keeper)

    assert cluster.leaf != leaf
    assert accepts(cluster.trusted[0], leaf, cluster.now)
    assert accepts(cluster.trusted[0], cluster.leaf, cluster.now)


def test_after_weeks_without_a_leader_the_authority_that_is_trusted_signs_before_it_is_replaced(
    cluster: Cluster,
) -> None:
    keeper = cluster.keeper()
    for _ in range(3):
        cluster.later(days=61)
        cluster.settle(keeper)
    cluster.later(days=88)  # now the certificate ends soon, and the authority is due too
    before, leaf = cluster.trusted[0], cluster.leaf

    cluster.settle(cluster.keeper())

    assert cluster.leaf != leaf
    assert accepts(before, cluster.leaf, cluster.now)
    assert len(read_certificates(cluster.trusted[0])) == 2


def test_a_new_leader_sees_for_itself_that_an_authority_is_trusted_for_long_enough(cluster: Cluster) -> None:
    life = Life(renew_share=0.9, leaf=timedelta(days=365))
    cluster.later(days=40)
    cluster.settle(cluster.keeper(life))
    leaf = cluster.leaf
    cluster.later(minutes=11)

    second = cluster.keeper(life)
    cluster.settle(second)
    assert cluster.leaf == leaf
    cluster.later(minutes=11)
    cluster.settle(second)

    assert cluster.leaf != leaf


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_damaged_secret_is_told_in_a_sentence_and_made_anew(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, name: str, damage: bytes
) -> None:
    assert cluster.data is not None
    served, key = cluster.leaf, cluster.data["tls.key"]
    cluster.data[name] = damage

    with caplog.at_level(logging.INFO):
        cluster.settle(cluster.keeper())

    assert f"was damaged and is made anew: {name} is " in caplog.text
    assert not any(line in caplog.text for line in key_lines(key))
    assert read_stored(cluster.data).problems == ()
    assert accepts(cluster.trusted[0], cluster.leaf, cluster.now)
    assert accepts(cluster.trusted[0], served, cluster.now)  # what other processes still serve


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(["ca.crt", "ca.key", "tls.crt", "tls.key"]),
    at=st.integers(0, 700),
    bytes_=st.binary(),
)
def test_any_damage_to_any_entry_is_read_without_an_error(name: str, at: int, bytes_: bytes) -> None:
    data = DATA | {name: DATA[name][:at] + bytes_ + DATA[name][at + len(bytes_) :]}

    stored = read_stored(data)

    assert all(len(one) < 200 for one in stored.problems)
    plan(stored, NAMES, START, (), LIFE)


def test_a_key_that_does_not_fit_is_damage_too(cluster: Cluster) -> None:
    other = Cluster()
    other.settle(other.keeper())
    assert cluster.data is not None
    assert other.data is not None
    cluster.data["tls.key"] = other.data["tls.key"]

    assert read_stored(cluster.data).problems == ("tls.key is not the key of tls.crt",)
    cluster.settle(cluster.keeper())
    assert read_stored(cluster.data).problems == ()


def test_a_secret_that_is_deleted_is_made_anew_and_the_old_certificate_still_trusted(
    cluster: Cluster,
) -> None:
    served, cluster.data = cluster.leaf, None

    cluster.settle(cluster.keeper())

    assert accepts(cluster.trusted[0], cluster.leaf, cluster.now)
    assert accepts(cluster.trusted[0], served, cluster.now)


def test_a_certificate_for_other_names_is_replaced_at_once(cluster: Cluster) -> None:
    assert cluster.data is not None
    signer = read_stored(cluster.data).signer
    assert signer is not None
    other = new_leaf(signer, ["other.svc"], cluster.now, LIFE)
    cluster.data |= {"tls.crt": pem_of(other.certificate), "tls.key": key_pem_of(other.key)}
    assert read_stored(cluster.data).problems == ()

    cluster.settle(cluster.keeper())

    assert accepts(cluster.trusted[0], cluster.leaf, cluster.now)


def test_trust_that_somebody_took_away_is_given_again(cluster: Cluster) -> None:
    cluster.trusted = [b"", b"not a certificate"]

    cluster.settle(cluster.keeper())

    assert [accepts(one, cluster.leaf, cluster.now) for one in cluster.trusted] == [True, True]


def test_an_authority_of_somebody_else_is_not_kept_in_what_is_trusted(cluster: Cluster) -> None:
    trusted = cluster.trusted[0]
    cluster.trusted = [trusted + cluster.leaf]

    cluster.settle(cluster.keeper())

    assert cluster.trusted == [trusted]


def test_somebody_who_damages_the_secret_again_and_again_does_not_let_the_bundle_grow(
    cluster: Cluster,
) -> None:
    for _ in range(10):
        cluster.data = {}
        cluster.settle(cluster.keeper())
        cluster.later(seconds=1)

    assert len(read_certificates(cluster.trusted[0])) == 4
    assert accepts(cluster.trusted[0], cluster.leaf, cluster.now)


def test_a_secret_that_somebody_else_wrote_meanwhile_is_not_written_over(cluster: Cluster) -> None:
    found = cluster.read()
    assert found is not None
    cluster.write({"tls.crt": b"other"}, found)

    with pytest.raises(CertificateError):
        cluster.write({}, found)


def test_a_leader_whose_clock_is_an_hour_ahead_makes_what_others_take(cluster: Cluster) -> None:
    true_now = cluster.now
    cluster.data, cluster.now = None, true_now + timedelta(hours=1)

    cluster.settle(cluster.keeper())

    assert accepts(cluster.trusted[0], cluster.leaf, true_now - timedelta(hours=1))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_certificate_that_may_be_served_is_trusted_by_every_api_server(seed: int) -> None:
    """Processes may serve any certificate that was stored; API servers may be minutes behind."""
    random, cluster = Random(seed), Cluster()
    keeper = cluster.keeper()
    cluster.settle(keeper)
    leaves, bundles = {cluster.leaf: end_of(cluster.leaf)}, list[tuple[datetime, bytes]]()
    together: dict[tuple[bytes, bytes], list[datetime]] = {}

    for _ in range(120):
        if random.random() < 0.1:
            keeper = cluster.keeper()  # another leader
        cluster.settle(keeper)
        leaves.setdefault(cluster.leaf, end_of(cluster.leaf))
        bundles.append((cluster.now, cluster.trusted[0]))
        behind = cluster.now - timedelta(minutes=9)
        seen = {text for at, text in bundles if at >= behind} | {last_before(bundles, behind)}
        for pair in product(seen, (leaf for leaf, end in leaves.items() if end > cluster.now)):
            together.setdefault(pair, []).append(cluster.now)
        assert leaves[cluster.leaf] > cluster.now
        cluster.later(minutes=random.choice((1, 5, 20, 20, 60 * 24, 60 * 24 * 20)))

    # Validity is one span of time, so what is accepted at first and at last is accepted between.
    for (bundle, leaf), moments in together.items():
        assert accepts(bundle, leaf, moments[0])
        assert accepts(bundle, leaf, moments[-1])


def last_before(bundles: list[tuple[datetime, bytes]], when: datetime) -> bytes:
    """Return what was trusted at a time; before the first time, what was trusted first."""
    return next((text for at, text in reversed(bundles) if at <= when), bundles[0][1])


def end_of(leaf: bytes) -> datetime:
    return read_certificates(leaf)[0].not_valid_after_utc
