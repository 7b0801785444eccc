"""A client of a Dask cluster that is given in any of several ways."""

from __future__ import annotations

import os
from typing import Any

from dlsched.errors import OptionError, describe
from dlsched.extras import require

CONNECT_SECONDS = 10


def client_of(cluster: Any, security: Any = None) -> tuple[Any, bool]:
    """Return a client of a cluster, and whether the caller has to close it.

    Parameters
    ----------
    cluster, security
        As in `dlsched.sweeps.places.Dask`.

    Raises
    ------
    ExtraMissing
        If dask.distributed is not installed.
    OptionError
        If there is no scheduler.
    """
    distributed = require("distributed", "--dask")
    if isinstance(cluster, distributed.Client):
        return cluster, False
    how: dict[str, Any] = {"timeout": CONNECT_SECONDS, "set_as_default": False}
    if security is not None:
        how["security"] = security
    try:
        if isinstance(cluster, str | os.PathLike) and os.path.isfile(cluster):
            return distributed.Client(scheduler_file=os.fspath(cluster), **how), True
        return distributed.Client(cluster, **how), True
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise OptionError(f"no Dask scheduler at {cluster}: {describe(error)}") from None
