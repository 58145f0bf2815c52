"""A small mesh in the shapes of a public one: domains at the root, catalog mode, hourly folders, links across domains."""

from __future__ import annotations

import textwrap
from pathlib import Path

_ENVIRONMENTS = """
    x-local: &local
      catalog: local
      storage_root: ./lakehouse_spark
      data_root: "./lakehouse_spark/{domain}"
    environments:
      dev: {catalog: "${MESH_DEV_CATALOG}"}
      local_spark:
        <<: *local
"""

_STORAGE = """
    metadata:
      run_log_table: "{domain_catalog}._pipeline_run_log"
      run_log_backend: spark
    quarantine: {enabled: true, format: delta, mode: append}
    storage:
      domain_catalog: "`{catalog}`.{domain}"
      quarantine_root: "`{catalog}`.quarantine"
      landing_root: "/Volumes/{catalog}/nondelta/landing_{domain}/{system}"
      log_root: "/Volumes/{catalog}/nondelta/_logs"
    lineage: {enabled: true, capture_domain: false, capture_system: false}
    notifications_enabled: false
"""


def system_file(domain: str, system: str, rest: str) -> str:
    """A `_system.yaml` with the storage and environments that all of them share."""
    parts = (f"domain: {domain}\nsystem: {system}", _STORAGE, rest, _ENVIRONMENTS)
    return "\n".join(textwrap.dedent(part).strip("\n") for part in parts) + "\n"


FILES = {
    "rides/_domain.yaml": """
        domain: rides
        ownership:
          domain_owner: Ride data
          contacts: [{name: On call, role: oncall, email: "${MESH_CONTACT:-rides@example.com}"}]
        slo:
          freshness: {silver: {max_delay_minutes: 120, check_column: _lakelogic_loaded_at}}
          quality: {max_quarantine_ratio: 0.6}
          schedule: {expected_start_utc: "04:00"}
        retention: {bronze: P7D}
        bronze_layer: bronze
        silver_layer: silver
        gold_layer: gold
    """,
    "rides/app/_system.yaml": f"""
        domain: rides
        system: app
        {textwrap.indent(textwrap.dedent(_STORAGE), " " * 8).strip()}
        contracts:
          - {{layer: bronze, entity: trips, path: "contracts/{{bronze_layer}}/{{bronze_layer}}_{{system}}_trips_v1.0.yaml"}}
          - {{layer: bronze, entity: drivers, path: "contracts/bronze/bronze_app_drivers_v1.0.yaml", enabled: true}}
          - {{layer: silver, entity: silver_app_drivers, path: "contracts/silver/silver_app_drivers_v1.0.yaml"}}
          - layer: silver
            entity: silver_app_trips
            path: "contracts/silver/silver_app_trips_v1.0.yaml"
            depends_on: [trips, silver_app_drivers]
          - layer: gold
            entity: gold_app_dim_driver
            path: "contracts/gold/gold_app_dim_driver_v1.0.yaml"
            depends_on: [silver_app_drivers]
          - layer: gold
            entity: gold_app_fact_trips
            path: "contracts/gold/gold_app_fact_trips_v1.0.yaml"
            depends_on: [silver_app_trips, gold_app_dim_driver]
          - {{layer: gold, entity: gold_app_inference, path: "contracts/gold/gold_app_inference_v1.0.yaml", enabled: false}}
        materialization:
          bronze: {{strategy: append, format: delta}}
          silver: {{strategy: merge, format: delta, merge_dedup_guard: true}}
          gold: {{strategy: merge, format: delta}}
        server:
          bronze: {{cast_to_string: true, schema_policy: {{evolution: append, unknown_fields: allow}}}}
          silver: {{schema_policy: {{evolution: strict, unknown_fields: quarantine}}}}
          gold: {{schema_policy: {{evolution: append, unknown_fields: drop}}}}
        {textwrap.indent(textwrap.dedent(_ENVIRONMENTS), " " * 8).strip()}
    """,
    "rides/app/contracts/bronze/bronze_app_trips_v1.0.yaml": """
        version: 1.0.0
        info: {title: Trips as they come, table_name: "{bronze_layer}_{system}_trips", target_layer: bronze}
        model:
          fields:
            - {name: trip_id, type: string}
            - {name: driver_id, type: string}
            - {name: fare_amount, type: float}
            - {name: rating, type: string}
            - {name: dropoff_at, type: string}
            - {name: payload_json, type: string}
        source:
          type: landing
          path: "{landing_root}/trips"
          format: csv
          options: {header: "true", recursiveFileLookup: "true"}
          load_mode: incremental
          watermark_strategy: pipeline_log
          partition: {format: "y_%Y/m_%m/d_%d/h_%H"}
    """,
    "rides/app/contracts/bronze/bronze_app_drivers_v1.0.yaml": """
        version: 1.0.0
        info: {title: Drivers as they come, table_name: bronze_app_drivers, target_layer: bronze}
        model:
          fields:
            - {name: driver_id, type: string}
            - {name: name, type: string, pii: true}
            - {name: status, type: string}
            - {name: updated_at, type: string}
        source:
          type: landing
          path: "{landing_root}/drivers"
          format: csv
          options: {header: "true", recursiveFileLookup: "true"}
          load_mode: incremental
          watermark_strategy: pipeline_log
    """,
    "rides/app/contracts/silver/silver_app_drivers_v1.0.yaml": """
        version: 1.0.0
        info: {title: Drivers, table_name: "{silver_layer}_app_drivers", target_layer: silver}
        primary_key: [driver_id]
        model:
          fields:
            - {name: driver_id, type: string, required: true}
            - {name: name, type: string, pii: true, masking: redact}
            - {name: status, type: string}
            - {name: updated_at, type: timestamp}
        transformations:
          - deduplicate: {by: [driver_id], sort_by: updated_at}
        source: {type: table, path: "table:{domain_catalog}.{bronze_layer}_app_drivers", load_mode: full}
    """,
    "rides/app/contracts/silver/silver_app_trips_v1.0.yaml": """
        version: 1.0.0
        info: {title: Trips, table_name: silver_app_trips, target_layer: silver}
        primary_key: [trip_id]
        model:
          fields:
            - {name: trip_id, type: string, required: true}
            - name: driver_id
              type: string
              required: true
              foreign_key: {contract: "{silver_layer}_app_drivers", column: driver_id}
            - {name: fare_amount, type: float}
            - {name: rating, type: float}
            - {name: dropoff_at, type: timestamp}
            - {name: payload_json, type: string}
        quality:
          row_rules:
            - {name: positive_spend, sql: "fare_amount >= 0"}
          dataset_rules:
            - unique: trip_id
        transformations:
          - deduplicate: {by: [trip_id]}
        source: {type: table, path: 'table:{domain_catalog}.{bronze_layer}_{system}_trips', load_mode: full}
    """,
    "rides/app/contracts/gold/gold_app_dim_driver_v1.0.yaml": """
        version: 1.0.0
        info: {title: Driver dimension, table_name: gold_app_dim_driver, target_layer: gold}
        primary_key: [driver_id]
        natural_key: [driver_id, effective_from]
        model:
          fields:
            - {name: driver_sk, type: string, required: true}
            - {name: driver_id, type: string, required: true}
            - {name: status, type: string}
            - {name: updated_at, type: timestamp}
            - {name: effective_from, type: timestamp}
            - {name: effective_to, type: timestamp}
            - {name: is_current, type: boolean}
            - {name: version_number, type: long}
        source: {type: table, path: "table:{domain_catalog}.silver_app_drivers", load_mode: full}
        materialization:
          strategy: scd2
          scd2:
            surrogate_key: driver_sk
            surrogate_key_strategy: hash
            timestamp_field: updated_at
            version_column: version_number
            change_reason_column: ""
            track_columns: [status]
            unknown_member: {enabled: true, surrogate_key_value: "-1"}
        quality:
          dataset_rules:
            - unique: driver_sk
    """,
    "rides/app/contracts/gold/gold_app_fact_trips_v1.0.yaml": """
        version: 1.0.0
        info: {title: Trip facts, table_name: gold_app_fact_trips, target_layer: gold}
        primary_key: [trip_id]
        model:
          fields:
            - {name: trip_id, type: string, required: true}
            - {name: driver_sk, type: string, required: true}
            - {name: fare_amount, type: float}
        links:
          - {name: dim_driver, type: table, table: "`{catalog}`.rides.gold_app_dim_driver"}
        source: {type: table, path: "table:{domain_catalog}.silver_app_trips", load_mode: full}
        transformations:
          - phase: pre
            sql: |
              SELECT t.trip_id, COALESCE(d.driver_sk, '-1') AS driver_sk, t.fare_amount
              FROM source t
              LEFT JOIN dim_driver d
                ON t.driver_id = d.driver_id
               AND t.dropoff_at >= d.effective_from AND t.dropoff_at < d.effective_to
    """,
    "rides/app/contracts/gold/gold_app_inference_v1.0.yaml": """
        version: 1.0.0
        info: {title: Switched off, table_name: gold_app_inference, target_layer: gold}
        primary_key: [trip_id]
        model: {fields: [{name: trip_id, type: string}]}
        source: {type: landing, path: "{storage_root}/{domain}/inference", format: parquet}
    """,
    "rides/app/contracts/silver/silver_app_clicks_v1.0.yaml": """
        version: 1.0.0
        info: {title: In no index, table_name: silver_app_clicks, target_layer: silver}
        primary_key: [click_id]
        model: {fields: [{name: click_id, type: string}]}
        source: {type: table, path: "table:{domain_catalog}.{bronze_layer}_app_trips"}
    """,
    "rides/calendar/_system.yaml": f"""
        domain: rides
        system: calendar
        {textwrap.indent(textwrap.dedent(_STORAGE), " " * 8).strip()}
        contracts:
          - {{layer: gold, entity: dim_date, path: "contracts/gold/gold_calendar_dim_date_v1.0.yaml"}}
        materialization: {{gold: {{strategy: overwrite, format: delta}}}}
        {textwrap.indent(textwrap.dedent(_ENVIRONMENTS), " " * 8).strip()}
            quarantine_root: ./lakehouse_spark/_quarantine
    """,
    "rides/calendar/_generators/dim_date.py": """
        from lakelogic.core.dim_date import generate_date_dimension


        def run(df, start_date, end_date, fiscal_year_start_month=1, **kwargs):
            return generate_date_dimension(start_date, end_date, fiscal_year_start_month, engine="polars")
    """,
    "rides/calendar/contracts/gold/gold_calendar_dim_date_v1.0.yaml": """
        version: 1.0.0
        info: {title: Calendar, table_name: "{gold_layer}_calendar_dim_date", target_layer: gold}
        primary_key: [date_key]
        model:
          fields:
            - {name: date_key, type: int, required: true}
            - {name: full_date, type: date, required: true}
            - {name: day_name, type: string}
            - {name: is_holiday_us, type: boolean}
        quality: {dataset_rules: [{unique: date_key}]}
        source:
          type: landing
          path: "{landing_root}/dim_date_seed"
          format: csv
          options: {header: "true"}
          load_mode: full
          watermark_strategy: none
        external_logic:
          type: python
          engine: spark
          path: "../../_generators/dim_date.py"
          entrypoint: run
          args: {start_date: "2026-01-01", end_date: "2026-12-31", fiscal_year_start_month: 4}
    """,
    "shared/_domain.yaml": """
        domain: shared
        ownership: {domain_owner: Analytics}
    """,
    "shared/_system.yaml": """
        domain: shared
        system: shared
        contracts: []
    """,
    "shared/marts/_system.yaml": f"""
        domain: shared
        system: marts
        {textwrap.indent(textwrap.dedent(_STORAGE), " " * 8).strip()}
        contracts:
          - {{layer: gold, entity: driver_health, path: "contracts/gold/gold_marts_driver_health_v1.0.yaml"}}
        server: {{gold: {{schema_policy: {{evolution: append, unknown_fields: drop}}}}}}
        {textwrap.indent(textwrap.dedent(_ENVIRONMENTS), " " * 8).strip()}
    """,
    # Reads links alone: what `source` holds is in one of them, and nothing asks for it.
    "shared/marts/contracts/gold/gold_marts_driver_health_v1.0.yaml": """
        version: 1.0.0
        info: {title: Health of drivers, table_name: gold_marts_driver_health, target_layer: gold}
        primary_key: [driver_id]
        model:
          fields:
            - {name: driver_id, type: string, required: true}
            - {name: trips, type: long}
            - {name: status, type: string}
        links:
          - {name: trips_full, type: table, table: "`{catalog}`.rides.silver_app_trips"}
          - {name: dim_driver, type: table, path: "table:`{catalog}`.rides.gold_app_dim_driver", filter: "is_current"}
        source: {type: table, path: "table:`{catalog}`.rides.silver_app_trips", load_mode: full}
        materialization: {strategy: overwrite}
        upstream_contracts: [{contract: silver_app_trips, domain: rides, layer: silver}]
        quality:
          row_rules:
            - {name: known_status, sql: "status IS NULL OR status IN ('active', 'resting')"}
        transformations:
          - phase: pre
            sql: |
              WITH per_driver AS (SELECT driver_id, COUNT(*) AS trips FROM trips_full GROUP BY driver_id)
              SELECT p.driver_id, p.trips, d.status FROM per_driver p LEFT JOIN dim_driver d ON p.driver_id = d.driver_id
    """,
    # A whole domain that nobody can read.
    "broken/_domain.yaml": "domain: [\n",
    "broken/feed/_system.yaml": """
        domain: broken
        system: feed
        contracts: [{layer: bronze, entity: news, path: contracts/bronze_feed_news.yaml}]
        environments: {local_spark: {catalog: local}}
    """,
    "broken/feed/contracts/bronze_feed_news.yaml": """
        version: 1.0.0
        info: {title: News, table_name: bronze_feed_news, target_layer: bronze}
        model: {fields: [{name: id, type: string}]}
        source: {type: landing, path: "{landing_root}/news", format: csv}
    """,
}

DRIVERS = """
    driver_id,name,status,updated_at
    d1,Ann,active,2026-02-01 08:00:00
    d2,Bob,active,2026-02-01 08:00:00
"""
TRIPS = """
    trip_id,driver_id,fare_amount,rating,dropoff_at,payload_json
    t1,d1,10.5,4.5,2026-02-01 09:00:00,"{""a"": ""x, y""}"
    t2,d2,-3,4,2026-02-01 09:10:00,
    t3,d9,7,5,2026-02-01 09:20:00,
    t4,d1,8,good,2026-02-01 09:30:00,
"""
# The columns stand in another order, and in a folder that is no hour.
EDGE_CASES = """
    driver_id,trip_id,dropoff_at,fare_amount,rating,payload_json
    d2,t5,2026-02-01 10:00:00,12,,
    d1,t1,2026-02-01 09:00:00,10.5,4.5,"{""a"": ""x, y""}"
"""


def write_mesh(folder: Path) -> Path:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
    return folder


def land(lake: Path, name: str, text: str) -> None:
    """A landing file of the domain `rides`, where a volume of the catalog is on this machine."""
    path = lake / "volumes" / "local" / "nondelta" / "landing_rides" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip("\n"))
