"""Small instances of workers: what a test does not say of a server or job has one value in all."""

from typing import Any

from dlsched.problems.workers import Instance


def server(name: str, free: int, gpus: int = 8, group: str | None = None) -> dict[str, Any]:
    """Return a server, on loan if its name begins with l."""
    pool = "loan" if name.startswith("l") else "training"
    return {"id": name, "pool": pool, "gpus": gpus, "free": free, "group": group}


def job(name: str, size: int, base: int, flexible: int = 0, **flags: bool) -> dict[str, Any]:
    """Return a job with workers of `size` GPUs, elastic if it has flexible ones."""
    counts = {"gpus_per_worker": size, "base": base, "flexible": flexible}
    return {"id": name, "elastic": flexible > 0} | counts | flags


def instance(servers: list[dict[str, Any]], jobs: list[dict[str, Any]], **fields: Any) -> Instance:
    """Return an instance; with separate groups unless the fields say otherwise."""
    return Instance(name="hand", servers=servers, jobs=jobs, **fields)
