"""Work in seconds of a core, which do not grow while others use the machine as the seconds of a clock do."""

from __future__ import annotations

import resource


def work_of_children() -> float:
    """Of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
