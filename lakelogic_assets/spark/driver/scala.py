"""What py4j needs to be told of Scala: its collections, its options, and the values of parameters that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def mapping(jvm: Any, values: Mapping[str, Any]) -> Any:
    return jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(dict(values))


def sequence(jvm: Any, values: Sequence[Any]) -> Any:
    listed = jvm.java.util.ArrayList()
    for value in values:
        listed.add(value)
    return jvm.org.apache.spark.api.python.PythonUtils.toSeq(listed)


def none(jvm: Any) -> Any:
    return getattr(getattr(jvm.scala, "None$"), "MODULE$")


def each(found: Any) -> list[Any]:
    return [found.apply(index) for index in range(found.size())]


def defaults(owner: Any, method: str) -> list[Any]:
    """What Scala gives to the parameters that are left out."""
    names = [name for name in dir(owner) if name.startswith(f"{method}$default$")]
    return [getattr(owner, name)() for name in sorted(names)]
