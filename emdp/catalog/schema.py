"""The JSON schema of ``emdp.toml``, by which editors complete keys and underline what the catalog would refuse."""

from typing import Any

from emdp.catalog.budgets import BUDGET_KEYS
from emdp.catalog.catalog import CATALOG_KEYS
from emdp.catalog.entries import LINKED_KEYS, PUBLIC_KEYS, TABLE_KEYS
from emdp.spaces.registry import KINDS

__all__ = ["catalog_schema"]

TYPES = {str: "string", int: "integer", float: "number", dict: "object", list: "array", bool: "boolean"}
"""JSON's name of each type that TOML gives."""

Keys = dict[str, tuple[type | tuple[type, ...], str]]
"""Keys of a table of TOML, as the catalog checks them."""


def catalog_schema() -> dict[str, Any]:
    """Return the schema, made from the tables by which catalogs are checked.

    >>> sorted(catalog_schema()["properties"])
    ['ledger', 'public', 'tables']
    """
    entry = {"anyOf": [_object(TABLE_KEYS, ("source", "user", "space")), _object(LINKED_KEYS, ("source", "link"))]}
    own = {
        "ledger": {"type": "string", "description": "a file, or the address of a PostgreSQL database"},
        "tables": {"type": "object", "additionalProperties": entry},
        "public": {"type": "object", "additionalProperties": _object(dict(PUBLIC_KEYS), ("source",))},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "emdp.toml",
        "type": "object",
        "properties": {key: own.get(key, {}) for key in sorted(CATALOG_KEYS)},
        "additionalProperties": False,
    }


def _object(keys: Keys, needed: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: _value(key, types, text) for key, (types, text) in keys.items()},
        "required": list(needed),
        "additionalProperties": False,
    }


def _value(key: str, types: type | tuple[type, ...], text: str) -> dict[str, Any]:
    if key == "space":
        return {**_space(), "description": text}
    if key == "budget":
        one = {"type": "object", "properties": {own: {} for own in BUDGET_KEYS}, "additionalProperties": False}
        return {"anyOf": [one, {"type": "array", "items": one}], "description": text}
    names = [TYPES[one] for one in (types if isinstance(types, tuple) else (types,))]
    return {"type": names[0] if len(names) == 1 else names, "description": text}


def _space() -> dict[str, Any]:
    """Return the schema of a space: of each kind its keys, of a product its parts."""
    product = {"kind": {"const": "product"}, "parts": {"type": "array"}, "weights": {"type": "array"}}
    kinds = [{"properties": product, "required": ["kind", "parts"], "additionalProperties": False}]
    for name, (_, needed, further) in KINDS.items():
        keys: dict[str, Any] = {key: {} for key in f"{needed} {further}".split()}
        kinds.append({
            "properties": {"kind": {"const": name}, **keys},
            "required": ["kind", *needed.split()],
            "additionalProperties": False,
        })  # fmt: skip
    return {"type": "object", "anyOf": kinds}
