"""What the launcher decides before it touches anything: gates, files, images, node objects."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import replace
from pathlib import Path

import needs
import pytest
from launcher.build import CHECKOUT
from launcher.cgroups import make_own, own_group
from launcher.control_plane import apiserver, controllers, network_commands
from launcher.errors import LauncherError
from launcher.images import write_images
from launcher.install import install, machine_file
from launcher.machine import find_program, knows_oci_1_0_only
from launcher.namespaces import sweep
from launcher.network import make_network
from launcher.node_files import Runtime, cni_conflist, containerd_toml, kubelet_configuration, oci_runtime
from launcher.node_objects import documents
from launcher.settings import Settings, check, gates_argument, merged_gates, parse_gates
from launcher.tests import run_in_users_cluster
from launcher.welcome import welcome

from scheduler_core.model.ownership import CONTROLLER, OWNER, TAINT_EFFECT

SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "dgx-0"},
    "spec": {
        "nodeName": "dgx",
        "pool": {"name": "dgx", "generation": 1, "resourceSliceCount": 1},
        "devices": [],
    },
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "kube-controller-manager").touch()
    return Settings(
        folder=tmp_path,
        version="1.37",
        kubernetes=programs,
        kubectl=programs / "kubectl",
        containerd=programs,
    )


def runtime(**changes: object) -> Runtime:
    usual = {
        "program": "/usr/bin/crun",
        "snapshotter": "overlayfs",
        "is_cgroup_cured": False,
        "knows_oci_1_0_only": False,
    }
    return Runtime(**{**usual, **changes})


def test_gates_are_written_as_kubernetes_takes_them() -> None:
    assert parse_gates("A=true,B=false") == {"A": True, "B": False}
    assert gates_argument({"A": True, "B": False}) == ("--feature-gates=A=true,B=false",)
    assert gates_argument({}) == ()


@pytest.mark.parametrize("text", ["A", "A=yes", "=true"])
def test_a_gate_that_is_neither_on_nor_off_is_refused(text: str) -> None:
    with pytest.raises(LauncherError, match="write NAME=true or NAME=false"):
        parse_gates(text)


def test_what_needs_a_gate_that_is_off_goes_off_with_it() -> None:
    gates = merged_gates("1.37", {}, {"DRAPartitionableDevices": False})

    assert gates["DRADeviceCompatibilityGroups"] is False
    assert merged_gates("1.37")["DRADeviceCompatibilityGroups"] is True


@pytest.mark.parametrize(("version", "nodes", "objects"), [("1.35", 1, 0), ("1.37", 10, 0), ("1.37", 1, -1)])
def test_what_cannot_be_started_is_refused(version: str, nodes: int, objects: int) -> None:
    with pytest.raises(LauncherError, match="choose"):
        check(version, nodes, objects)


def test_settings_travel_as_json(settings: Settings) -> None:
    assert Settings.from_json(settings.to_json()) == settings


def test_every_node_has_an_address_and_pods_have_a_range_of_their_own(settings: Settings) -> None:
    two = Settings.from_json(settings.to_json().replace('"node_count": 1', '"node_count": 2'))

    commands = network_commands(two)
    ranges = [json.loads(cni_conflist(name))["plugins"][0]["ipam"]["ranges"] for name in two.node_names]

    assert "addr add 10.10.0.1/24" in commands
    assert "addr add 10.10.0.2/24" in commands
    assert ranges == [[[{"subnet": "10.244.1.0/24"}]], [[{"subnet": "10.244.2.0/24"}]]]


def test_a_control_plane_without_controllers_admits_pods_without_service_accounts(settings: Settings) -> None:
    (settings.kubernetes / "kube-controller-manager").unlink()

    argv = apiserver(settings, {}).argv

    assert "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition" in argv


def test_nobody_judges_nodes_that_are_objects_only(settings: Settings) -> None:
    objects = Settings.from_json(settings.to_json().replace('"node_objects": 0', '"node_objects": 3'))

    assert "--controllers=*,-node-lifecycle-controller" in controllers(objects, {}).argv
    assert "--controllers=*" in controllers(settings, {}).argv


def test_node_objects_can_be_the_controllers_from_the_beginning() -> None:
    slices = [
        {"spec": {"pool": {}, "devices": [{"name": "gpu-0"}]}},
        {"spec": {"pool": {}, "sharedCounters": []}},
    ]

    (_, node), (_, first), (_, second) = documents(1, slices, is_owned=True)

    assert node["metadata"]["labels"][OWNER] == CONTROLLER
    (device,) = first["spec"]["devices"]
    assert device["taints"] == [{"key": OWNER, "value": CONTROLLER, "effect": TAINT_EFFECT}]
    assert "devices" not in second["spec"]


def test_a_runtime_that_needs_no_cure_is_used_as_it_is(tmp_path: Path) -> None:
    script = oci_runtime(runtime())

    assert script == '#!/bin/sh\nexec /usr/bin/crun "$@"\n'


def test_the_cured_runtime_gets_an_older_bundle_and_no_cgroups(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"ociVersion":"1.3.0","root":{}}')
    script = tmp_path / "runtime"
    script.write_text(oci_runtime(runtime(program="echo", is_cgroup_cured=True, knows_oci_1_0_only=True)))

    answer = subprocess.run(
        ["sh", str(script), "create", "--bundle", str(tmp_path), "id"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout.split() == ["--cgroup-manager=disabled", "create", "--bundle", str(tmp_path), "id"]
    assert json.loads((tmp_path / "config.json").read_text())["ociVersion"] == "1.0.2"


def test_containerd_reads_its_file_and_the_kubelet_its_own(tmp_path: Path) -> None:
    toml = tomllib.loads(containerd_toml(tmp_path, runtime(snapshotter="native")))
    kubelet = json.loads(kubelet_configuration("node-2"))

    assert toml["plugins"]["io.containerd.cri.v1.images"]["snapshotter"] == "native"
    assert kubelet["containerRuntimeEndpoint"].removeprefix("unix://") == toml["grpc"]["address"]
    assert kubelet["address"] == "10.10.0.2"


@pytest.mark.parametrize(
    ("spec", "is_old"), [("1.0.0", True), ("1.0.2", True), ("1.1.0", False), ("1.2.0", False)]
)
def test_the_specification_that_crun_knows_is_read_from_its_version(spec: str, is_old: bool) -> None:
    assert knows_oci_1_0_only(f"crun version 1.8.1\ncommit: f8a0\nspec: {spec}\n+SYSTEMD\n") is is_old


def test_a_cluster_has_a_cgroup_only_where_controllers_are_handed_down(tmp_path: Path) -> None:
    given = tmp_path / "cgroup.subtree_control"
    made = [make_own(Path("/var/tmp/without"), tmp_path)]
    given.write_text("hugetlb\n")
    made.append(make_own(Path("/var/tmp/without"), tmp_path))
    given.write_text("cpuset cpu io memory hugetlb pids\n")

    made.append(make_own(Path("/var/tmp/mine"), tmp_path))

    assert made == [False, False, True]
    assert own_group(Path("/var/tmp/without"), tmp_path) is None
    assert own_group(Path("/var/tmp/mine"), tmp_path) == tmp_path / "mine"


def test_folders_of_dead_clusters_are_swept_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    dead, living, other = (tmp_path / name for name in ("tangram-cluster-a", "tangram-cluster-b", "other"))
    for folder in (dead, living, other):
        folder.mkdir()
        (folder / "lock").touch()

    with (living / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep(tmp_path, now=living.stat().st_mtime + 3600)

    assert {path.name for path in tmp_path.iterdir()} == {living.name, other.name}


def test_a_folder_whose_removal_was_cut_short_is_swept(tmp_path: Path) -> None:
    half_removed = tmp_path / "tangram-cluster-a"
    (half_removed / "logs").mkdir(parents=True)

    sweep(tmp_path, now=half_removed.stat().st_mtime + 3600)

    assert not half_removed.exists()


def test_a_folder_that_is_just_being_made_is_not_swept(tmp_path: Path) -> None:
    young = tmp_path / "tangram-cluster-a"
    young.mkdir()
    (young / "lock").touch()

    sweep(tmp_path, now=young.stat().st_mtime + 1)

    assert young.exists()


def test_what_others_put_under_our_name_is_not_swept(tmp_path: Path) -> None:
    target, link, strange = (
        tmp_path / name for name in ("precious", "tangram-cluster-a", "tangram-cluster-b")
    )
    (target / "inside").mkdir(parents=True)
    link.symlink_to(target)
    strange.mkdir()
    if os.geteuid() == 0:
        os.chown(strange, 65534, 65534)
    else:
        strange.rmdir()  # only root can make folders for others
        strange.touch()

    sweep(tmp_path, now=target.stat().st_mtime + 3600)

    assert link.is_symlink()
    assert strange.exists()
    assert (target / "inside").exists()


def test_a_network_that_cannot_be_made_is_one_message_with_what_ip_said(tmp_path: Path) -> None:
    ip = tmp_path / "ip"
    ip.write_text(
        "#!/bin/sh\ncat >/dev/null\necho 'RTNETLINK answers: Operation not supported' >&2\nexit 1\n"
    )
    ip.chmod(0o755)

    with pytest.raises(LauncherError) as told:
        make_network(str(ip), "link add node0 type veth\n")

    assert str(told.value) == (
        f"cannot make the cluster's network: {ip}: RTNETLINK answers: Operation not supported; "
        "the kernel must allow veth pairs in a network namespace"
    )


def test_the_images_are_the_same_bytes_for_the_same_busybox(tmp_path: Path) -> None:
    busybox = find_program("busybox")
    if busybox is None:
        needs.fail_or_skip(needs.CONTAINERS)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()

    one, two = (write_images(folder, busybox) for folder in folders)

    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    with tarfile.open(one[1]) as tar:
        manifest = json.loads(tar.extractfile("manifest.json").read())
    assert manifest[0]["RepoTags"] == ["localhost/busybox:1"]


def test_a_node_object_comes_before_its_slices_and_they_are_its_own() -> None:
    made = list(documents(2, [SLICE]))

    assert [document["metadata"]["name"] for _, document in made] == [
        "object-0",
        "object-0-0",
        "object-1",
        "object-1-0",
    ]
    assert made[3][1]["spec"]["nodeName"] == made[3][1]["spec"]["pool"]["name"] == "object-1"
    assert made[3][1]["spec"]["pool"]["resourceSliceCount"] == 1


@pytest.mark.parametrize("kubeconfig", ["/nowhere/config", "/etc/hosts:/etc/hostname"])
def test_a_kubeconfig_that_is_not_one_file_is_refused_before_any_test_runs(kubeconfig: str) -> None:
    with pytest.raises(LauncherError, match="name one existing file"):
        run_in_users_cluster(kubeconfig, ["--version"], lambda _: None)


def test_a_machine_is_a_shipped_name_or_a_file(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.touch()

    assert machine_file("dgx-a100").name == "dgx-a100.yaml"
    assert machine_file(str(own)) == own
    with pytest.raises(LauncherError, match="shipped are a100x2"):
        machine_file("dgx-a1000")


def test_with_the_controller_nodes_are_its_own_before_their_agents_publish(settings: Settings) -> None:
    said, log = list[str](), settings.folder / "kubectl.log"
    settings.kubectl.write_text(f'#!/bin/sh\nshift\necho "$@" >>{log}\n')
    settings.kubectl.chmod(0o755)

    install(
        replace(settings, with_controller=True, node_count=2, machine=machine_file("dgx-a100")), said.append
    )

    folder = settings.folder / "overlay"
    document = json.loads((folder / "kustomization.yaml").read_text())
    shown = [(folder / one).resolve().name for one in document["resources"]]
    assert shown == ["simulated", "controller", "multi-node-pools"]
    assert document["images"] == [
        {"name": "registry.invalid/tangram", "newName": "localhost/tangram", "newTag": "test"}
    ]
    assert (folder / "node.yaml").read_text() == machine_file("dgx-a100").read_text()
    assert log.read_text().splitlines() == [
        "label nodes node-1 node-2 tangram.dev/allocator=controller",
        f"apply -k {folder}",
        "--namespace tangram-system rollout status daemonset/tangram --timeout=120s",
        "--namespace tangram-system rollout status deployment/tangram-controller --timeout=120s",
    ]
    assert said == ["Tangram is installed, with its controller"]


def test_the_controller_is_refused_where_nothing_could_run_it() -> None:
    command = [sys.executable, str(CHECKOUT / "hack/cluster"), "run", "--controller", "--bare", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 1
    assert done.stderr == "cluster: cannot run the controller: --controller needs a real node with Tangram\n"


def test_the_welcome_names_files_that_exist(settings: Settings) -> None:
    lines = welcome(settings).splitlines()

    example = next(line for line in lines if "kubectl apply" in line).split()[-1]
    assert Path(example).is_file()


def test_the_welcome_waits_for_the_pod_before_it_reads_its_log(settings: Settings) -> None:
    text = welcome(settings)

    assert 0 < text.index("kubectl wait") < text.index("kubectl logs")
