"""What other meshes do that ours does not: documents, arrays in files, keys with holes, numbers for surrogate keys,
one name for two entities, systems that say nothing of quarantine, silver that no index names."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tests.spark.mesh_files import system_file

_LINE = "          - {{layer: {layer}, entity: {entity}, path: contracts/{layer}/{table}_v1.0.yaml{more}}}\n"
_ENTITIES = {"bronze_ads_campaigns": "campaigns", "bronze_social_campaigns": "campaigns"}
_AFTER_CAMPAIGNS = ("silver_ads_spend", "gold_social_channels")


def _system(domain: str, name: str, tables: tuple[str, ...], silver: str = "merge") -> str:
    entries = "".join(
        _LINE.format(
            layer=table.split("_")[0],
            entity=_ENTITIES.get(table, table),
            table=table,
            more=", depends_on: [campaigns]" if table in _AFTER_CAMPAIGNS else "",
        )
        for table in tables
    )
    return system_file(
        domain,
        name,
        f"""
        contracts:
{entries}
        materialization:
          bronze: {{strategy: append, format: delta}}
          silver: {{strategy: {silver}, format: delta, merge_dedup_guard: true}}
          gold: {{strategy: {"overwrite" if silver == "overwrite" else "merge"}, format: delta}}
        server:
          bronze: {{cast_to_string: true, schema_policy: {{evolution: append, unknown_fields: allow}}}}
          silver: {{schema_policy: {{evolution: {"append" if silver == "overwrite" else "strict"}, unknown_fields: quarantine}}}}
          gold: {{schema_policy: {{evolution: append, unknown_fields: drop}}}}
        """,
    )


def _domain(name: str) -> str:
    return f"""
        domain: {name}
        ownership:
          domain_owner: Data
          contacts: [{{name: On call, role: oncall, email: "${{QUIRKS_CONTACT_A:-${{QUIRKS_CONTACT_B}}}}"}}]
        bronze_layer: bronze
        silver_layer: silver
        gold_layer: gold
    """


def _campaigns(system: str) -> str:
    return f"""
        version: 1.0.0
        info: {{title: Campaigns as they come, table_name: bronze_{system}_campaigns, target_layer: bronze}}
        model: {{fields: [{{name: campaign_id, type: string}}]}}
        source:
          {{type: landing, path: "{{landing_root}}/campaigns", format: csv, options: {{header: "true"}}, load_mode: incremental}}
    """


FILES = {
    "operations/_domain.yaml": _domain("operations"),
    "operations/checks/_system.yaml": _system(
        "operations", "checks", ("bronze_checks_licences", "silver_checks_licences")
    ),
    "operations/checks/contracts/bronze/bronze_checks_licences_v1.0.yaml": """
        version: 1.0.0
        info: {title: Licences as documents, table_name: "{bronze_layer}_checks_licences", target_layer: bronze}
        model:
          fields:
            - {name: file_path, type: string}
            - name: licence_number
              type: string
              extraction_task: metadata
              extraction_examples: ['Licence\\s+No[.:]\\s+([A-Z0-9]{4,12})']
            - name: full_name
              type: string
              pii: true
              extraction_task: metadata
              extraction_examples: ['Name:\\s+(.+)']
        source:
          type: landing
          path: "{landing_root}/licences/**/*.pdf"
          format: pdf
          load_mode: full
        extraction:
          provider: pdfplumber
          preprocessing: {content_type: pdf}
        quality:
          row_rules:
            - not_null: licence_number
    """,
    "operations/checks/contracts/silver/silver_checks_licences_v1.0.yaml": """
        version: 1.0.0
        info: {title: Licences, table_name: silver_checks_licences, target_layer: silver}
        primary_key: [licence_number]
        model:
          fields:
            - {name: licence_number, type: string, required: true}
            - {name: full_name, type: string, pii: true, masking: redact}
        transformations:
          - drop: {columns: [file_path]}
          - deduplicate: {by: [licence_number]}
        source: {type: table, path: "table:{domain_catalog}.bronze_checks_licences", load_mode: full}
    """,
    "operations/desk/_system.yaml": _system(
        "operations", "desk", ("bronze_desk_tickets", "silver_desk_tickets", "gold_desk_fact_tickets")
    ),
    "operations/desk/contracts/bronze/bronze_desk_tickets_v1.0.yaml": """
        version: 1.0.0
        info: {title: Tickets as they come, table_name: "{bronze_layer}_desk_tickets", target_layer: bronze}
        model:
          fields:
            - {name: ticket_id, type: string}
            - {name: requester_id, type: string, pii: true}
            - {name: city_code, type: string, foreign_key: {contract: bronze_internal_city_master, column: city_code}}
            - {name: satisfaction_rating, type: float}
            - {name: opened_at, type: string}
            - {name: closed_at, type: string}
        source: {type: landing, path: "{landing_root}/tickets", format: csv, options: {header: "true", recursiveFileLookup: "true"}, load_mode: incremental, watermark_strategy: pipeline_log, partition: {format: "y_%Y/m_%m/d_%d"}}
    """,
    "operations/desk/contracts/silver/silver_desk_tickets_v1.0.yaml": """
        version: 1.0.0
        info: {title: Tickets, table_name: silver_desk_tickets, target_layer: silver}
        primary_key: [ticket_id]
        model:
          fields:
            - {name: ticket_id, type: string, required: true}
            - {name: requester_id, type: string, pii: true, masking: hash}
            - {name: city_code, type: string}
            - {name: satisfaction_rating, type: float}
            - {name: opened_at, type: timestamp}
            - {name: closed_at, type: timestamp}
        quality:
          row_rules:
            - {name: closed_after_opened, sql: "closed_at IS NULL OR closed_at >= opened_at"}
          dataset_rules: [unique: ticket_id]
        transformations:
          - deduplicate: {by: [ticket_id]}
        source: {type: table, path: 'table:{domain_catalog}.{bronze_layer}_{system}_tickets', load_mode: full}
    """,
    # `source` again under another name, and a dimension of another domain as it was when the ticket was opened.
    "operations/desk/contracts/gold/gold_desk_fact_tickets_v1.0.yaml": """
        version: 1.0.0
        info: {title: Ticket facts, table_name: gold_desk_fact_tickets, target_layer: gold}
        primary_key: [ticket_id]
        model:
          fields:
            - {name: ticket_id, type: string, required: true}
            - {name: city_sk, type: long, required: true}
            - {name: hours, type: double}
        links:
          - {name: tickets_full, type: table, table: "{domain_catalog}.silver_desk_tickets"}
          - {name: dim_city, type: table, table: "`{catalog}`.reference.gold_internal_dim_city"}
        source: {type: table, path: "table:{domain_catalog}.silver_desk_tickets", load_mode: full}
        transformations:
          - phase: pre
            sql: |
              SELECT t.ticket_id, COALESCE(c.city_sk, CAST(-1 AS BIGINT)) AS city_sk,
                     (UNIX_TIMESTAMP(t.closed_at) - UNIX_TIMESTAMP(t.opened_at)) / 3600.0 AS hours
              FROM tickets_full t
              LEFT JOIN dim_city c ON t.city_code = c.city_code
               AND t.opened_at >= c.effective_from AND t.opened_at < c.effective_to
    """,
    "reference/_domain.yaml": _domain("reference"),
    "reference/internal/_system.yaml": _system(
        "reference",
        "internal",
        (
            "bronze_internal_city_master",
            "bronze_internal_rates",
            "silver_internal_cities",
            "gold_internal_dim_city",
            "gold_internal_dim_country",
        ),
        silver="overwrite",
    ).replace("quarantine: {enabled: true, format: delta, mode: append}\n", ""),
    "reference/internal/contracts/bronze/bronze_internal_city_master_v1.0.yaml": """
        version: 1.0.0
        info: {title: Cities as they come, table_name: "{bronze_layer}_internal_city_master", target_layer: bronze}
        model:
          fields:
            - {name: city_code, type: string}
            - {name: city_name, type: string}
            - {name: timezone, type: string}
            - {name: launched_at, type: string}
        source: {type: landing, path: "{landing_root}/city_master", format: csv, options: {header: "true"}, load_mode: full, watermark_strategy: none}
    """,
    "reference/internal/contracts/bronze/bronze_internal_rates_v1.0.yaml": """
        version: 1.0.0
        info: {title: Rates, table_name: "{bronze_layer}_internal_rates", target_layer: bronze}
        model:
          fields:
            - {name: rate_date, type: date}
            - {name: currency, type: string}
            - {name: rate, type: "decimal(18,6)"}
        source: {type: landing, path: "{landing_root}/rates", format: csv, options: {header: "true"}, load_mode: incremental}
    """,
    # `is_active` is not in the source, and there is no primary key.
    "reference/internal/contracts/silver/silver_internal_cities_v1.0.yaml": """
        version: 1.0.0
        info: {title: Cities, table_name: "{silver_layer}_internal_cities", target_layer: silver}
        model:
          fields:
            - {name: city_code, type: string, required: true}
            - {name: city_name, type: string}
            - {name: timezone, type: string}
            - {name: launched_at, type: timestamp}
            - {name: is_active, type: boolean}
        quality: {row_rules: [], dataset_rules: [unique: city_code]}
        transformations:
          - deduplicate: {by: [city_code]}
        source: {type: table, path: 'table:{domain_catalog}.{bronze_layer}_{system}_city_master', load_mode: full}
    """,
    "reference/internal/contracts/gold/gold_internal_dim_city_v1.0.yaml": """
        version: 1.0.0
        info: {title: City dimension, table_name: "{gold_layer}_internal_dim_city", target_layer: gold}
        primary_key: [city_code]
        model:
          fields:
            - {name: city_sk, type: long, required: true}
            - {name: city_code, type: string, required: true}
            - {name: timezone, type: string}
            - {name: effective_from, type: timestamp, required: true}
            - {name: effective_to, type: timestamp}
            - {name: is_current, type: boolean, required: true}
        quality: {row_rules: [], dataset_rules: [unique: city_sk]}
        source: {type: table, path: "table:{domain_catalog}.silver_internal_cities", load_mode: full}
        transformations:
          - phase: pre
            sql: SELECT city_code, timezone FROM source
        materialization:
          strategy: scd2
          format: delta
          scd2:
            surrogate_key: city_sk
            surrogate_key_strategy: hash
            effective_from_field: effective_from
            effective_to_field: effective_to
            current_flag_field: is_current
            track_columns: [timezone]
            unknown_member: {enabled: true, surrogate_key_value: "-1"}
    """,
    "reference/internal/contracts/gold/gold_internal_dim_country_v1.0.yaml": """
        version: 1.0.0
        info: {title: Countries, table_name: "{gold_layer}_internal_dim_country", target_layer: gold}
        primary_key: [country_code]
        model:
          fields:
            - {name: country_code, type: string, required: true}
            - {name: region, type: string, accepted_values: [EMEA, AMER, APAC]}
            - {name: is_operating, type: boolean}
            - {name: vat_rate, type: float}
        quality: {row_rules: [], dataset_rules: [unique: country_code]}
        source: {type: landing, path: "{landing_root}/dim_country", format: csv, options: {header: "true"}, load_mode: full, watermark_strategy: none}
    """,
    "marketing/_domain.yaml": _domain("marketing"),
    "marketing/ads/_system.yaml": _system(
        "marketing",
        "ads",
        (
            "bronze_ads_spend",
            "bronze_ads_requests",
            "bronze_ads_events",
            "bronze_ads_campaigns",
            "silver_ads_spend",
            "silver_ads_requests",
        ),
    ),
    "marketing/ads/contracts/bronze/bronze_ads_campaigns_v1.0.yaml": _campaigns("ads"),
    "marketing/social/_system.yaml": _system(
        "marketing", "social", ("gold_social_channels", "bronze_social_campaigns")
    ),
    "marketing/social/contracts/bronze/bronze_social_campaigns_v1.0.yaml": _campaigns("social"),
    "marketing/social/contracts/gold/gold_social_channels_v1.0.yaml": """
        version: 1.0.0
        info: {title: Channels, table_name: gold_social_channels, target_layer: gold}
        primary_key: [channel]
        model: {fields: [{name: channel, type: string, required: true}, {name: label, type: string}]}
        source: {type: landing, path: "{landing_root}/channels", format: csv, options: {header: "true"}, load_mode: full}
    """,
    "marketing/ads/contracts/bronze/bronze_ads_spend_v1.0.yaml": """
        version: 1.0.0
        info: {title: Spend as it comes, table_name: "{bronze_layer}_ads_spend", target_layer: bronze}
        model:
          fields:
            - {name: campaign_id, type: string}
            - {name: ad_group_id, type: string}
            - {name: spent_on, type: string}
            - {name: spend, type: string}
        source:
          type: landing
          path: "{landing_root}/spend"
          format: csv
          options: {header: "true", recursiveFileLookup: "true"}
          load_mode: incremental
          watermark_strategy: pipeline_log
          partition: {format: "y_%Y/m_%m/d_%d/h_%H"}
    """,
    "marketing/ads/contracts/silver/silver_ads_spend_v1.0.yaml": """
        version: 1.0.0
        info: {title: Spend, table_name: silver_ads_spend, target_layer: silver}
        primary_key: [campaign_id, ad_group_id, spent_on]
        model:
          fields:
            - {name: campaign_id, type: string, required: true}
            - {name: ad_group_id, type: string}
            - {name: spent_on, type: date, required: true}
            - {name: spend, type: "decimal(18,2)"}
        quality:
          row_rules:
            - {name: positive_spend, sql: "spend >= 0"}
          dataset_rules:
            - unique: [campaign_id, ad_group_id, spent_on]
        transformations:
          - deduplicate: {by: [campaign_id, ad_group_id, spent_on]}
        source: {type: table, path: 'table:{domain_catalog}.{bronze_layer}_ads_spend', load_mode: full}
    """,
    "marketing/ads/contracts/bronze/bronze_ads_requests_v1.0.yaml": """
        version: 1.0.0
        info: {title: Requests in one array a file, table_name: "{bronze_layer}_ads_requests", target_layer: bronze}
        model:
          fields:
            - {name: request_id, type: string}
            - {name: requested_at, type: string}
            - {name: fare, type: string}
        source:
          type: landing
          path: "{landing_root}/requests"
          format: json
          options: {multiLine: "true", recursiveFileLookup: "true"}
          load_mode: incremental
          watermark_strategy: pipeline_log
          partition: {format: "y_%Y/m_%m/d_%d/h_%H"}
    """,
    "marketing/ads/contracts/silver/silver_ads_requests_v1.0.yaml": """
        version: 1.0.0
        info: {title: Requests, table_name: silver_ads_requests, target_layer: silver}
        primary_key: [request_id]
        model:
          fields:
            - {name: request_id, type: string, required: true}
            - {name: requested_at, type: timestamp, required: true}
            - {name: fare, type: float}
        transformations:
          - deduplicate_by_latest: {key_columns: [request_id], timestamp_column: requested_at}
        source: {type: table, path: 'table:{domain_catalog}.{bronze_layer}_ads_requests', load_mode: full}
    """,
    "marketing/ads/contracts/bronze/bronze_ads_events_v1.0.yaml": """
        version: 1.0.0
        info: {title: Events as they come, table_name: "{bronze_layer}_ads_events", target_layer: bronze}
        model:
          fields:
            - {name: event_id, type: string}
            - {name: event_timestamp, type: string}
            - {name: event_params_json, type: string}
        source: {type: landing, path: "{landing_root}/events", format: csv, options: {header: "true", recursiveFileLookup: "true"}, load_mode: incremental, watermark_strategy: pipeline_log}
    """,
    # In no index.
    "marketing/ads/contracts/silver/silver_ads_events_v1.0.yaml": """
        version: 1.0.0
        info: {title: Events, table_name: silver_ads_events, target_layer: silver}
        primary_key: [event_id]
        model:
          fields:
            - {name: event_id, type: long, required: true}
            - {name: event_timestamp, type: timestamp}
            - {name: event_params_json, type: string}
        transformations:
          - drop: {columns: [file_path]}
          - deduplicate: {by: [event_id]}
        source: {type: table, path: 'table:{domain_catalog}.{bronze_layer}_ads_events', load_mode: full}
    """,
}


def write_quirks(folder: Path) -> Path:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
    return folder
