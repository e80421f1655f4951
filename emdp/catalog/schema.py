"""The JSON schema of ``emdp.toml``, by which editors complete keys and underline what the catalog would refuse."""

from typing import Any

from emdp.catalog.budgets import BUDGET_KEYS, HISTORY_KEYS, PER_PERIOD_KEYS
from emdp.catalog.catalog import CATALOG_KEYS
from emdp.catalog.entries import LINK_KEYS, LINKED_KEYS, PUBLIC_KEYS, TABLE_KEYS
from emdp.spaces import Elsewhere
from emdp.spaces.registry import KINDS

__all__ = ["catalog_schema"]

TYPES = {str: "string", int: "integer", float: "number", dict: "object", list: "array", bool: "boolean"}
"""JSON's name of each type that TOML gives."""

NUMBER, SPACE = {"type": "number"}, {"$ref": "#/definitions/space"}
"""Schemas of a number, and of a space wherever one stands."""

Keys = dict[str, tuple[type | tuple[type, ...], str]]
"""Keys of a table of TOML, as the catalog checks them."""


def catalog_schema() -> dict[str, Any]:
    """Return the schema, made from the tables by which catalogs are checked.

    >>> sorted(catalog_schema()["properties"])
    ['ledger', 'public', 'tables']
    """
    linked = _object(LINKED_KEYS, ("source", "space", "link"))
    entry = {"anyOf": [_object(TABLE_KEYS, ("source", "user", "space")), linked]}
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
        "definitions": {"part": {"type": "object", "anyOf": _kinds()}, "space": _space()},
    }


def _object(keys: Keys, needed: tuple[str, ...]) -> dict[str, Any]:
    return _closed({key: _value(key, types, text) for key, (types, text) in keys.items()}, needed)


def _value(key: str, types: type | tuple[type, ...], text: str) -> dict[str, Any]:
    if key == "space":
        # Draft 7 reads nothing beside a $ref.
        return {"allOf": [SPACE], "description": text}
    if key == "budget":
        inner = {
            "per_period": _closed(dict.fromkeys(sorted(PER_PERIOD_KEYS), NUMBER), ("alpha",)),
            "history": _closed(dict.fromkeys(sorted(HISTORY_KEYS), NUMBER), ("periods",)),
        }
        one = _closed({own: inner.get(own, {}) for own in BUDGET_KEYS}, ())
        return {"anyOf": [one, {"type": "array", "items": one}], "description": text}
    if key == "link":
        return {**_closed({own: {"type": "string"} for own in LINK_KEYS}, LINK_KEYS), "description": text}
    if key == "protect":
        return {"type": "array", "items": {"anyOf": [_change("fraction"), _change("records")]}, "description": text}
    names = [TYPES[one] for one in (types if isinstance(types, tuple) else (types,))]
    return {"type": names[0] if len(names) == 1 else names, "description": text}


def _closed(keys: dict[str, Any], needed: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a table that has no further keys."""
    return {"type": "object", "properties": keys, "required": list(needed), "additionalProperties": False}


def _change(much: str) -> dict[str, Any]:
    """Return the schema of a protected change, which says how much moves as a fraction or in records."""
    return _closed({much: NUMBER, "distance": {}, "epsilon": NUMBER, "part": {}}, (much, "distance", "epsilon"))


def _space() -> dict[str, Any]:
    """Return the schema of a space: one of a kind, or a product of such parts."""
    parts = {"type": "array", "items": {"$ref": "#/definitions/part"}}
    product = _closed({"kind": {"const": "product"}, "parts": parts, "weights": {"type": "array"}}, ("kind", "parts"))
    return {"type": "object", "anyOf": [product, *_kinds()]}


def _kinds() -> list[dict[str, Any]]:
    """Return the schemas of spaces of one part: of each kind its keys."""
    kinds = []
    taken = {name: (needed, further) for name, (_, needed, further) in KINDS.items()}
    for name, (needed, further) in (taken | {Elsewhere.kind: ("inner", "distance slots")}).items():
        keys: dict[str, Any] = {key: SPACE if key == "inner" else {} for key in f"{needed} {further}".split()}
        kinds.append(_closed({"kind": {"const": name}, **keys}, ("kind", *needed.split())))
    return kinds
