"""The command line: its version, its help, its exit codes, and `penstock crds`, run as people run it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from penstock_operator.cli.version import disagreement
from penstock_operator.resources import KINDS
from tests.testbed.kubernetes.access import Access
from tests.testbed.run import ROOT

VERSION = (ROOT / "VERSION").read_text().strip()
PENSTOCK = Path(sys.executable).parent / "penstock"


def penstock(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, check=False, env=env)


def test_the_version_is_the_repositorys() -> None:
    outcome = penstock("--version")
    assert (outcome.stdout, outcome.stderr, outcome.returncode) == (f"penstock {VERSION}\n", "", 0)


def test_a_sibling_of_another_version_is_named_with_the_cure(tmp_path: Path) -> None:
    metadata = tmp_path / "penstock_worker-0.0.7.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: penstock-worker\nVersion: 0.0.7\n")
    outcome = penstock("--version", env={"PYTHONPATH": str(tmp_path)})
    assert outcome.returncode == 1
    assert outcome.stdout == f"penstock {VERSION}\n"
    assert f"penstock {VERSION} is installed beside penstock-worker 0.0.7." in outcome.stderr
    assert (
        f"hint: pip install penstock=={VERSION} penstock-jetstream=={VERSION} penstock-worker=={VERSION}"
        in outcome.stderr
    )


@pytest.mark.parametrize(
    ("versions", "complains"),
    [
        ({"penstock": "1.0", "penstock-jetstream": "1.0", "penstock-worker": "1.0"}, False),
        ({"penstock": "1.0", "penstock-jetstream": "1.0"}, False),
        ({"penstock": "1.0", "penstock-jetstream": "1.1"}, True),
    ],
    ids=["all of one version", "no worker installed", "another JetStream"],
)
def test_only_installed_siblings_of_another_version_are_complained_about(
    versions: dict[str, str], *, complains: bool
) -> None:
    assert bool(disagreement(versions)) is complains


@pytest.mark.parametrize(
    "command",
    [[], *([each] for each in ("plan", "apply", "get", "lag", "doctor", "operator", "crds", "completion"))],
    ids=lambda command: " ".join(command) or "penstock",
)
def test_help_has_an_example(command: list[str]) -> None:
    outcome = penstock(*command, "--help")
    assert outcome.returncode == 0
    assert "Examples:\n" in outcome.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["crds", "--check"],
        ["operator", "--probes", "here"],
        ["operator", "--probes", ":99999"],
        ["completion", "tcsh"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_code_2_and_a_sentence(arguments: list[str]) -> None:
    outcome = penstock(*arguments)
    assert outcome.returncode == 2
    assert "Error: " in outcome.stderr


def test_crds_are_printed_as_one_yaml_stream() -> None:
    outcome = penstock("crds")
    assert outcome.returncode == 0
    assert [crd["metadata"]["name"] for crd in yaml.safe_load_all(outcome.stdout)] == [kind.resource for kind in KINDS]


def test_crds_kept_in_a_folder_are_up_to_date_until_somebody_edits_them(tmp_path: Path) -> None:
    into = ("crds", "--into", str(tmp_path / "crds"))
    assert penstock(*into, "--check").returncode == 3
    assert penstock(*into).returncode == 0
    assert penstock(*into, "--check").returncode == 0
    edited = tmp_path / "crds" / f"{KINDS[0].resource}.yaml"
    edited.write_text(edited.read_text() + "# mine\n")
    outcome = penstock(*into, "--check")
    assert outcome.returncode == 3
    assert f"{edited} is out of date" in outcome.stderr
    assert edited.read_text().endswith("# mine\n")


def test_the_repositorys_crds_and_the_charts_are_up_to_date() -> None:
    charts = ROOT / "charts/penstock/files"
    for arguments in (
        ["--into", str(ROOT / "crds"), "--into", str(charts / "crds")],
        ["--policies", "--into", str(charts / "policies")],
    ):
        outcome = penstock("crds", "--check", *arguments)
        assert outcome.stderr == ""
        assert outcome.returncode == 0


def test_policies_are_printed_with_what_puts_them_in_force() -> None:
    found = [
        (each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(penstock("crds", "--policies").stdout)
    ]
    assert found == [
        (kind, f"recreate.{resource}")
        for resource in ("streams.penstock.dev", "consumers.penstock.dev")
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_taught_by_a_script_of_its_own(shell: str) -> None:
    outcome = penstock("completion", shell)
    assert outcome.returncode == 0
    assert f"_PENSTOCK_COMPLETE={shell}_complete" in outcome.stdout


def test_what_the_bash_script_asks_for_is_answered() -> None:
    asked = {**os.environ, "_PENSTOCK_COMPLETE": "bash_complete", "COMP_WORDS": "penstock c", "COMP_CWORD": "1"}
    assert penstock(env=asked).stdout.split() == ["plain,completion", "plain,crds"]


def kubectl_completions(*words: str) -> list[str]:
    program = PENSTOCK.with_name("kubectl_complete-penstock")
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout.splitlines()


def test_kubectl_is_told_how_to_complete() -> None:
    assert kubectl_completions("paus") == [
        "pause\tHave a queue group pull no more.",
        ":4",
    ]
    assert [line.split("\t")[0] for line in kubectl_completions("dead", "")] == [
        "discard",
        "list",
        "replay",
        "show",
        ":4",
    ]
    assert kubectl_completions("plan", "-f", "")[-1] == ":0"


def test_kubectl_runs_it_as_a_plugin_that_means_the_cluster(control_plane: Access, tmp_path: Path) -> None:
    path = f"{PENSTOCK.parent}:{os.environ['PATH']}"
    environment = {**control_plane.kubectl_environment(), "PATH": path, "KUBECONFIG": str(control_plane.kubeconfig)}

    def kubectl(*words: str | Path, **other: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [control_plane.kubectl_program, "penstock", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**environment, **other})

    told = kubectl("pause", "--help").stdout
    assert "Usage: kubectl penstock pause [OPTIONS] GROUP" in told
    assert "\n    kubectl penstock pause orders --wait\n" in told
    manifest = tmp_path / "nats.yaml"
    spec = {"servers": ["nats://nats.nats:4222"]}
    declared = {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connection", "metadata": {"name": "nats"}, "spec": spec}
    manifest.write_text(yaml.safe_dump(declared))
    refused = kubectl("plan", "-f", manifest, KUBECONFIG=str(tmp_path / "none"))
    assert "No way to a Kubernetes cluster was found" in refused.stderr
