"""Facts about the repository itself: files, dependencies, pins."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FOLDERS = {"adacap": ROOT, "adacap-bench": ROOT / "packages" / "adacap-bench"}
PROJECTS = {
    name: tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, folder in FOLDERS.items()
}
PROJECT = PROJECTS["adacap"]
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
MACHINE_PATH = re.compile(r"/(root|work|home/[\w.-]+)/")


def repository_files() -> list[Path]:
    """Files git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def test_no_machine_path() -> None:
    found = []
    for path in repository_files():
        content = path.read_bytes()
        if b"\0" in content:
            continue  # not text
        for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
            if MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []


@pytest.mark.parametrize("top", ["root", "work", "home/someone"])
def test_a_machine_path_is_seen(top: str) -> None:
    assert MACHINE_PATH.search(f"see /{top}/notes.txt")


def test_core_dependencies() -> None:
    names = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    assert names == {
        "numpy",
        "rich",
        "safetensors",
        "scikit-learn",
        "scipy",
        "torch",
        "typer",
    }


def is_exact_and_public(pin: Requirement) -> bool:
    """Whether a pin is one version, not a local one such as +cpu, which few indexes have."""
    is_plain = pin.url is None and pin.extras == set() and pin.marker is None
    return is_plain and bool(re.fullmatch(r"==[^*+]+", str(pin.specifier)))


def test_each_pin_is_one_exact_public_version() -> None:
    assert [str(pin) for pin in PINS if not is_exact_and_public(pin)] == []


@pytest.mark.parametrize(
    "text",
    ["a>=1", "a==1.*", "a==2.4+cpu", "a==1,<2", "a", "a[b]==1", "a==1; sys_platform == 'linux'"],
)
def test_a_pin_that_is_not_exact_is_seen(text: str) -> None:
    assert not is_exact_and_public(Requirement(text))


def test_each_package_is_pinned_once() -> None:
    names = [canonicalize_name(pin.name) for pin in PINS]
    assert names == sorted(set(names))


def test_the_library_needs_nothing_of_the_benchmark() -> None:
    declared = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    names = {canonicalize_name(Requirement(text).name) for texts in declared for text in texts}
    assert (
        names & {"adacap-bench", "catboost", "lightgbm", "xgboost", "ray", "distributed"} == set()
    )


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        *(("adacap", extra) for extra in (None, "files", "onnx", "report")),
        *(("adacap-bench", extra) for extra in (None, "bench", "dask", "ray", "report")),
    ],
)
def test_pins_satisfy_the_declared_ranges(name: str, extra: str | None) -> None:
    project = PROJECTS[name]
    check_pins(project["optional-dependencies"][extra] if extra else project["dependencies"])


@pytest.mark.parametrize("group", ["test", "integration", "docs", "lint", "coverage"])
def test_pins_satisfy_the_ranges_of_a_group(group: str) -> None:
    check_pins(GROUPS[group])


def check_pins(declared: list[str]) -> None:
    versions = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in PINS}
    for requirement in map(Requirement, declared):
        if requirement.name in PROJECTS:
            continue  # installed from this repository
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} excludes {version}"


def test_a_unit_test_needs_neither_ray_nor_boosters() -> None:
    names = {Requirement(text).name for text in GROUPS["test"]}
    heavy = {Requirement(text).name for text in GROUPS["integration"]}
    assert {"ray", "catboost"} <= heavy
    assert names & heavy == set()
    for project in PROJECTS.values():
        assert {"test", "dev", "docs"} & set(project["optional-dependencies"]) == set()


@pytest.mark.parametrize("name", PROJECTS)
def test_each_distribution_links_to_the_paper(name: str) -> None:
    assert PROJECTS[name]["urls"]["Paper"] == "https://arxiv.org/abs/2205.07860"


def locked() -> dict[str, tuple[str, int]]:
    """Version and number of hashes of each package in the lock."""
    text = (ROOT / "requirements" / "ci.lock").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", text.strip())
    heads = [Requirement(block.split("\\\n")[0]) for block in blocks]
    return {
        canonicalize_name(head.name): (next(iter(head.specifier)).version, block.count("sha256:"))
        for head, block in zip(heads, blocks, strict=True)
    }


def test_the_lock_has_the_pins_and_their_hashes() -> None:
    """``make lock`` updates the file."""
    pins = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in PINS}
    found = locked()
    assert all(hashes > 0 for _, hashes in found.values())
    versions = {name: version for name, (version, _) in found.items()}
    assert versions == {name: pins[name] for name in versions}
    assert set(pins) - set(versions) == {"torch", "xgboost", "nvidia-nccl-cu12"}


def test_the_workflow_runs_what_ci_runs_on_each_claimed_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]
    claimed = [
        text.rpartition(" ")[2]
        for text in PROJECT["classifiers"]
        if re.search(r"Python :: 3\.\d", text)
    ]
    assert jobs["test"]["strategy"]["matrix"]["python"] == claimed
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    for command in (".ci/run", "make coverage", "make test-lowest", "make test-wheels"):
        assert command in commands


def test_hooks_bring_their_own_programs() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    revisions = {repo["repo"].rpartition("/")[2]: repo["rev"] for repo in config["repos"]}
    assert "local" not in revisions
    (ruff,) = (pin for pin in PINS if pin.name == "ruff")
    assert revisions["ruff-pre-commit"] == f"v{next(iter(ruff.specifier)).version}"


def test_skips_are_listed() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^test:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe is not None
    assert all(" -rs " in line for line in recipe[1].splitlines())
