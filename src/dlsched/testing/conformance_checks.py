"""The checks of `check_problem`: each returns a finding, raises `Broken`, or returns ``None``."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from dlsched import api, extras
from dlsched.api.evaluation import evaluate_claim
from dlsched.errors import OptionError
from dlsched.proofs.prove import ProofFailed
from dlsched.registry import Kind, Method, Problem, call, layout
from dlsched.results.objective import SOLVER_PRECISION, TOLERANCE, Objective, relative_gap
from dlsched.results.refutation import beaten_level
from dlsched.results.result import Result, Status, Termination
from dlsched.run import Run
from dlsched.schema.document import Document
from dlsched.schema.envelope import Instance
from dlsched.schema.frozen import FrozenDict, derived
from dlsched.schema.solution import Solution
from dlsched.testing.documents import run_blocks
from dlsched.testing.heuristic import check_heuristic
from dlsched.testing.search import Finding, first_finding
from dlsched.testing.transformations import renamed, reordered
from dlsched.testing.trials import Broken

_REQUIRED = {
    "schema": ("Instance", "Solution"),
    "check": ("LEVELS", "check", "explain"),
    "model": ("build", "read", "assign"),
    "generate": ("generate", "examples"),
    "draw": ("draw",),
    "oracle": ("brute_force",),
    "strategy": ("instances",),
}
_PROVED = (Termination.PROVED, Termination.CLAIMED)
"""How an exact method ends that states an optimum; another package's only claims it."""


_MOST_SECONDS = 60
"""For a proof of the example."""


@dataclass(frozen=True)
class Subject:
    """The problem under test, how many instances to draw, and its two documents."""

    problem: Problem
    examples: int
    card: Path | None = None
    page: Path | None = None

    def methods(self, *kinds: Kind) -> list[Method]:
        """Return its own methods of these kinds, without those of other packages."""
        home = f"{self.problem.package}."
        known = self.problem.methods.values()
        return [m for m in known if m.kind in kinds and f"{m.home}.".startswith(home)]

    def instances(self) -> st.SearchStrategy[Instance]:
        """Return the strategy, with the options of each entry of its module's ``VARIATIONS``."""
        strategy = self.problem.module("strategy")
        variations: Sequence[dict[str, Any]] = getattr(strategy, "VARIATIONS", ({},))
        return st.one_of([strategy.instances(**options) for options in variations])

    def each(self, check: Callable[[Any], None]) -> Finding | None:
        """Return the smallest drawn instance for which a check raises `Broken`."""
        return first_finding(check, self.instances(), self.examples)

    def optimum(self, instance: Instance) -> Objective | None:
        """Return the optimum by brute force."""
        best: Objective | None = self.problem.module("oracle").brute_force(instance)
        return best

    def example(self) -> Instance:
        """Return the first of the generator's examples."""
        instance: Instance = self.problem.module("generate").examples()[0]
        return instance

    def solve(self, instance: Instance, *kinds: Kind, **limits: Any) -> list[Result]:
        """Return the results of the methods of these kinds that take the instance.

        A method that raises `OptionError` does not take it; the problem's choice of exact method
        must.
        """
        results = []
        needed = self.problem.resolve("exact", instance).name
        for method in self.methods(*kinds):
            try:
                results.append(api.solve(instance, method.name, **limits))
            except OptionError:
                require(method.name != needed, f"{needed}, chosen for {instance.name}, refuses it")
        return results

    def feasible(self, instance: Instance) -> list[Solution]:
        """Return the solutions of the heuristics."""
        results = self.solve(instance, Kind.HEURISTIC, Kind.BASELINE)
        return [r.solution for r in results if r.solution is not None]


def require(condition: object, message: str) -> None:
    """Raise `Broken` unless the condition holds."""
    if not condition:
        raise Broken("conformance", message)


def parts(subject: Subject) -> None:
    """The package has its modules, and each of these its functions."""
    for module, names in _REQUIRED.items():
        loaded = subject.problem.module(module)
        missing = [name for name in names if not hasattr(loaded, name)]
        require(not missing, f"{subject.problem.package}.{module} has no {', '.join(missing)}")
    size = subject.problem.size
    require(hasattr(subject.example(), size), f"instances have no field {size!r}, PROBLEM.size")


def layers(subject: Subject) -> None:
    """The package's folders import only those above them, in the order of `layout.FOLDERS`."""
    upward = layout.upward_imports(subject.problem.package)
    require(not upward, "; ".join(upward))


def methods(subject: Subject) -> None:
    """There are the methods that PROBLEM names, and exact ones say why they are exact."""
    owner = subject.problem
    for name, kinds in ((owner.exact, ["exact"]), (owner.bound, ["bound", "exact"])):
        require(name in owner.methods, f"there is no method {name!r}, which PROBLEM names")
        require(owner.methods[name].kind in kinds, f"{name} is not of kind {' or '.join(kinds)}")
    for method in subject.methods(*Kind):
        require(method.summary, f"{method.name} has no docstring")
    for method in subject.methods(Kind.EXACT):
        text = " ".join((method.function.__doc__ or "").split()).lower()
        require("exact because" in text, f"the docstring of {method.name} has no 'Exact because'")


def generator(subject: Subject) -> None:
    """The same seed generates the same instance, another seed another one."""
    name = subject.problem.name
    first, again, other = (api.generate(name, seed) for seed in (1, 1, 2))
    require(first == again, "seed 1 generates two different instances")
    require(first.sha256 != other.sha256, "seeds 1 and 2 generate the same instance")
    names = [e.name for e in subject.problem.module("generate").examples()]
    require(names and len(set(names)) == len(names), f"examples() are named {names}")


def json_round_trip(subject: Subject) -> Finding | None:
    """Instances, solutions and results are the same after writing and reading."""
    owner = subject.problem

    def check(instance: Instance) -> None:
        read = owner.instance.parse(instance.to_data(), "the copy")
        require(read == instance and read.sha256 == instance.sha256, "to_data loses something")
        for method in ("exact", *(m.name for m in subject.methods(Kind.HEURISTIC)[:1])):
            try:
                result = api.solve(instance, method)
            except OptionError:  # a method for another kind of instance
                continue
            require(api.read_result(result.to_json()) == result, f"the result of {method} changes")

    with tempfile.TemporaryDirectory() as folder:
        for ending in (".json", ".json.gz"):
            path = Path(folder) / f"instance{ending}"
            api.save(subject.example(), path)
            require(api.load(path) == subject.example(), f"{ending} loses something")
    return subject.each(check)


def immutable(subject: Subject) -> None:
    """No list, set, plain dict or writable array can be reached from an instance or a solution."""
    instance = subject.example()
    documents: list[Document] = [instance, *subject.feasible(instance)]
    changeable = []
    for document in documents:
        for path, value in _containers(document, type(document).__name__):
            if type(value) is not FrozenDict:
                changeable.append(path)
    require(not changeable, f"these can be changed: {', '.join(changeable)}")


def _containers(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield containers and writable arrays in a document with their paths, derived ones too."""
    if isinstance(value, Document):
        for name in dir(type(value)):
            if isinstance(getattr(type(value), name), derived):
                getattr(value, name)
        for name, entry in vars(value).items():
            yield from _containers(entry, f"{path}.{name}")
    elif isinstance(value, (dict, list, set)):
        yield path, value
        if isinstance(value, dict):
            for key, entry in value.items():
                yield from _containers(entry, f"{path}[{key!r}]")
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        yield path, value
    elif isinstance(value, tuple):
        for i, entry in enumerate(value):
            yield from _containers(entry, f"{path}[{i}]")


def labels(subject: Subject) -> None:
    """Every method's solution has the labels of its run; another instance's is refused."""
    instance = subject.example()
    for result in subject.solve(instance, Kind.EXACT, Kind.HEURISTIC, Kind.BASELINE):
        solution = result.solution
        if solution is None:
            continue
        said = (solution.instance, solution.instance_sha256, solution.method)
        wanted = (instance.name, instance.sha256, result.method)
        require(said == wanted, f"the solution of {result.method} has the labels {said}")
        other = solution.model_copy(update={"instance": "another"})
        kinds = [v.kind for v in subject.problem.check(instance, other).violations]
        require(kinds == ["instance"], f"a solution of another instance has violations {kinds}")


def infeasible(subject: Subject) -> Finding | None:
    """An instance without a solution is called infeasible, with the reason, by every method."""

    def check(instance: Instance) -> None:
        if subject.optimum(instance) is not None:
            why = subject.problem.explain(instance)
            require(not why, f"explain says {why!r} of an instance that has a solution")
            return
        for result in subject.solve(instance, Kind.EXACT):
            infeasible = result.status is Status.INFEASIBLE
            require(infeasible, f"{result.method} says {result.status}; there is no solution")
            require(result.reason, f"{result.method} gives no reason")

    for instance in getattr(subject.problem.module("strategy"), "infeasible", list)():
        require(subject.optimum(instance) is None, f"{instance.name} has a solution")
        check(instance)
    return subject.each(check)


def model_levels(subject: Subject) -> None:
    """The model's objectives are the levels: names, senses and order."""
    import pyomo.core as pyo

    senses = {pyo.minimize: "min", pyo.maximize: "max"}
    model = api.model(subject.example())
    objectives = [(o.local_name, senses[o.sense]) for o in model.component_objects(pyo.Objective)]
    wanted = [(level.name, level.sense) for level in subject.problem.levels]
    require(objectives == wanted, f"the model's objectives are {objectives}, the levels {wanted}")


def model_assign(subject: Subject) -> Finding | None:
    """Solutions satisfy the model, which has their objective; an optimal one to nine digits.

    A model may leave out what is dominated, and is then better than a heuristic's solution. The
    levels in its module's ``ESTIMATED`` are bounds, which the method refines.
    """
    module = subject.problem.module("model")
    estimated = getattr(module, "ESTIMATED", ())

    def check(instance: Instance) -> None:
        best = api.solve(instance).solution
        for solution in filter(None, [best, *subject.feasible(instance)]):
            objective = subject.problem.check(instance, solution).objective
            assert objective is not None
            model = module.build(instance)
            module.assign(instance, model, solution)
            _require_feasible(model)
            for level, value in objective.pairs():
                component = getattr(model, level.name)
                said = _value(component)
                near = relative_gap(value, said) <= SOLVER_PRECISION
                near |= abs(float(value) - said) <= _rounding(component)
                optimal = solution is best and level.name not in estimated
                message = f"{level.name} is {value}, the model has {said}"
                require(near or (level.better(said, value) and not optimal), message)
                if not near:
                    break  # later levels compare only at equal earlier ones
            read = subject.problem.check(instance, module.read(instance, model))
            require(read.feasible, f"the solution read back is infeasible: {read.violations[:1]}")
            worse = objective.better_than(read.objective or ())
            require(not worse, f"the solution read back has {read.objective}, not {objective}")

    return subject.each(check)


def _value(expression: Any) -> float:
    import pyomo.core as pyo

    return float(pyo.value(expression))


def _rounding(objective: Any) -> float:
    """Return the rounding error of a linear objective whose terms may cancel."""
    from pyomo.repn import generate_standard_repn

    linear = generate_standard_repn(objective.expr)
    terms = [linear.constant]
    for coefficient, variable in zip(linear.linear_coefs, linear.linear_vars, strict=True):
        terms.append(coefficient * variable.value)
    largest: float = max(map(abs, terms))
    return 1e-12 * largest


def _require_feasible(model: Any) -> None:
    """Require that every constraint and bound of a model holds, to a solver's tolerance."""
    import pyomo.core as pyo

    for row in model.component_data_objects(pyo.Constraint):
        body = _value(row.body)
        for side, sign in ((row.lower, 1), (row.upper, -1)):
            if side is not None:
                limit = _value(side)
                slack = sign * (body - limit)
                message = f"the solution breaks {row.name}: {body} against {limit}"
                require(slack >= -TOLERANCE * max(1.0, abs(limit)), message)
    for variable in model.component_data_objects(pyo.Var):
        low, high = variable.bounds
        value = variable.value
        require(value is not None, f"assign gives {variable.name} no value")
        above = low is None or value >= low - TOLERANCE
        inside = above and (high is None or value <= high + TOLERANCE)
        require(inside, f"assign sets {variable.name} = {value}, outside [{low}, {high}]")


def exact(subject: Subject) -> Finding | None:
    """Every exact method proves the optimum that brute force finds."""

    def check(instance: Instance) -> None:
        optimum = subject.optimum(instance)
        for result in subject.solve(instance, Kind.EXACT):
            said = f"{result.method} says {result.status}: {result.reason}"
            if optimum is None:
                require(result.status is Status.INFEASIBLE, f"{said}; there is no solution")
                continue
            require(result.status is Status.OPTIMAL, f"{said}; the optimum is {optimum}")
            ended = result.termination
            require(ended in _PROVED, f"{result.method} ended with {ended}")
            _require_equal(result.method, result.objective, optimum)

    return subject.each(check)


def _require_equal(name: str, mine: Objective, optimum: Objective) -> None:
    for (level, best), value in zip(optimum.pairs(), mine, strict=True):
        near = relative_gap(best, value) <= SOLVER_PRECISION
        require(near, f"{name} finds {level.name} = {value}, the optimum is {best}")


def proofs(subject: Subject) -> None:
    """The example's optimum is proved on the model in whole numbers, and the proof accepted."""
    instance = subject.example()
    result = api.solve(instance)
    if result.status is not Status.OPTIMAL:
        return
    try:
        proof = api.prove(instance, result.solution, time_limit=_MOST_SECONDS)
    except (ProofFailed, ValueError) as error:
        raise Broken("conformance", f"{instance.name} has no proof: {error}") from error
    checked = api.check_proof(instance, proof)
    names = [level.level for level in checked.levels]
    require(names == [level.name for level in subject.problem.levels], f"proved are only {names}")


def heuristics(subject: Subject) -> Finding | None:
    """Every heuristic and baseline passes `check_heuristic`."""
    for method in subject.methods(Kind.HEURISTIC, Kind.BASELINE):

        def takes(instance: Instance, method: Method = method) -> bool:
            try:
                call(method, instance, Run(), {})
            except OptionError:
                return False
            return True

        drawn = subject.instances().filter(takes)
        try:
            report = check_heuristic(
                subject.problem.name,
                method.name,
                examples=subject.examples,
                instances=drawn,
            )
        except Unsatisfiable as error:
            message = f"{method.name} takes no drawn instance: add options to VARIATIONS"
            raise Broken("conformance", message) from error
        if report.findings:
            first = report.findings[0]
            return Finding(first.kind, f"{method.name}: {first.message}", first.instance)
    return None


def bounds(subject: Subject) -> Finding | None:
    """No optimum beats a bound, be it certified or claimed, of any method that proves bounds."""

    def check(instance: Instance) -> None:
        optimum = subject.optimum(instance)
        if optimum is not None:
            for result in subject.solve(instance, Kind.BOUND, Kind.EXACT):
                _require_bounds(result, optimum)

    return subject.each(check)


def _require_bounds(result: Result, optimum: Objective) -> None:
    for stated in (result.bound, result.certified):
        beaten = beaten_level(stated, optimum)
        require(
            beaten is None, f"{result.method} has the bounds {stated}, the optimum is {optimum}"
        )


def renaming(subject: Subject) -> Finding | None:
    """Other names do not change the optimum."""
    return _invariant(subject, renamed)


def order(subject: Subject) -> Finding | None:
    """The order of the lists in a file does not change the optimum, but where it decides ties."""
    return _invariant(subject, reordered)


def _invariant(subject: Subject, transformation: Callable[[Instance], Instance]) -> Finding | None:
    def check(instance: Instance) -> None:
        other = transformation(instance)
        before = subject.solve(instance, Kind.EXACT)
        after = subject.solve(other, Kind.EXACT)
        for first, second in zip(before, after, strict=True):
            mine = first.objective
            theirs = second.objective
            require((mine is None) == (theirs is None), f"{first.method}: {mine}, then {theirs}")
            if mine is not None:
                _require_equal(first.method, mine, theirs)

    return subject.each(check)


def deterministic(subject: Subject) -> None:
    """On one thread, every method gives the same answer for the same seed."""
    instance = subject.example()

    def answers() -> dict[str, tuple[Any, ...]]:
        results = subject.solve(instance, *Kind, seed=3)
        return {r.method: (r.status, r.solution, r.objective, r.bound) for r in results}

    first = answers()
    again = answers()
    different = [name for name, said in first.items() if again[name] != said]
    require(not different, f"with seed 3 these differ from one run to the next: {different}")


def limits(subject: Subject) -> Finding | None:
    """A limit or an interrupt raises nothing, and what is then stated holds."""

    def check(instance: Instance) -> None:
        optimum = subject.optimum(instance)
        results = subject.solve(instance, Kind.EXACT, Kind.BOUND, time_limit=1e-9)
        if not subject.problem.explain(instance):
            methods = [subject.problem.methods[r.method] for r in results]
            results += [_interrupted(subject.problem, method, instance) for method in methods]
        for result in results:
            if optimum is None:
                require(result.solution is None, f"{result.method} solves what has no solution")
                continue
            _require_bounds(result, optimum)
            require(result.status is not Status.INFEASIBLE, f"{result.method} says infeasible")
            if result.status is Status.OPTIMAL:
                _require_equal(result.method, result.objective, optimum)
                ended = result.termination
                require(ended in _PROVED, f"{result.method} says optimal and {ended}")

    return subject.each(check)


def _interrupted(problem: Problem, method: Method, instance: Instance) -> Result:
    """Return the result of a run that is interrupted from the beginning."""
    run = Run()
    run.interrupted = True
    claim = call(method, instance, run, {})
    return evaluate_claim(problem, instance, method, claim, run, {}, trusted=method.own)


def warm_start(subject: Subject) -> Finding | None:
    """Every method reports on a start, and its solution is no worse than the start."""

    def check(instance: Instance) -> None:
        for start in subject.feasible(instance)[:1]:
            given = subject.problem.check(instance, start).objective
            assert given is not None
            stopped = subject.solve(instance, Kind.EXACT, start=start, time_limit=1e-9)
            solved = subject.solve(instance, Kind.EXACT, start=start)
            for result in stopped + solved:
                require(result.start, f"{result.method} does not report on the start")
            for result in solved:
                worse = given.better_than(result.objective)
                require(not worse, f"{result.method}: {result.objective} from {given}")

    return subject.each(check)


def picture(subject: Subject) -> None:
    """An instance and its solution can be drawn."""
    matplotlib = extras.require("matplotlib", "the check picture")
    backend = matplotlib.get_backend()
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    try:
        instance = subject.example()
        draw = subject.problem.module("draw").draw
        for solution in (None, api.solve(instance).solution):
            ax = draw(instance, solution)
            require(solution is None or ax.has_data(), "the picture of a solution is empty")
            plt.close(ax.figure)
    finally:
        matplotlib.use(backend)


def card(subject: Subject) -> None:
    """The card's tables have a row with each component and its kind, and it names every method."""
    import pyomo.core as pyo

    assert subject.card is not None
    text = subject.card.read_text(encoding="utf-8")
    kinds = (pyo.Set, pyo.Var, pyo.Objective, pyo.Constraint)
    model = api.model(subject.example())
    components = set()
    for kind in kinds:
        for component in model.component_objects(kind):
            components.add((component.local_name, kind.__name__))
    tables = re.findall(r"^\| component \|.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    row = re.compile(r"^\| `(\w+)`.*? \| (\w+)", re.MULTILINE)
    named = {pair for table in tables for pair in row.findall(table)}
    message = f"the card has {sorted(named)}, the model {sorted(components)}"
    require(named == components, message)
    _require_methods(subject, subject.card.name, text)


def page(subject: Subject) -> None:
    """The page names every method, and its Python blocks run."""
    assert subject.page is not None
    _require_methods(subject, subject.page.name, subject.page.read_text(encoding="utf-8"))
    run_blocks(subject.page)


def _require_methods(subject: Subject, file: str, text: str) -> None:
    missing = [m.name for m in subject.methods(*Kind) if f"`{m.name}`" not in text]
    require(not missing, f"{file} does not name {', '.join(missing)}")
