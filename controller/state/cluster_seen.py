"""The cluster as the controller knows it: nodes, pods, claims and devices, changed object by object.

Takes values of ``controller.model``; keeps a ``ClusterState`` of the core up to date. Each change returns
what it may help: the pods that it concerns, and whether pods that did not fit may fit now. Pure; for one
thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.fit.rooms import Rooms
from controller.model.claims import ClaimSeen
from controller.model.nodes import ClusterNode
from controller.model.pods import Pod
from controller.model.slices import SliceSeen
from controller.state.owned_nodes import OwnedNodes
from scheduler_core.base.features import ALL, Features
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, DeviceClass
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import OnNode
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change may help. Shape: ``pods`` are UIDs; ``is_room`` says that others may fit now too."""

    pods: tuple[str, ...] = ()
    is_room: bool = False


class ClusterSeen:
    """Everything that decisions depend on.

    Shape: ``waiting`` are the pods without a node, by UID; ``claims`` and ``templates`` by namespace and
           name; ``problems`` are slices that cannot be read, by name; ``sees_all`` where devices of no
           single node are in ``devices`` too, for showing them; ``unserved_classes`` has for resource
           classes, by their names, why pods get nothing of them; ``hardware`` is another number after each
           change of a slice or of a node's owner; ``doubles`` are devices that several claims hold by
           somebody's mistake.
    """

    def __init__(self, driver: str, features: Features = ALL, *, sees_all: bool = False) -> None:
        self.driver = driver
        self.sees_all = sees_all
        self.devices = ClusterState(features=features, projects=True)
        self.rooms = Rooms()
        self.owned = OwnedNodes()
        self.nodes: dict[str, ClusterNode] = {}
        self.waiting: dict[str, Pod] = {}
        self.claims: dict[ClaimRef, ClaimSeen] = {}
        self.templates: dict[ClaimRef, Mapping[str, Any]] = {}
        self.problems: dict[str, str] = {}
        self.tables: dict[str, NodeTable] = {}
        self.unserved_classes: dict[str, str] = {}
        self.hardware = 0
        self.doubles: dict[DeviceId, tuple[ClaimRef, ...]] = {}
        self._alive: set[str] = set()
        self._users: dict[ClaimRef, set[str]] = {}
        self._assumed: dict[str, str] = {}
        self._reserved: dict[str, set[ClaimRef]] = {}

    @property
    def node_problems(self) -> Mapping[str, str]:
        """Return why tables of partitions cannot be read, by node."""
        return {name: table.problem for name, table in self.tables.items() if table.problem}

    # Nodes and slices

    def set_node(self, node: ClusterNode) -> Effect:
        """Add a node or replace it."""
        known = self.nodes.get(node.name)
        if known is None or known.wants_controller != node.wants_controller:
            self.hardware += 1
        self.nodes[node.name] = node
        self.rooms.set_node(node.name, node.room)
        self.owned.want(node.name, is_wanted=node.wants_controller)
        self.devices.set_node(node.core)
        self.tables.pop(node.name, None)
        if not node.table.is_empty:
            self.tables[node.name] = node.table
        return Effect(is_room=True)

    def remove_node(self, name: str) -> Effect:
        """Forget a node."""
        self.hardware += 1
        self.nodes.pop(name, None)
        self.tables.pop(name, None)
        self.rooms.remove_node(name)
        self.owned.want(name, is_wanted=False)
        self.devices.remove_node(name)
        return Effect(is_room=True)  # the reason of refused pods is another one now

    def set_slices(self, slices: list[SliceSeen]) -> Effect:
        """Add slices or replace them. Those of one pool that follow each other are added together.

        Pools that no node owns are left out unless all is seen: kube-scheduler allocates their devices.
        """
        self.hardware += 1
        contents: list[V1Slice | CompositeSlice] = []
        for one in slices:
            if one.is_multi_node and not self.sees_all:
                continue
            content = one.taken()
            self.owned.put(one.name, one.node, one.is_owned)
            self.problems.pop(one.name, None)
            if content is not None:
                contents.append(content)
                continue
            if one.problem:
                self.problems[one.name] = one.problem
            self._drop(one.name)
        self.devices.upsert_slices(contents)
        return Effect(is_room=True)

    def remove_slice(self, name: str) -> Effect:
        """Forget a slice."""
        self.hardware += 1
        self.owned.remove(name)
        self.problems.pop(name, None)
        self._drop(name)
        return Effect(is_room=True)  # what is left may be complete now

    def _drop(self, name: str) -> None:
        self.devices.remove_v1_slice(name)
        self.devices.remove_composite_slice(name)

    def set_class(self, device_class: DeviceClass) -> Effect:
        """Add a device class or replace it."""
        self.devices.set_class(device_class)
        return Effect(is_room=True)

    def remove_class(self, name: str) -> Effect:
        """Forget a device class."""
        self.devices.remove_class(name)
        return Effect(is_room=True)  # the reason of refused pods is another one now

    # Pods

    def set_pod(self, pod: Pod) -> Effect:
        """Add a pod or replace it."""
        if pod.is_over:
            return self.remove_pod(pod.uid)
        self._alive.add(pod.uid)
        if pod.node:
            known = self.waiting.get(pod.uid)
            self._stop_waiting(pod.uid)
            is_moved = known is not None and self.rooms.node_of(pod.uid) not in (None, pod.node)
            self.rooms.put(pod.uid, pod.node, pod.needs)
            return Effect(is_room=is_moved)
        known = self.waiting.get(pod.uid)
        if known is not None:
            self._unlink(known)
        self.waiting[pod.uid] = pod
        for claim in pod.claims:
            if claim.claim is not None:
                self._users.setdefault(ClaimRef(pod.ref.namespace, claim.claim), set()).add(pod.uid)
        self._assume(pod)
        return Effect(pods=(pod.uid,))

    def remove_pod(self, uid: str) -> Effect:
        """Forget a pod that is gone or has ended."""
        self._alive.discard(uid)
        self._stop_waiting(uid)
        self._assumed.pop(uid, None)
        node = self.rooms.take_away(uid)
        return Effect(is_room=node in self.owned if node is not None else False)

    def is_alive(self, uid: str) -> bool:
        """Whether a pod exists and has not ended."""
        return uid in self._alive

    def users(self, claim: ClaimRef) -> tuple[Pod, ...]:
        """Return the pods without a node that use a claim."""
        return tuple(self.waiting[uid] for uid in sorted(self._users.get(claim, ())))

    def assume(self, pod: Pod, node: str) -> None:
        """Count a pod on the node that was chosen for it, until it is bound or its claims say otherwise."""
        self._assumed[pod.uid] = node
        self.rooms.put(pod.uid, node, pod.needs)

    def forget_assumed(self, uid: str) -> None:
        """Count a pod no longer on the node that was chosen for it, unless its claims say so."""
        self._assumed.pop(uid, None)
        pod = self.waiting.get(uid)
        if pod is not None:
            self._assume(pod)

    # Claims

    def set_claim(self, claim: ClaimSeen) -> Effect:
        """Add a claim or replace it."""
        before = self.claims.get(claim.ref)
        self._unreserve(before)
        self.claims[claim.ref] = claim
        for consumer in claim.consumers:
            self._reserved.setdefault(consumer.uid, set()).add(claim.ref)
        is_freed = False
        if before is not None and before.held is not None and before.uid != claim.uid:
            is_freed = self.release(before.held)
        if claim.held is not None:
            self.devices.hold(claim.held)
            if before is not None and before.held is not None and self.doubles:
                self._count_holders(before.held)  # it had others: a watch may miss what was between
            self._count_holders(claim.held)
        elif before is not None and before.held is not None and before.uid == claim.uid:
            is_freed = self.release(before.held)
        return self._claim_changed(claim.ref, is_freed=is_freed)

    def remove_claim(self, ref: ClaimRef) -> Effect:
        """Forget a claim that is gone."""
        before = self.claims.pop(ref, None)
        self._unreserve(before)
        is_freed = before is not None and before.held is not None and self.release(before.held)
        return self._claim_changed(ref, is_freed=is_freed)

    def is_of_driver(self, claim: ClaimSeen) -> bool:
        """Whether a claim is allocated and all its devices are of our driver."""
        results = () if claim.held is None else claim.held.results
        return bool(results) and all(one.device.driver == self.driver for one in results)

    def is_ours(self, claim: ClaimSeen) -> bool:
        """Whether a claim is allocated, and all its devices are of our driver, on nodes of the controller."""
        if claim.held is None or not self.is_of_driver(claim):
            return False
        return all(self._is_owned(one.device) for one in claim.held.results)

    def _is_owned(self, device: DeviceId) -> bool:
        owners = tuple(self.devices.views.owners((device.driver, device.pool)))
        return bool(owners) and all(name in self.owned for name in owners)

    def unused_claims(self, pod: str) -> tuple[ClaimSeen, ...]:
        """Return the allocated claims of our driver that are reserved for a pod and for none that exists.

        A claim that is reserved for anything but pods is used.
        """
        found = (self.claims[ref] for ref in sorted(self._reserved.get(pod, ()), key=str))
        return tuple(
            claim
            for claim in found
            if self.is_ours(claim)
            and all(one.resource == "pods" and not self.is_alive(one.uid) for one in claim.consumers)
        )

    def _unreserve(self, claim: ClaimSeen | None) -> None:
        for consumer in () if claim is None else claim.consumers:
            refs = self._reserved.get(consumer.uid)
            if claim is not None and refs is not None:
                refs.discard(claim.ref)
                if not refs:
                    del self._reserved[consumer.uid]

    def release(self, held: AllocatedClaim) -> bool:
        """Give back what a claim holds; return whether it was known."""
        holder = holder_of(held)
        if self.devices.assignments.get(holder) is None:
            return False
        self.devices.release(holder)
        if self.doubles:
            self._count_holders(held)
        return True

    def _count_holders(self, held: AllocatedClaim) -> None:
        """Note which devices of a claim other claims hold too. Shares and admin access do not count."""
        for one in held.results:
            if one.admin_access or one.share_id is not None:
                continue
            holders = self.devices.holders(one.device)
            refs = tuple(each.ref for each in holders if each.ref in self.claims)
            if len(set(refs)) > 1:
                self.doubles[one.device] = refs
            else:
                self.doubles.pop(one.device, None)

    def _claim_changed(self, ref: ClaimRef, *, is_freed: bool) -> Effect:
        users = tuple(sorted(self._users.get(ref, ())))
        for uid in users:
            self._assume(self.waiting[uid])
        return Effect(pods=users, is_room=is_freed)

    # What waiting pods are counted on

    def _assume(self, pod: Pod) -> None:
        """Count a waiting pod on the one node that its allocated claims, or our choice, leave."""
        node = self._assumed.get(pod.uid) or self._node_of_claims(pod)
        if node is None:
            self.rooms.take_away(pod.uid)
        else:
            self.rooms.put(pod.uid, node, pod.needs)

    def _node_of_claims(self, pod: Pod) -> str | None:
        for one in pod.claims:
            claim = None if one.claim is None else self.claims.get(ClaimRef(pod.ref.namespace, one.claim))
            if claim is not None and claim.usable_from is not None:
                node = only_node(claim)
                if node is not None:
                    return node
        return None

    def _stop_waiting(self, uid: str) -> None:
        known = self.waiting.pop(uid, None)
        if known is not None:
            self._unlink(known)

    def _unlink(self, pod: Pod) -> None:
        for claim in pod.claims:
            if claim.claim is not None:
                ref = ClaimRef(pod.ref.namespace, claim.claim)
                users = self._users.get(ref, set())
                users.discard(pod.uid)
                if not users:
                    self._users.pop(ref, None)


def only_node(claim: ClaimSeen) -> str | None:
    """Return the only node from which an allocation can be used, None where there may be others."""
    match claim.usable_from:
        case OnNode(name=name):
            return name
        case None:
            return None
        case selection:
            names = [
                one.values
                for one in getattr(selection, "requirements", ())
                if one.is_field and one.operator == "In"
            ]
            return names[0][0] if names and len(names[0]) == 1 else None
