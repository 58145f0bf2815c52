"""`notifications:` — who is told about what."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from lakelogic_assets.contract.base import Bag, Names, Section

Event = Literal[
    "failure", "success", "dataset_rule_failure", "schema_change", "quarantine", "slo_breach", "slo_recovery", "partial"
]
_EVENT_ALIASES = {
    "run_failure": "failure",
    "failed": "failure",
    "error": "failure",
    "run_success": "success",
    "dataset_rule_failed": "dataset_rule_failure",
    "schema_drift": "schema_change",
}


def _usual_name(value: Any) -> Any:
    """Public contracts use two vocabularies for the same events."""
    return _EVENT_ALIASES.get(value, value) if isinstance(value, str) else value


class Notification(Section):
    type: str = "apprise"
    target: str | None = Field(default=None, validation_alias=AliasChoices("target", "to", "channel", "url"))
    targets: Names = ()
    on_events: tuple[Annotated[Event, BeforeValidator(_usual_name)], ...] = ("quarantine", "failure")
    subject_template: str | None = Field(default=None, validation_alias=AliasChoices("subject_template", "subject"))
    subject_template_file: str | None = None
    message_template: str | None = Field(default=None, validation_alias=AliasChoices("message_template", "message"))
    message_template_file: str | None = None
    body_template: str | None = Field(default=None, validation_alias=AliasChoices("body_template", "body"))
    body_template_file: str | None = None
    template_context: Bag = Field(default_factory=dict)
    enabled: bool = True
