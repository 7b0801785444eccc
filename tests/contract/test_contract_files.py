"""What is written of every problem and read again: documents, frames, models, pictures."""

import random
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import dlsched
from contract import (
    SOLVING,
    drawn,
    every_problem,
    examples,
    instances,
    methods,
    mutated,
    optimum,
    solved,
    widely,
)
from dlsched.registry import problem
from dlsched.results.objective import relative_gap
from readers import highs_optimum

ENDINGS = (".json", ".json.gz")


@every_problem
@widely(8, 100)
def test_what_is_saved_is_loaded_alike(name: str, count: int, tmp_path: Path) -> None:
    """Instances, solutions and results, in files, as data and as data frames."""
    for i, instance in enumerate(instances(name, count)):
        file = tmp_path / f"instance{ENDINGS[i % 2]}"
        dlsched.save(instance, file)
        again = dlsched.load(file)
        assert again == instance and again.sha256 == instance.sha256
        assert dlsched.load(instance.to_data()).sha256 == instance.sha256
        framed = dlsched.from_frames(name, **instance.to_frames())
        assert framed.sha256 == instance.sha256
        result = dlsched.solve(instance, time_limit=10)
        assert dlsched.read_result(result.to_json()) == result
        if result.solution is not None:
            file = tmp_path / f"solution{ENDINGS[i % 2]}"
            dlsched.save(result.solution, file)
            assert dlsched.load_solution(file) == result.solution
            assert dlsched.verify(instance, file).objective == result.objective


@every_problem
def test_the_digest_is_of_what_is_solved(name: str) -> None:
    """Name, source and notes do not change it, every other field does; shipped proofs have it."""
    assert dlsched.check_proof(f"{name}-small-02").levels
    for instance in examples(name):
        labels = {"name": "other", "source": "elsewhere", "notes": "none"}
        assert dlsched.load(instance.to_data() | labels).sha256 == instance.sha256
    assert len({i.sha256 for i in drawn(name, 30)}) > 15


@every_problem
def test_generators_follow_their_seed(name: str) -> None:
    """The same seed gives the same instance, another one another; an odd parameter is named."""
    first, again, other = (dlsched.generate(name, seed) for seed in (1, 1, 2))
    assert first == again and first.sha256 != other.sha256
    with pytest.raises(dlsched.OptionError, match="no parameter 'colour'"):
        dlsched.generate(name, 1, colour="red")
    with pytest.raises(dlsched.OptionError, match="seed"):
        dlsched.generate(name, -1)


@every_problem
@pytest.mark.parametrize("ending", [".lp", ".mps.gz"])
def test_exported_models_have_the_optima(name: str, ending: str, tmp_path: Path) -> None:
    """Each level's file, the earlier ones held, has the optimum for a solver that reads files.

    A model that estimates a level (its module's ``ESTIMATED``) has a bound on it.
    """
    estimated = getattr(problem(name).module("model"), "ESTIMATED", ())
    for instance in examples(name)[:2]:
        best = optimum(instance)
        assert best is not None
        held: dict[str, float] = {}
        for level, value in list(best.pairs())[:4]:
            file = tmp_path / f"{level.name}{ending}"
            dlsched.export(instance, file, level=level.name, held=held)
            found = highs_optimum(file)
            near = relative_gap(found, value) <= 1e-6 or abs(found - value) <= 1e-9
            assert near or (level.name in estimated and level.better(found, value))
            held[level.name] = float(value)
    with pytest.raises(dlsched.OptionError):
        dlsched.export(examples(name)[0], tmp_path / f"x{ending}", level="colour")


@every_problem
@widely(1, 30)
def test_pictures_are_drawn(name: str, count: int) -> None:
    """Of instances, every method's solutions, and results; each has something on it and a title."""
    for instance in instances(name, count):
        drawings: list[Any] = [instance]
        for method in ("exact", *methods(name, *SOLVING)[::3]):
            result = solved(instance, method)
            drawings += [result] * (result is not None)
        for what in drawings:
            ax = dlsched.plot(what)
            assert ax.get_title(loc="left") and ax.figure is not None
            if getattr(what, "solution", None) is not None and instance in examples(name):
                assert ax.has_data()
            plt.close("all")


@every_problem
def test_a_solution_is_seen_in_its_picture(name: str) -> None:
    """Under one title, the picture of a result is another one than that of its instance."""
    instance, seen = examples(name)[0], []
    for what in (instance, dlsched.solve(instance)):
        figure = dlsched.plot(what, title="the same").figure
        seen.append(bytes(FigureCanvasAgg(figure).print_to_buffer()[0]))
    assert seen[0] != seen[1]


@every_problem
def test_pictures_say_what_they_cannot_draw(name: str) -> None:
    """Unknown colours are answered with what there is; another instance's solution is refused."""
    instance = examples(name)[0]
    result = dlsched.solve(instance)
    with pytest.raises(dlsched.OptionError, match="colour"):
        dlsched.plot(result, color_by="colour")
    other = next(i for i in drawn(name, 30) if i.sha256 != instance.sha256)
    with pytest.raises(dlsched.InstanceError):
        dlsched.plot(result.solution, instance=other)
    for seed in range(8):  # what violates something is drawn, if all that it names is there
        data = mutated(result.solution.to_data(), random.Random(seed))
        try:
            given = type(result.solution).model_validate(data)
            report = dlsched.verify(instance, given)
            title = dlsched.plot(given, instance=instance).get_title(loc="left")
        except (dlsched.InstanceError, ValueError):
            continue
        assert report.feasible or "not feasible" in title.replace("\n", " ")
    assert dlsched.plot(result, title="mine").get_title(loc="left") == "mine"
