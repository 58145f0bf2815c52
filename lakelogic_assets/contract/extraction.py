"""`extraction:` — columns that are read out of text or documents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lakelogic_assets import names
from lakelogic_assets.contract.base import Bag, Name, Names, Pattern, Section
from lakelogic_assets.contract.model import FieldDefinition

DEFAULT_TEXT_COLUMN = "_extracted_text"


class Preprocessing(Section):
    """What becomes of documents first. Their text is kept as a column only where the model declares
    `text_output_column`, or where it is not the default."""

    content_type: Name
    ocr: Bag | None = None
    transcription: Bag | None = None
    frame_extraction: Bag | None = None
    chunking: Bag | None = None
    file_column: str | None = None
    text_output_column: str = DEFAULT_TEXT_COLUMN


class Retry(Section):
    max_attempts: int = Field(default=3, ge=1)
    backoff: str = "exponential"
    initial_delay: float = Field(default=1.0, ge=0)


class Confidence(Section):
    enabled: bool = True
    method: Literal["field_completeness", "log_probs", "self_assessment", "consistency"] = "field_completeness"
    column: str = names.EXTRACTION_CONFIDENCE_COLUMN
    consistency_runs: int = Field(default=3, ge=1)


class Extraction(Section):
    provider: Name
    model: str = "auto"
    temperature: float = 0.1
    max_tokens: int = 1000
    response_format: str = "json"
    prompt_template: str | None = None
    system_prompt: str | None = None
    text_column: str | None = None
    context_columns: Names = ()
    preprocessing: Preprocessing | None = None
    output_schema: tuple[FieldDefinition, ...] = ()
    patterns: dict[str, Pattern] | None = None
    batch_size: int = Field(default=50, ge=1)
    concurrency: int = Field(default=5, ge=1)
    retry: Retry = Retry()
    confidence: Confidence = Confidence()
    max_cost_per_run: float | None = None
    max_rows_per_run: int | None = None
    fallback_model: str | None = None
    fallback_provider: str | None = None
    redact_pii_before_llm: bool = False
    pii_fields: Names = ()
