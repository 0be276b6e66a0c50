"""Migrates documents: each by its kind, then what this driver's own rules say of the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import subject_of
from scheduler_core.frontends.migration.claims import CLAIM_KINDS, GROUP, migrated_object
from scheduler_core.frontends.migration.leftovers import note_leftovers
from scheduler_core.frontends.migration.pods import has_pod, migrated_pod
from scheduler_core.frontends.migration.values import Asked, Migration, NotCarried, Notes, mapping
from scheduler_core.frontends.validation.documents import POD_KINDS
from scheduler_core.frontends.validation.finding import Level
from scheduler_core.frontends.validation.validate import validate
from scheduler_core.model.names import DEFAULT_DRIVER


def migrate(
    documents: Sequence[Document], given: Mapping[str, Asked], usual: Sequence[Document]
) -> Migration:
    """Return the documents as this driver's users write them, and what is not carried over.

    Shape: ``given`` says what stands for a resource of a device plugin, by the resource's name; ``usual``
           are the classes that a cluster has.
    """
    taken = {_name(one.content) for one in documents if one.content.get("kind") == "ResourceClaimTemplate"}
    found: list[Document] = []
    not_carried: list[NotCarried] = []
    noted: dict[str, Notes] = {}
    for document in documents:
        notes = noted[document.place] = Notes()
        migrated = [*_migrated(document, given, taken, notes)]
        taken |= {_name(one.content) for one in migrated[:-1]}
        note_leftovers(migrated[-1].content, notes)
        found += migrated
        subject = subject_of(document.content, str(document.content.get("kind")))
        not_carried += [
            NotCarried(place=document.place, subject=subject, path=one.path, reason=one.reason)
            for one in notes.found
        ]
    refused = [one for one in _refused(found, usual) if not noted.get(one.place, Notes()).covers(one.path)]
    return Migration(found, (*not_carried, *refused))


def _name(obj: Mapping[str, Any]) -> tuple[str, str]:
    metadata = mapping(obj.get("metadata"))
    return str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _migrated(
    document: Document, given: Mapping[str, Asked], taken: set[tuple[str, str]], notes: Notes
) -> Iterator[Document]:
    """Yield a template that is new, if there is one, then the document."""
    obj = document.content
    if _is_of_dra(obj):
        yield Document(document.place, migrated_object(obj, notes))
    elif has_pod(obj):
        changed, template = migrated_pod(obj, given, taken, notes)
        if template is not None:
            yield Document(f"{document.place} (its new template)", template)
        yield Document(document.place, changed)
    else:
        yield document


def _is_of_dra(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") in CLAIM_KINDS and str(obj.get("apiVersion")).partition("/")[0] == GROUP


def _is_judged(obj: Mapping[str, Any]) -> bool:
    return _is_of_dra(obj) or (has_pod(obj) and obj.get("kind") in POD_KINDS)


def _refused(documents: Sequence[Document], usual: Sequence[Document]) -> Iterator[NotCarried]:
    """Yield what is wrong with the result. That a class is not among the documents is not wrong."""
    judged = [one for one in documents if _is_judged(one.content)]
    given = {_name(one.content) for one in judged if one.content["kind"] == "DeviceClass"}
    known = [one for one in usual if _name(one.content) not in given]
    places = {one.place for one in judged}
    for one in validate([*judged, *known], DEFAULT_DRIVER).findings:
        if one.level is Level.ERROR and one.place in places and not one.path.endswith(".deviceClassName"):
            yield NotCarried(place=one.place, subject=one.subject, path=one.path, reason=one.text)
