"""What `validate` prints, whether it has just looked or remembers."""

from __future__ import annotations

from typing import Any

from lakelogic_assets.cli.printing import say, say_json, shown_path
from lakelogic_assets.cli.problems import github, print_problems, print_summary, summary
from lakelogic_assets.cli.remembered import Answer, Asked
from lakelogic_assets.contract.problems import Problem


def give(asked: Asked, answer: Answer) -> int:
    """Print an answer as it was asked for; gives the exit code."""
    errors = sum(problem.is_error for problem in answer.problems)
    warnings = len(answer.problems) - errors
    if asked.style == "json":
        problems = [_as_dict(problem) for problem in answer.problems]
        counts = {"contracts": answer.contracts, "files": answer.files, "errors": errors, "warnings": warnings}
        say_json(counts | {"problems": problems})
    elif asked.style == "github":
        for problem in answer.problems:
            say(github(problem))
        say(summary(answer.contracts, answer.files, errors, warnings))
    else:
        print_problems(answer.problems)
        print_summary(answer.contracts, answer.files, errors, warnings)
    return 1 if errors or (warnings and asked.warnings_as_errors) else 0


def _as_dict(problem: Problem) -> dict[str, Any]:
    where = problem.location
    return problem.as_dict() | {"file": where.option or shown_path(where.file)}
