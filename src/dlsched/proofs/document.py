"""A proof as a file: ``<instance>.proof.json`` or ``.json.gz``."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dlsched.errors import InstanceError
from dlsched.proofs.forms.parameters import ratio
from dlsched.results.proof import (
    KINDS,
    VERSION,
    Leaf,
    LevelProof,
    Node,
    Proof,
    Split,
    Sum,
    VariantLabel,
)
from dlsched.schema.files import read_json, write_json

_REMEDY = "make the proof again: dlsched prove INSTANCE"
_KIND_NAMES: Mapping[type, str] = {str: "a text", dict: "an object", list: "a list"}
_NODE_SHAPE = "must be [column, at] or [bits, empty, rows, multipliers], all of them integers"
_SUM_SHAPE = "must be [columns, coefficients], all of them integers"


def write_proof(proof: Proof, path: str | Path) -> None:
    """Write a proof; gzipped if the name ends in ``.gz``."""
    write_json(Path(path), proof.to_data())


def read_proof(path: str | Path) -> Proof:
    """Read a proof; that it holds is not checked.

    Raises
    ------
    InstanceError
        If it cannot be read, or is no proof.
    """
    return proof_from_data(read_json(Path(path)), str(path))


def proof_from_data(data: Mapping[str, Any], where: str) -> Proof:
    """Return the proof that JSON data describe.

    Raises
    ------
    InstanceError
        If they describe none.
    """
    if data.get("dlsched_proof") != VERSION:
        raise InstanceError(where, "dlsched_proof", f"must be {VERSION}", _REMEDY)
    return Proof(
        text_of(data, "problem", where),
        text_of(data, "instance", where),
        text_of(data, "instance_sha256", where),
        None if data.get("solution", 0) is None else _part(data, "solution", dict, where),
        [
            level_from_data(entry, f"levels[{i}]", where)
            for i, entry in enumerate(_part(data, "levels", list, where))
        ],
        label_of(data, where),
    )


def label_of(data: Mapping[str, Any], where: str) -> VariantLabel | None:
    """Return the name and the digest of the variant that JSON data are about, if they are.

    Raises
    ------
    InstanceError
        If these are no texts.
    """
    if "variant" not in data:
        return None
    part = _part(data, "variant", dict, where)
    texts = (text_of(part, key, where, "variant") for key in ("name", "sha256"))
    return VariantLabel(*texts)


def level_from_data(entry: Any, path: str, where: str) -> LevelProof:
    """Return the proof of a level that JSON data describe.

    Raises
    ------
    InstanceError
        If they describe none.
    """
    if not isinstance(entry, dict):
        raise InstanceError(where, path, "must be an object", _REMEDY)
    absent = entry.get("target", 0) is None
    try:
        target = None if absent else ratio(text_of(entry, "target", where, path))
    except ValueError:
        raise InstanceError(where, f"{path}.target", "must be p or p/q", _REMEDY) from None
    if "cuts" in entry:
        raise InstanceError(where, f"{path}.cuts", "proofs have no cuts any more", _REMEDY)
    kind = next((known for known in KINDS if known == entry.get("kind")), None)
    if kind is None:
        raise InstanceError(where, f"{path}.kind", f"must be one of {', '.join(KINDS)}", _REMEDY)
    optional: Mapping[str, Any] = {"parameters": {}, "sums": []} | entry
    tree = _part(entry, "tree", list, where, path)
    sums = _part(optional, "sums", list, where, path)
    return LevelProof(
        text_of(entry, "level", where, path),
        target,
        kind,
        text_of(entry, "form", where, path),
        text_of(entry, "digest", where, path),
        [_node(node, f"{path}.tree[{i}]", where) for i, node in enumerate(tree)],
        _part(optional, "parameters", dict, where, path),
        [_sum(entries, f"{path}.sums[{i}]", where) for i, entries in enumerate(sums)],
    )


def _node(data: Any, path: str, where: str) -> Node:
    match data:
        case [column, at] if _integers(data):
            return Split(column, at)
        case [bits, 0 | 1 as empty, rows, values] if _integers([bits, empty]):
            if _paired(rows, values):
                return Leaf(bits, dict(zip(rows, values, strict=True)), bool(empty))
    raise InstanceError(where, path, _NODE_SHAPE, _REMEDY)


def _sum(data: Any, path: str, where: str) -> Sum:
    match data:
        case [columns, values] if _paired(columns, values):
            return dict(zip(columns, values, strict=True))
    raise InstanceError(where, path, _SUM_SHAPE, _REMEDY)


def _paired(rows: Any, values: Any) -> bool:
    """Whether these are lists of integers, one value for each number and no number twice."""
    lists = all(isinstance(part, list) and _integers(part) for part in (rows, values))
    return lists and len(set(rows)) == len(rows) == len(values)


def _integers(values: Iterable[Any]) -> bool:
    return all(isinstance(v, int) and not isinstance(v, bool) for v in values)


def text_of(data: Mapping[str, Any], key: str, where: str, path: str = "") -> str:
    """Return a text of JSON data; raise InstanceError if there is none of that key."""
    return str(_part(data, key, str, where, path))


def _part(data: Mapping[str, Any], key: str, kind: type, where: str, path: str = "") -> Any:
    """Return a part of JSON data; raise InstanceError if there is none of that key and type."""
    value = data.get(key)
    if not isinstance(value, kind):
        place = f"{path}.{key}".lstrip(".")
        raise InstanceError(where, place, f"must be {_KIND_NAMES[kind]}", _REMEDY)
    return value
