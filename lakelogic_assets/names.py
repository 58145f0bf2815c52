"""Every name the engine reserves: columns it adds, keys it understands, files it looks for."""

from typing import Final

ENGINE_PREFIX: Final = "_lakelogic_"

SOURCE_COLUMN: Final = "_lakelogic_source"
PROCESSED_AT_COLUMN: Final = "_lakelogic_processed_at"
RUN_ID_COLUMN: Final = "_lakelogic_run_id"
CONTRACT_NAME_COLUMN: Final = "_lakelogic_contract_name"
DOMAIN_COLUMN: Final = "_lakelogic_domain"
SYSTEM_COLUMN: Final = "_lakelogic_system"
CREATED_AT_COLUMN: Final = "_lakelogic_created_at"
CREATED_BY_COLUMN: Final = "_lakelogic_created_by"

ERRORS_COLUMN: Final = "_lakelogic_errors"
CATEGORIES_COLUMN: Final = "_lakelogic_categories"
RAW_COLUMN: Final = "_lakelogic_raw_values"
ROW_ID_COLUMN: Final = "_lakelogic_row_id"
WINDOW_COLUMN: Final = "_lakelogic_window"
QUARANTINE_STATE_COLUMN: Final = "quarantine_state"
QUARANTINE_REPROCESSED_COLUMN: Final = "quarantine_reprocessed"
QUARANTINE_CONTRACT_COLUMN: Final = "_lakelogic_quarantined_by"

IS_DELETED_COLUMN: Final = "_lakelogic_is_deleted"
DELETED_AT_COLUMN: Final = "_lakelogic_deleted_at"
DELETE_REASON_COLUMN: Final = "_lakelogic_delete_reason"

ROLLUP_KEYS_COLUMN: Final = "_lakelogic_rollup_keys"
ROLLUP_KEYS_COUNT_COLUMN: Final = "_lakelogic_rollup_keys_count"
UPSTREAM_RUN_ID_COLUMN: Final = "_upstream_lakelogic_run_id"
UPSTREAM_RUN_IDS_COLUMN: Final = "_upstream_lakelogic_run_ids"
EXTRACTION_CONFIDENCE_COLUMN: Final = "_lakelogic_extraction_confidence"

CURRENT_FRAME: Final = "source"
"""The name by which a contract's SQL calls the rows it is working on."""

DOMAIN_FILE: Final = "_domain.yaml"
SYSTEM_FILE: Final = "_system.yaml"
REGISTRY_FILE: Final = "_registry.yaml"
POLICY_PACKS_FOLDER: Final = "policy_packs"

EXTENSION_PREFIX: Final = "com.lakelogic."
PARTITIONS_EXTENSION: Final = f"{EXTENSION_PREFIX}partitions"
AUTOMATION_EXTENSION: Final = f"{EXTENSION_PREFIX}automation"
UPSTREAM_FRESHNESS_EXTENSION: Final = f"{EXTENSION_PREFIX}upstream_freshness"
ANY_UPSTREAM: Final = "*"
"""What stands there for every upstream that is not named."""

SECRET_WORDS: Final = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "webhook"),
    *("api_key", "apikey", "private_key", "access_key", "account_key", "connection_string"),
)
"""A setting whose name holds one of these has a value that is not shown and not kept."""

LAYERS: Final = ("reference", "bronze", "silver", "gold")
EVERY_LAYER: Final = "_all"
LAYER_SYNONYMS: Final = {
    "raw": "bronze",
    "landing": "bronze",
    "curated": "silver",
    "cleansed": "silver",
    "mart": "gold",
    "marts": "gold",
    "consumption": "gold",
    "platinum": "gold",
} | {layer: layer for layer in LAYERS}
