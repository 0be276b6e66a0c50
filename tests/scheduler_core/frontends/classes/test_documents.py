"""Documents to classes, plain devices and pods."""

import pytest

from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.frontends.classes.annotation import annotations_of
from scheduler_core.frontends.classes.documents import decode_class_objects
from scheduler_core.frontends.classes.model import Use


def document(kind, name, place=None, **content):
    return Document(place or f"{kind}/{name}", {"kind": kind, "metadata": {"name": name}, **content})


def plain(node, *names, place=None):
    return document("NodeDevices", node, place, devices=[{"name": name} for name in names])


def pod(name, phase="Pending", uses=(), node=None, **limits):
    spec = {"containers": [{"name": "c", "resources": {"limits": limits}}], "nodeName": node}
    content = document("Pod", name, spec=spec, status={"phase": phase}).content
    metadata = {"name": name, "annotations": annotations_of(uses)}
    return Document(f"Pod/{name}", {**content, "metadata": metadata})


def refused(*documents, published=None):
    with pytest.raises(InvalidDocument) as error:
        decode_class_objects(documents, published or {})
    return str(error.value)


def test_documents_of_other_kinds_are_skipped():
    found = decode_class_objects([document("Node", "n"), document("ResourceClass", "any")], {})

    assert list(found.classes) == ["any"]


def test_the_devices_of_a_node_can_be_listed_in_several_documents():
    found = decode_class_objects([plain("n", "a"), plain("m", "a"), plain("n", "b")], {})

    assert {node: [one.name for one in devices] for node, devices in found.devices.items()} == {
        "n": ["a", "b"],
        "m": ["a"],
    }


@pytest.mark.parametrize("known", ["listed", "published"])
def test_a_plain_device_has_no_name_that_the_node_has_already(known, device):
    listed = [plain("n", "a", "b")] if known == "listed" else []
    published = {"n": [device("a"), device("b")]} if known == "published" else {}

    text = refused(*listed, plain("n", "b", "c", place="x.yaml:2"), published=published)

    assert text == "x.yaml:2: NodeDevices n: b: is a device there already"


def test_a_class_or_a_pod_given_twice_is_refused_by_its_place():
    one = document("ResourceClass", "any", "x.yaml:9")

    assert refused(document("ResourceClass", "any"), one) == "x.yaml:9: ResourceClass any: is given twice"
    assert refused(pod("p", any=1), pod("p", any=1)) == "Pod/p: Pod default/p: is given twice"


def test_pods_that_ask_or_hold_count_until_they_end():
    holds = [Use("any", "a", 1)]
    pods = [pod("asks", any=1), pod("holds", uses=holds, node="n"), pod("neither", cpu=1)]
    ended = [pod("failed", "Failed", any=1), pod("done", "Succeeded", uses=holds, node="n")]

    found = decode_class_objects([*pods, *ended], {})

    assert list(found.pods) == ["default/asks", "default/holds"]
    assert found.pods["default/asks"].grant is None
    assert found.pods["default/holds"].grant is not None
