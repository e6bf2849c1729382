"""The command line: its version, its help, its exit codes, its completion, and `penstock crds`."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from penstock_operator.cli.version import disagreement
from penstock_operator.resources import KINDS
from tests.operator.cli.commands import penstock
from tests.operator.running import PENSTOCK
from tests.operator.scene import manifest
from tests.testbed.kubernetes.access import Access
from tests.testbed.run import ROOT

VERSION = (ROOT / "VERSION").read_text().strip()
COMMANDS = ("plan", "apply", "get", "lag", "doctor", "operator", "crds", "completion")


def run(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, check=False, env=env)


@pytest.mark.interpreter
def test_version_is_that_of_the_repository() -> None:
    outcome = run("--version")
    assert (outcome.stdout, outcome.stderr, outcome.returncode) == (f"penstock {VERSION}\n", "", 0)


def test_other_version_of_another_distribution_is_reported_with_the_fix(tmp_path: Path) -> None:
    metadata = tmp_path / "penstock_worker-0.0.7.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: penstock-worker\nVersion: 0.0.7\n")
    outcome = run("--version", env={"PYTHONPATH": str(tmp_path)})
    assert (outcome.returncode, outcome.stdout) == (1, f"penstock {VERSION}\n")
    assert f"penstock {VERSION} is installed beside penstock-worker 0.0.7." in outcome.stderr
    fix = f"pip install penstock=={VERSION} penstock-jetstream=={VERSION} penstock-worker=={VERSION}"
    assert f"hint: {fix}" in outcome.stderr


def test_only_installed_distributions_of_another_version_disagree() -> None:
    assert not disagreement({"penstock": "1.0", "penstock-jetstream": "1.0", "penstock-worker": "1.0"})
    assert not disagreement({"penstock": "1.0", "penstock-jetstream": "1.0"})
    assert disagreement({"penstock": "1.0", "penstock-jetstream": "1.1"})


def test_help_has_an_example(subtests: pytest.Subtests) -> None:
    for command in ([], *([each] for each in COMMANDS)):
        with subtests.test(command=command):
            outcome = penstock(*command, "--help")
            assert outcome.exit_code == 0
            assert "Examples:\n" in outcome.output


WRONG_USAGE = (
    "fly",
    "crds --check",
    "operator --probes here",
    "operator --probes :99999",
    "completion tcsh",
    "plan",
    "apply",
    "get --home local",
    "get pods",
    "doctor --server http://x",
    f"doctor -f x --creds {__file__}",
    "doctor --creds nowhere",
    "dead replay -f nowhere",
    "dead replay 1 --all -f nowhere",
    "dead discard --all --where reason=* -f nowhere",
    "dead replay --where x -f nowhere",
)


def test_wrong_usage_ends_with_code_2_and_a_sentence(subtests: pytest.Subtests) -> None:
    for command in WRONG_USAGE:
        with subtests.test(command):
            outcome = penstock(*command.split())
            assert outcome.exit_code == 2
            assert "Error: " in outcome.stderr
    assert run("fly").returncode == 2


def test_crds_in_a_folder_are_up_to_date_until_one_is_edited(tmp_path: Path) -> None:
    into = ("crds", "--into", str(tmp_path / "crds"))
    assert [penstock(*into, *more).exit_code for more in (["--check"], [], ["--check"])] == [3, 0, 0]
    edited = tmp_path / "crds" / f"{KINDS[0].resource}.yaml"
    edited.write_text(edited.read_text() + "# mine\n")
    outcome = penstock(*into, "--check")
    assert outcome.exit_code == 3
    assert f"{edited} is out of date" in outcome.stderr
    assert edited.read_text().endswith("# mine\n")


@pytest.mark.interpreter
def test_crds_of_the_repository_and_of_the_chart_are_up_to_date() -> None:
    files = ROOT / "charts/penstock/files"
    for arguments in (
        ("--into", str(ROOT / "crds"), "--into", str(files / "crds")),
        ("--policies", "--into", str(files / "policies")),
    ):
        outcome = penstock("crds", "--check", *arguments)
        assert (outcome.stderr, outcome.exit_code) == ("", 0)


def test_crds_and_policies_with_their_bindings_are_printed_as_one_yaml_stream() -> None:
    outcome = penstock("crds")
    assert outcome.exit_code == 0
    assert [crd["metadata"]["name"] for crd in yaml.safe_load_all(outcome.stdout)] == [kind.resource for kind in KINDS]
    printed = yaml.safe_load_all(penstock("crds", "--policies").stdout)
    assert [(each["kind"], each["metadata"]["name"]) for each in printed] == [
        (kind, f"recreate.{resource}")
        for resource in ("streams.penstock.dev", "consumers.penstock.dev")
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    ]


def test_shells_have_completion_scripts_and_their_questions_are_answered() -> None:
    for shell in ("bash", "zsh", "fish"):
        outcome = penstock("completion", shell)
        assert outcome.exit_code == 0
        assert f"_PENSTOCK_COMPLETE={shell}_complete" in outcome.stdout
    offered = {
        "penstock c": ["plain,completion", "plain,crds"],
        "penstock up -f man": ["file,man"],
        "penstock plan -f man": ["file,man"],
        "penstock dead list --where co": ["plain,condition="],
    }
    for words, expected in offered.items():
        asked = {"_PENSTOCK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        assert run(env={**os.environ, **asked}).stdout.split() == expected


def kubectl_completions(*words: str) -> list[str]:
    program = PENSTOCK.with_name("kubectl_complete-penstock")
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout.splitlines()


def test_kubectl_plugin_completes_commands() -> None:
    assert kubectl_completions("paus") == ["pause\tHave a queue group pull no more.", ":4"]
    verbs = [line.partition("\t")[0] for line in kubectl_completions("dead", "")]
    assert verbs == ["discard", "list", "replay", "show", ":4"]
    assert kubectl_completions("plan", "-f", "")[-1] == ":0"


@pytest.mark.full
def test_kubectl_runs_penstock_as_a_plugin_that_means_the_cluster(control_plane: Access, tmp_path: Path) -> None:
    path = f"{PENSTOCK.parent}:{os.environ['PATH']}"
    environment = {**control_plane.kubectl_environment(), "PATH": path, "KUBECONFIG": str(control_plane.kubeconfig)}

    def kubectl(*words: str | Path, **other: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [control_plane.kubectl_program, "penstock", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**environment, **other})

    told = kubectl("pause", "--help").stdout
    assert "Usage: kubectl penstock pause [OPTIONS] GROUP" in told
    assert "\n    kubectl penstock pause orders --wait\n" in told
    file = tmp_path / "nats.yaml"
    file.write_text(yaml.safe_dump(manifest("Connection", "nats", {"servers": ["nats://nats.nats:4222"]})))
    refused = kubectl("plan", "-f", file, KUBECONFIG=str(tmp_path / "none"))
    assert "No way to a Kubernetes cluster was found" in refused.stderr
