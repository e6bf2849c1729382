"""The documents name commands, paths and headings that exist, and every module has a docstring."""

import ast
import re
import subprocess
from pathlib import Path

from tools.environment import ROOT

TRACKED = subprocess.run(
    ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("\n")
FILES = [ROOT / name for name in TRACKED if name and (ROOT / name).is_file()]
PYTHON = [file for file in FILES if file.suffix == ".py"]
DOCUMENTS = [file for file in FILES if file.suffix == ".md"]


def relative(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_every_module_has_a_docstring() -> None:
    missing = [relative(file) for file in PYTHON if not ast.get_docstring(ast.parse(file.read_text()))]
    assert not missing


def test_ci_runs_exactly_the_commands_that_the_readme_gives() -> None:
    section = (ROOT / "README.md").read_text().partition("## Working on it")[2]
    commands = re.findall(r"^make (.+)$", section, re.MULTILINE)
    assert commands == re.findall(r"^stage (.+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)


def test_every_make_command_in_the_documents_exists() -> None:
    goals = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    goals |= {f"bench-{file.stem}" for file in (ROOT / "bench").glob("[!_]*.py")}
    for document in DOCUMENTS:
        told = set(re.findall(r"`make ([a-z][\w-]*)", document.read_text()))
        assert told <= goals, f"{relative(document)} names {told - goals}"


def test_every_path_and_heading_that_the_documents_link_to_exists() -> None:
    for document in DOCUMENTS:
        text = document.read_text()
        missing = [link for link in re.findall(r"\]\(([^)#:]+)\)", text) if not (document.parent / link).exists()]
        assert not missing, f"{relative(document)} links to {missing}"
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
            target = (document.parent / link).resolve() if link else document
            assert anchor in anchors(target), f"{relative(document)} links to {link}#{anchor}"


def anchors(document: Path) -> set[str]:
    """Return what can be linked to, as GitHub has it."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pins_name_no_address() -> None:
    for name in ("constraints.txt", "build-constraints.txt", "tests/testbed/go/requirements.txt"):
        lines = (ROOT / name).read_text().splitlines()
        assert not [line for line in lines if "://" in line or line.startswith(("-i", "--index", "--find"))]
        assert all("--hash=sha256:" in line or "==" in line for line in lines if line.strip())
