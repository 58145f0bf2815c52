"""A made-up company: as many contracts as are asked for, in domains and systems as people write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CONTRACTS_PER_SYSTEM = 25
SYSTEMS_PER_DOMAIN = 4
SUBJECTS = ("orders", "payments", "shipments", "refunds", "visits", "invoices", "tickets", "returns", "leads", "stock")

_DOMAIN = """\
domain: {domain}
ownership:
  domain_owner: {domain}-owner@example.com
  team: {domain} data
slo:
  freshness:
    silver: {{max_delay_minutes: 90, check_column: _lakelogic_processed_at}}
lineage: {{enabled: true}}
compliance:
  sensitivity: internal
  frameworks: {{gdpr: {{applicable: true}}}}
"""

_SYSTEM = """\
domain: {domain}
system: {system}
storage:
  domain_catalog: "{{catalog}}.{domain}"
  quarantine_root: "{{catalog}}.quarantine"
  landing_root: "{{storage_root}}/landing/{domain}/{system}"
environments:
  local: {{catalog: lakehouse, storage_root: .lakehouse}}
  prod: {{catalog: main, storage_root: "s3://lake"}}
quarantine: {{include_error_reason: true}}
materialization:
  _all: {{format: delta}}
  silver: {{strategy: merge}}
server:
  silver:
    schema_policy: {{evolution: append, unknown_fields: drop}}
contracts:
"""

_ENTRY = "  - {{layer: silver, entity: {entity}, path: {table}.yaml{after}}}\n"

_CONTRACT = """\
version: 1.0.0
info:
  title: {subject} of {system}
  table_name: {table}
  owner: {domain}-owner@example.com
  domain: {domain}
  system: {system}
  target_layer: silver
source:
  type: landing
  path: "{{landing_root}}/{entity}"
  format: jsonl
  load_mode: incremental
  watermark_strategy: pipeline_log
primary_key: [{entity}_id]
model:
  grain: one row per {subject}
  fields:
    - {{name: {entity}_id, type: long, required: true, description: Number of the {subject}}}
    - {{name: customer_id, type: long, required: true}}
    - {{name: customer_email, type: string, pii: true, masking: hash}}
    - {{name: status, type: string, accepted_values: [open, paid, sent, closed]}}
    - {{name: country_code, type: string, max_length: 2}}
    - {{name: amount, type: "decimal(18,2)", min: 0}}
    - {{name: discount, type: double, min: 0, max: 1}}
    - {{name: quantity, type: int, min: 1}}
    - {{name: created_at, type: timestamp, required: true}}
    - {{name: updated_at, type: timestamp}}
    - {{name: channel, type: string, description: Where it was bought}}
    - {{name: net_amount, type: "decimal(18,2)", description: amount less discount}}
transformations:
  - rename: {{mappings: {{{entity}Id: {entity}_id, customerId: customer_id}}}}
  - trim: {{fields: [customer_email, status, channel]}}
  - lower: [status, channel]
  - deduplicate: {{on: [{entity}_id], sort_by: updated_at}}
  - derive: {{field: net_amount, sql: "ROUND(amount * (1 - COALESCE(discount, 0)), 2)"}}
quality:
  row_rules:
    - {{name: {entity}_amount_plausible, sql: "amount BETWEEN 0 AND {limit}"}}
    - {{name: {entity}_paid_has_customer, sql: "status <> 'paid' OR customer_id > {number}"}}
    - name: {entity}_email_looks_right
      sql: "customer_email IS NULL OR customer_email RLIKE '^[^@]+@[^@]{{1,{width}}}$'"
      severity: warning
    - name: {entity}_updated_after_created
      sql: "updated_at IS NULL OR updated_at >= created_at - INTERVAL {number} DAYS"
    - name: {entity}_discount_fits
      sql: >-
        discount IS NULL OR (discount >= 0
        AND discount <= CASE WHEN channel = 'web' THEN 0.{width} ELSE 0.5 END)
    - {{name: {entity}_net_not_above_gross, sql: "net_amount <= amount + {number} * 0.01", phase: post}}
    - {{name: {entity}_country_known, sql: "UPPER(TRIM(country_code)) IN ('DE', 'FR', 'NL', 'X{number}')"}}
    - not_null: [{entity}_id, created_at]
    - regex_match: {{field: country_code, pattern: '^[A-Z]{{2}}$'}}
  dataset_rules:
    - unique: [{entity}_id]
    - name: {entity}_enough_paid
      sql: "SELECT COUNT(*) FILTER (WHERE status = 'paid') * 1.0 / GREATEST(COUNT(*), {number}) FROM source"
      must_be_between: [0, 1]
service_levels:
  freshness: {{threshold: 24h, field: updated_at}}
  row_count: {{min_rows: 1}}
"""


def write_mesh(root: Path, contracts: int) -> list[Path]:
    """Write the contracts and their registries below `root`; gives every file that was written."""
    written: list[Path] = []
    for number in range(0, contracts, CONTRACTS_PER_SYSTEM):
        system = number // CONTRACTS_PER_SYSTEM
        domain_name, system_name = f"domain{system // SYSTEMS_PER_DOMAIN:02}", f"system{system:02}"
        domain = root / "contracts" / domain_name
        folder = domain / system_name
        folder.mkdir(parents=True)
        if system % SYSTEMS_PER_DOMAIN == 0:
            written.append(_write(domain / "_domain.yaml", _DOMAIN.format(domain=domain_name)))
        numbers = range(number, min(number + CONTRACTS_PER_SYSTEM, contracts))
        written += _system(folder, domain_name, system_name, numbers)
    return written


def _system(folder: Path, domain: str, system: str, numbers: range) -> Iterator[Path]:
    index = _SYSTEM.format(domain=domain, system=system)
    previous = ""
    for number in numbers:
        subject = SUBJECTS[number % len(SUBJECTS)]
        entity = f"{subject}_{number}"
        table = f"silver_{system}_{entity}"
        index += _ENTRY.format(entity=entity, table=table, after=f", depends_on: [{previous}]" if previous else "")
        previous = entity
        text = _CONTRACT.format(
            domain=domain, system=system, table=table, subject=subject, entity=entity,
            number=number, limit=1000 + number, width=10 + number % 80,
        )  # fmt: skip
        yield _write(folder / f"{table}.yaml", text)
    yield _write(folder / "_system.yaml", index)


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
