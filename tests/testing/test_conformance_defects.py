# ruff: noqa: E501 - planted code keeps its lines
"""`check_problem` finds planted defects; the problem is that of docs/add-a-problem.md.

Without a defect it passes: tests/test_docs.py.
"""

import itertools
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dlsched
from dlsched.testing import Finding, check_heuristic, check_problem, worst_case

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-problem.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(
    re.findall(r"^<!-- not run: file (\S+\.py) -->\n```\w+\n(.*?)^```", PAGE, re.M | re.S)
)
PACKAGE = "dlsched_hosting"
MAIN, ORACLE, GENERATE, EXACT = (
    f"{PACKAGE}/{module}.py" for module in ("__init__", "oracle", "generate", "exact")
)
OWN = """
from dlsched import Bound, Claim
from dlsched.registry import method
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level, solve_levels
from . import model

CALLS = []


@method("hosting", kind="exact", preload=SOLVER_LIBRARIES)
def own(instance, run):
    '''Integer program. Exact because the model's solutions are the instance's.'''
    return solve_levels(instance, run, model)


@method("hosting", kind="bound", preload=SOLVER_LIBRARIES)
def relaxed(instance, run):
    '''Linear relaxation.'''
    return relax_first_level(instance, run, model)
"""
"""The module ``exact`` of a package with methods of its own in place of the standard ones."""
SOLVE = "return solve_levels(instance, run, model)"
RELAX = "return relax_first_level(instance, run, model)"
GREEDY = """
    left, placement = instance.gpus[0].memory if instance.gpus else 0, {}
    for m in instance.models:
        if m.memory <= left and m.id != "n001":
            placement[m.id] = instance.gpus[0].id
            left -= m.memory
    own = sum(m.requests for m in instance.models if m.id in placement)
    bounds = [[Bound(own, "claimed", "own")], [Bound(int(bool(placement)), "claimed", "own")]]
    return Claim(solution={"placement": placement}, status="optimal", bounds=bounds)
"""
DEFECTS: dict[str, tuple[str, str, str, str, str]] = {
    "no oracle": ("oracle", "def brute_force", "def enumerate_sets", "parts", "has no brute_force"),
    "a start that is no method": (
        "__init__", 'Start("densest_first")', 'Start("densest")',
        "methods", "there is no method 'densest', which PROBLEM names as starts; there are: milp, densest_first, lp (in dlsched_hosting.heuristics)",
    ),
    "a misspelt variable": (
        "model", "def build(", "NAMEABLE = {'z': 'the model is loaded'}\n\n\ndef build(",
        "variant_rows", "NAMEABLE has z, the model's variables are ['x', 'y']",
    ),
    "no proof": ("exact", "Exact because", "Optimal, as", "methods", "no 'Exact because'"),
    "generator ignores the seed": (
        "generate", "    sizes, requests =", "    rng = np.random.default_rng(0)\n    sizes, requests =",
        "generator", "seeds 1 and 2 generate the same",
    ),
    "generator has no seed": (
        "generate", "    sizes, requests =", "    rng = np.random.default_rng()\n    sizes, requests =",
        "generator", "seed 1 generates two different",
    ),
    "a field is not written": (
        "schema", "requests: Amount = 1", "requests: Amount = Field(1, exclude=True)",
        "json", ".json loses something",
    ),
    "a derived array": (
        "schema", "    placement: dict[Id, Id]\n",
        "    placement: dict[Id, Id]\n\n    @schema.derived\n    def weights(self):\n        return np.ones(1)\n",
        "immutable", "these can be changed: Solution.weights",
    ),
    "label of another instance": (
        "heuristics", '{"placement": placement}', '{"placement": placement, "instance": "other"}',
        "labels", 'the solution is for "other"',
    ),
    "explain refuses what can be solved": (
        "__init__", "cells=cells", 'cells=cells, explain=lambda instance: "too many" if len(instance.models) > 2 else ""',
        "infeasible", "explain says 'too many' of an instance that has a solution",
    ),
    "objective has another sense": ("model", "sense=pyo.maximize", "sense=pyo.minimize", "model_levels",
                                    "[('requests', 'min'), ('gpus', 'min')]"),
    "model has one GB less": ("model", "gpus[g].memory *", "(gpus[g].memory - 4) *",
                              "exact", "the optimum is"),
    "model excludes a solution": ("model", "gpus[g].memory *", "(gpus[g].memory - 4) *",
                                  "model_assign", "breaks memory"),
    "model has other requests": ("model", "float(models[i].requests) *", "(1 + float(models[i].requests)) *",
                                 "model_assign", "checker finds"),
    "a variable is not determined": ("model", "m.used = ", "m.used = pyo.Constraint()  # ",
                                     "variant_levels", "ends as feasible"),
    "read finds too little": (
        "model", "return Solution(placement={", "return Solution(placement={} if len(instance.models) > 2 else {",
        "model_assign", "the checker finds 0",
    ),
    "heuristic takes too much": ("heuristics", "memory >= model.memory", "memory >= model.memory - 1",
                                 "heuristics", "densest_first: memory at placement"),
    "bound is too strong": (
        "exact", RELAX, 'return Claim(status="no solution", bounds=[[Bound(0, "certified", "lp")]])',
        "bounds", "relaxed has the bounds",
    ),
    "result depends on names": ("exact", f"    {SOLVE}", GREEDY, "renaming", "own finds requests"),
    "result depends on the order": ("exact", f"    {SOLVE}", GREEDY.replace('"n001"', '""'),
                                    "order", "own finds requests"),
    "result differs from run to run": (
        "exact", SOLVE, 'CALLS.append(0)\n    return Claim(solution={"placement": {}}, status="feasible") if len(CALLS) % 2 else solve_levels(instance, run, model)',
        "deterministic", "['own']",
    ),
    "a limit is called infeasible": (
        "exact", SOLVE, f'if run.stop_reason():\n        return Claim(status="infeasible")\n    {SOLVE}',
        "limits", "own says infeasible",
    ),
    "a limit raises": (
        "exact", SOLVE, f'if run.stop_reason():\n        raise TimeoutError("stop")\n    {SOLVE}',
        "limits", "TimeoutError: stop",
    ),
    "the picture fails": ("__init__", "gpu.memory", "gpu.size", "picture", "has no attribute 'size'"),
}  # fmt: skip
"""By name: module, passage, what stands in its place, the check that fails, and its message."""
COUNT = itertools.count()
Install = Callable[..., str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unshrunk: None) -> Install:
    """Return a function that installs the package, each time under another name."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(files: dict[str, str], entry: str = "") -> str:
        """Write the files, and what pip writes beside them; return the problem's name."""
        name = f"hosting{next(COUNT)}"
        package = f"dlsched_{name}"
        points = f"[dlsched.problems]\n{entry or name} = {package}:PROBLEM\n"
        beside = {
            f"{package}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
            f"{package}-1.dist-info/entry_points.txt": points,
        }
        own = {
            file.replace(PACKAGE, package): text.replace(PACKAGE, package)
            for file, text in files.items()
        }
        for file, text in (own | beside).items():
            path = tmp_path / name / file
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text.replace('"hosting"', f'"{name}"'), encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / name)
        return name

    return write


def finding_of(name: str, check: str, **options: object) -> Finding:
    """Return the one finding of a check, with the package's name as on the page."""
    (found,) = check_problem(name, checks=[check], **options).findings
    assert found.kind == check
    return Finding(check, found.message.replace(f"dlsched_{name}", PACKAGE), found.instance)


def with_methods() -> dict[str, str]:
    """Return the page's files with an exact method and a bound of the package's own."""
    main = FILES[MAIN].replace("cells=cells", 'cells=cells, exact="own", bound="relaxed"')
    return FILES | {EXACT: OWN, MAIN: main}


def in_folders() -> dict[str, str]:
    """Return the page's files in folders, as those of larger packages."""
    homes = dict.fromkeys(("schema", "check", "oracle"), "definition") | {"generate": "instances"}
    pattern = rf"({PACKAGE}([./]))({'|'.join(homes)})\b"
    both = "\0".join(f"{name}\n{text}" for name, text in FILES.items())
    moved = re.sub(pattern, lambda m: f"{m[1]}{homes[m[3]]}{m[2]}{m[3]}", both)
    moved = moved.replace("heuristics.py", "heuristics/__init__.py")
    return dict(file.split("\n", 1) for file in moved.split("\0"))


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(install: Install, defect: str) -> None:
    """The check fails, and its message names the defect."""
    module, passage, planted, name, message = DEFECTS[defect]
    files, file = with_methods() if module == "exact" else FILES, f"{PACKAGE}/{module}.py"
    assert files[file].count(passage) == 1
    text = files[file].replace(passage, planted)
    if module == "schema":
        text = text.replace(
            "import model_validator", "import Field, model_validator\nimport numpy as np"
        )
    assert message in finding_of(install(files | {file: text}), name).message


def test_a_package_with_folders_is_found(install: Install) -> None:
    """The same modules may be in folders."""
    checks = ["parts", "methods", "generator", "proofs"]
    assert check_problem(install(in_folders()), checks=checks).passed == checks


def test_a_module_of_methods_that_nothing_imports_is_found(install: Install) -> None:
    """Methods are in exact and heuristics; a function elsewhere is registered by no one."""
    elsewhere = FILES[f"{PACKAGE}/heuristics.py"].replace("densest_first", "other_rule")
    name = install(FILES | {f"{PACKAGE}/structures/rules.py": elsewhere})
    said = finding_of(name, "methods").message
    assert said.startswith("not imported: structures/rules.py; methods are in")


def test_missing_and_doubled_modules_are_named_with_their_places(install: Install) -> None:
    """One run says what is to be written, or removed."""
    files = in_folders()
    missing = f"{PACKAGE}/definition/oracle.py"
    main = files[MAIN].replace("    cells=cells,\n", "")
    name = install({n: text for n, text in files.items() if n != missing} | {MAIN: main})
    said = finding_of(name, "parts").message
    assert f"no {PACKAGE}.draw, with draw; " in said
    assert f"no {PACKAGE}.definition.oracle, with brute_force" in said
    said = finding_of(install(files | {f"{PACKAGE}/oracle.py": files[missing]}), "parts").message
    assert said == f"{PACKAGE}.oracle hides {PACKAGE}.definition.oracle; remove one"


def test_a_problem_without_heuristics_skips_their_check(install: Install) -> None:
    """A check that had nothing to look at has not passed."""
    main = {MAIN: FILES[MAIN].replace('Start("densest_first"),', "")}
    name = install({n: text for n, text in FILES.items() if "heuristics" not in n} | main)
    assert check_problem(name, checks=["heuristics"]).skipped == ["heuristics"]


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({GENERATE: FILES[GENERATE].replace("range(5)", "[0]")},
         "none has two that differ first at requests, gpus"),
        ({ORACLE: f"{FILES[ORACLE]}\n\ndef solutions(instance):\n    raise KeyError('x')\n"},
         "could not be counted: KeyError"),
    ],
    ids=["one instance", "no solutions"],
)  # fmt: skip
def test_what_the_drawn_instances_cannot_show_is_a_hint(
    install: Install, files: dict[str, str], hint: str
) -> None:
    """What passes on instances without a choice is no evidence, and the report says so."""
    found = check_problem(install(FILES | files), checks=["exact"], examples=3)
    assert found.passed == ["exact"] and hint in str(found)


def test_the_card_s_missing_rows_are_named(install: Install, tmp_path: Path) -> None:
    """With how a row looks, and what the model has not."""
    name, card = install(FILES), tmp_path / "card.md"
    text = re.findall(r"file hosting.md -->\n```markdown\n(.*?)^```", PAGE, re.M | re.S)[0]
    card.write_text(text.replace("| `x` | Var |", "| `z` | Var |").replace("`used`", "`other`"))
    said = finding_of(name, "card", card=str(card)).message
    assert said.startswith("the card has no row for `used` Constraint, `x` Var of the model; ")
    card.write_text(
        f"{text}\n| component | kind | meaning |\n|---|---|---|\n| `z` | Var | no more |\n"
    )
    said = finding_of(name, "card", card=card).message
    assert said == "the card has rows for `z` Var, which the model has not"


def test_an_exception_is_shown_with_its_instance(install: Install) -> None:
    """Also where a problem's own code raises."""
    broken = {EXACT: OWN.replace(SOLVE, "return instance.models[0]")}
    name = install(with_methods() | broken)
    found = finding_of(name, "exact")
    assert "IndexError" in found.message and found.instance is not None


def test_the_name_of_the_entry_point_is_the_problem_s(install: Install) -> None:
    """The message has both names."""
    name = install(FILES, entry="misnamed")
    with pytest.raises(dlsched.OptionError, match=f"of that name; its name is '{name}'"):
        check_problem("misnamed")


def test_unknown_problems_and_missing_modules(install: Install) -> None:
    """A problem that does not exist, or has no strategy or oracle, is one clear error."""

    undrawn = install(FILES | {GENERATE: FILES[GENERATE].replace("SMALL", "LARGE")})
    unenumerated = install({name: text for name, text in FILES.items() if name != ORACLE})
    for search in (check_heuristic, worst_case):
        with pytest.raises(dlsched.UnknownName, match="no problem is called 'reclaimin'"):
            search("reclaimin", "lyra")
        with pytest.raises(dlsched.OptionError, match=r"no strategy for .*; pass one as"):
            search(undrawn, "densest_first")
        with pytest.raises(dlsched.OptionError, match="no oracle for"):
            search(unenumerated, "densest_first")
    with pytest.raises(dlsched.OptionError, match="pass oracle=False"):
        check_heuristic(unenumerated, "densest_first")
