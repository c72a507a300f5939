"""The pools of the FAIR mode, read from Spark's allocation file."""

from __future__ import annotations

from pyrite.errors import UserError
from pyrite.schedule.queue import PoolShare


def read_pools(path: str) -> dict[str, PoolShare]:
    """The pools named in an allocation file: weight, minShare and schedulingMode of each."""
    from xml.etree import ElementTree

    try:
        root = ElementTree.parse(path).getroot()
        return {
            pool.attrib["name"]: PoolShare(
                weight=max(1, int(pool.findtext("weight", "1"))),
                min_share=max(0, int(pool.findtext("minShare", "0"))),
                fair=pool.findtext("schedulingMode", "FIFO").strip().upper() == "FAIR",
            )
            for pool in root.iter("pool")
        }
    except (OSError, ElementTree.ParseError, KeyError, ValueError) as error:
        raise UserError(
            f"spark.scheduler.allocation.file {path!r} can't be read: "
            f"{type(error).__name__}: {error}"
        ) from error
