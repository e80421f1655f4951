"""The tables, functions and roles of a ledger in PostgreSQL, and the check that a database has exactly these.

All of it lies in the schema ``emdp_ledger``, which the role that made it owns. ``event`` holds the chain, ``head``
one row with the sequence and hash of its last entry, ``content`` texts under their digests, as in a file.

**Who may do what** is decided by the server, so that a client other than emdp changes nothing. Nobody but the owner
has a right on the tables except ``SELECT``; who charges calls ``append``, which runs as the owner (``SECURITY
DEFINER``). Its insertion fires ``check_event``, which takes the row lock of ``head`` and refuses

- a kind that is unknown, and ``created``, ``budget`` or ``redeclare`` unless the role that logged in
  (``session_user``, which no ``SET ROLE`` and no function changes) is a member of the owning role;
- an entry that does not follow the last one: sequence, previous hash, and the hash itself, computed again from the
  entry as :mod:`emdp.ledger.chain` does. So whatever is in the table is a chain that emdp reads, and the worst that
  an analyst can do with the function is to charge for nothing, to say of data that they were validated, or to leave an
  odd entry that stands for ever.

Triggers refuse UPDATE, DELETE and TRUNCATE of the chain to everybody, the owner too; who owns the tables can drop a
trigger, for which there is the chain. Texts are deleted through ``forget`` by whoever may charge, since reports keep
answers for a stated time; a deleted text costs a question asked again, and no budget is won by it.

Each function fixes ``search_path`` to ``pg_catalog``, names ours in full, and writes a backslash as ``chr(92)``: no
setting or object of the caller's changes what it means. ``session_replication_role`` takes a superuser, who can do
anything.
"""

from typing import TYPE_CHECKING, Any

from emdp.base.errors import LedgerError
from emdp.ledger.base import KINDS
from emdp.ledger.chain import FIRST_PREVIOUS_HASH

if TYPE_CHECKING:
    import psycopg

__all__ = [
    "APPEND",
    "BROKEN_LINK",
    "COUNT",
    "DROP",
    "HOLD",
    "KEEP",
    "MAY_WRITE",
    "SCHEMA",
    "SELECT_CONTENT",
    "SELECT_END",
    "SELECT_LINKS",
    "check_schema",
    "create_schema",
    "exchange_check",
    "grants",
    "has_schema",
]

SCHEMA = "emdp_ledger"
"""Name of the schema; a database holds one ledger."""

BROKEN_LINK = "EM001"
"""SQLSTATE of what the triggers refuse."""

MARK = "emdp ledger, format 1"
"""Comment on the schema: whose it is, and the version of the layout below; others are refused."""

SELECT_LINKS = f'SELECT sequence, time, kind, "table", payload, previous_hash, hash FROM {SCHEMA}.event'
SELECT_END = f"SELECT sequence, hash FROM {SCHEMA}.head"
COUNT = f"SELECT count(*) FROM {SCHEMA}.event WHERE sequence > %s::bigint OR %s::bigint = 0"
IS_OWNER = f"SELECT pg_has_role(session_user, nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = '{SCHEMA}'"
SELECT_CONTENT = f"SELECT digest, text FROM {SCHEMA}.content"
HOLD = f"SELECT {SCHEMA}.hold()"
APPEND = f"SELECT {SCHEMA}.append(%s::bigint, %s::text, %s::text, %s::text, %s::text, %s::text, %s::text, %s::text)"
DROP = f"SELECT {SCHEMA}.forget(%s::text[])"
KEEP = f"INSERT INTO {SCHEMA}.content VALUES (%s, %s)"

_LINK_TYPES = "bigint, text, text, text, text, text, text, text"
MAY_WRITE = f"SELECT has_function_privilege('{SCHEMA}.append({_LINK_TYPES})', 'EXECUTE')"

_PATH = "search_path=pg_catalog, pg_temp"
_ROW, _BEFORE, _INSERT, _DELETE, _UPDATE, _TRUNCATE = 1, 2, 4, 8, 16, 32
"""The bits of ``pg_trigger.tgtype``."""

_TABLES = {
    "event": {
        "sequence": "bigint", "time": "text", "kind": "text", "table": "text", "payload": "text",
        "previous_hash": "text", "hash": "text",
    },
    "head": {"one": "integer", "sequence": "bigint", "hash": "text"},
    "content": {"digest": "text", "text": "text"},
}  # fmt: skip

_REFUSE = """
BEGIN
    RAISE EXCEPTION 'a ledger is append-only' USING ERRCODE = 'EM001';
END
"""

_EVENT_HASH = """
DECLARE
    named text := '';
    one text;
    code integer;
BEGIN
    FOR place IN 1..length($4) LOOP
        one := substr($4, place, 1);
        code := ascii(one);
        named := named || CASE
            WHEN code IN (34, 92) THEN chr(92) || one
            WHEN code BETWEEN 32 AND 126 THEN one
            WHEN code = 8 THEN chr(92) || 'b'
            WHEN code = 9 THEN chr(92) || 't'
            WHEN code = 10 THEN chr(92) || 'n'
            WHEN code = 12 THEN chr(92) || 'f'
            WHEN code = 13 THEN chr(92) || 'r'
            WHEN code < 65536 THEN chr(92) || 'u' || lpad(to_hex(code), 4, '0')
            ELSE chr(92) || 'u' || to_hex(55296 + ((code - 65536) >> 10))
                || chr(92) || 'u' || to_hex(56320 + ((code - 65536) & 1023))
        END;
    END LOOP;
    RETURN encode(sha256(convert_to(
        '["emdp ledger 1",' || $1 || ',"' || $2 || '","' || $3 || '","' || named || '","'
        || replace(replace($5, chr(92), chr(92) || chr(92)), chr(34), chr(92) || chr(34))
        || '","' || $6 || '"]', 'UTF8')), 'hex');
END
"""

DEEPEST = 64
"""Deepest nesting of an entry's JSON. Beyond it, and beyond 400 digits in a row, Python could not read what PostgreSQL
takes, and so nobody the ledger."""

_CHECK_EVENT = f"""
DECLARE
    last {SCHEMA}.head;
    brackets text;
BEGIN
    SELECT * INTO last FROM {SCHEMA}.head FOR UPDATE;
    IF NEW.kind NOT IN ({", ".join(f"'{kind}'" for kind in KINDS)})
        OR (NEW.kind = 'created') <> (NEW.sequence = 1) OR (NEW.kind = 'created') <> (NEW."table" = '')
    THEN
        RAISE EXCEPTION 'a ledger takes no such entry' USING ERRCODE = '{BROKEN_LINK}';
    END IF;
    IF NEW.kind IN ('created', 'budget', 'redeclare', 'row', 'totals')
        AND NOT pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')
    THEN
        RAISE EXCEPTION 'only an owner of the ledger may create it, write a budget, declare rules anew or add rows'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.sequence <> last.sequence + 1 OR NEW.previous_hash <> last.hash
        OR NEW.time COLLATE "C" !~ '^[0-9]{{4}}(-[0-9][0-9]){{2}}T[0-9][0-9](:[0-9][0-9]){{2}}[.][0-9]{{6}}[+]00:00$'
        OR NEW.payload COLLATE "C" !~ '^[ -~]*$' OR json_typeof(NEW.payload::json) <> 'object'
        OR NEW.hash <> {SCHEMA}.event_hash(
            NEW.sequence, NEW.time, NEW.kind, NEW."table", NEW.payload, NEW.previous_hash)
    THEN
        RAISE EXCEPTION 'the entry does not follow the last one' USING ERRCODE = '{BROKEN_LINK}';
    END IF;
    -- A backslash is written chr(92): a setting of the caller's could give it another meaning.
    brackets := regexp_replace(NEW.payload,
        '"([^"' || chr(92) || chr(92) || ']|' || chr(92) || chr(92) || '.)*"', '', 'g');
    brackets := regexp_replace(brackets, '[^][{{}}]', '', 'g');
    FOR level IN 1..{DEEPEST} LOOP
        brackets := regexp_replace(brackets, '[[][]]|[{{][}}]', '', 'g');
    END LOOP;
    IF brackets <> '' OR NEW.payload ~ '([0-9]{{200}}){{2}}' THEN
        RAISE EXCEPTION 'the entry is nested too deeply, or holds too long a number' USING ERRCODE = '{BROKEN_LINK}';
    END IF;
    RETURN NEW;
END
"""

_CHECK_EVENT_WITHOUT_TOTALS = _CHECK_EVENT.replace(", 'totals'", "", 1).replace("'row', 'totals')", "'row')")
"""The check in ledgers of the version without totals; the first totals of an owner replace it."""

_CHECK_EVENT_WITHOUT_ROWS = (
    _CHECK_EVENT_WITHOUT_TOTALS.replace(", 'row'", "", 1)
    .replace("('created', 'budget', 'redeclare', 'row')", "('created', 'budget', 'redeclare')")
    .replace("a budget, declare rules anew or add rows", "a budget or declare rules anew")
)
"""The check in ledgers of the version without streams on servers; an owner's first row replaces it."""

_CHECK_EVENT_BEFORE = (
    _CHECK_EVENT_WITHOUT_ROWS.replace(", 'redeclare'", "", 1)
    .replace("('created', 'budget', 'redeclare')", "('created', 'budget')")
    .replace("create it, write a budget or declare rules anew", "create it or write a budget")
)
"""The check in ledgers of the version without redeclaring; an owner's first redeclaring replaces it."""

_CHECK_HEAD = f"""
BEGIN
    IF NEW.one <> OLD.one OR NEW.sequence <> OLD.sequence + 1
        OR NOT EXISTS (SELECT FROM {SCHEMA}.event WHERE sequence = NEW.sequence AND hash = NEW.hash)
    THEN
        RAISE EXCEPTION 'the head is that of no entry' USING ERRCODE = '{BROKEN_LINK}';
    END IF;
    RETURN NEW;
END
"""

_CHECK_TEXT = f"""
BEGIN
    IF NEW.digest <> encode(sha256(convert_to(NEW.text, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'a text is kept under its own digest' USING ERRCODE = '{BROKEN_LINK}';
    END IF;
    RETURN NEW;
END
"""

_HOLD = f"""
BEGIN
    PERFORM FROM {SCHEMA}.head FOR UPDATE;
END
"""

# Of a member that stands there twice the last counts, here as in Python.
_APPEND = f"""
DECLARE
    digest text := encode(sha256(convert_to($8, 'UTF8')), 'hex');
BEGIN
    INSERT INTO {SCHEMA}.event VALUES ($1, $2, $3, $4, $5, $6, $7);
    UPDATE {SCHEMA}.head SET sequence = $1, hash = $7;
    IF $8 IS NOT NULL THEN
        IF $3 <> 'answer' OR ($5::json ->> 'content') IS DISTINCT FROM digest THEN
            RAISE EXCEPTION 'a text is kept with an answer that names it' USING ERRCODE = '{BROKEN_LINK}';
        END IF;
        INSERT INTO {SCHEMA}.content VALUES (digest, $8) ON CONFLICT DO NOTHING;
    END IF;
    RETURN pg_current_xact_id()::text;
END
"""

_FORGET = f"""
DECLARE
    gone integer;
BEGIN
    PERFORM FROM {SCHEMA}.head FOR UPDATE;
    DELETE FROM {SCHEMA}.content WHERE digest = ANY ($1);
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
"""

_FUNCTIONS: dict[str, tuple[str, str, bool, str]] = {
    "refuse": ("", "trigger", False, _REFUSE),
    "event_hash": ("bigint, text, text, text, text, text", "text", False, _EVENT_HASH),
    "check_event": ("", "trigger", False, _CHECK_EVENT),
    "check_head": ("", "trigger", False, _CHECK_HEAD),
    "check_text": ("", "trigger", False, _CHECK_TEXT),
    "hold": ("", "void", True, _HOLD),
    "append": (_LINK_TYPES, "text", True, _APPEND),
    "forget": ("text[]", "integer", True, _FORGET),
}
"""Arguments, result, whether it runs as the owner, and the body, in the order in which they are made."""

_TRIGGERS = {
    "event_insert": ("event", _ROW | _BEFORE | _INSERT, "check_event"),
    "event_change": ("event", _BEFORE | _UPDATE | _DELETE | _TRUNCATE, "refuse"),
    "head_update": ("head", _ROW | _BEFORE | _UPDATE, "check_head"),
    "head_change": ("head", _BEFORE | _INSERT | _DELETE | _TRUNCATE, "refuse"),
    "content_insert": ("content", _ROW | _BEFORE | _INSERT, "check_text"),
    "content_update": ("content", _BEFORE | _UPDATE, "refuse"),
}
"""Table, kind and function of each trigger."""

_FOUND = f"""
WITH own AS (SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = '{SCHEMA}')
SELECT
    (SELECT obj_description(oid, 'pg_namespace') FROM own),
    (SELECT jsonb_object_agg(c.relname, jsonb_build_array(
        c.relkind = 'r' AND c.relpersistence = 'p' AND NOT c.relhasrules AND NOT c.relrowsecurity,
        (SELECT jsonb_object_agg(a.attname, format_type(a.atttypid, a.atttypmod)) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull)))
     FROM pg_class c JOIN own ON c.relnamespace = own.oid WHERE c.relkind NOT IN ('i', 'c')),
    (SELECT jsonb_object_agg(p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
        jsonb_build_array(p.prosrc, p.prosecdef, p.proconfig, p.proowner = own.nspowner))
     FROM pg_proc p JOIN own ON p.pronamespace = own.oid),
    (SELECT jsonb_object_agg(t.tgname, jsonb_build_array(
        c.relname, t.tgtype, p.proname, t.tgenabled = 'O' AND t.tgqual IS NULL AND p.pronamespace = own.oid))
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
     JOIN own ON c.relnamespace = own.oid WHERE NOT t.tgisinternal),
    (SELECT count(*) FROM own, aclexplode(own.nspacl) x
     WHERE x.grantee <> own.nspowner AND x.privilege_type <> 'USAGE')
    + (SELECT count(*) FROM own JOIN pg_class c ON c.relnamespace = own.oid, aclexplode(c.relacl) x
       WHERE x.grantee <> own.nspowner AND x.privilege_type <> 'SELECT')
    + (SELECT count(*) FROM own JOIN pg_class c ON c.relnamespace = own.oid WHERE c.relowner <> own.nspowner)
    + (SELECT count(*) FROM own JOIN pg_class c ON c.relnamespace = own.oid
       JOIN pg_attribute a ON a.attrelid = c.oid, aclexplode(a.attacl) x
       WHERE x.grantee <> own.nspowner AND x.privilege_type <> 'SELECT')
"""
"""The mark, the tables with their columns, functions, triggers, and rights of others that none should have."""


def has_schema(connection: "psycopg.Connection[Any]") -> bool:
    """Say whether the database holds the schema of a ledger."""
    return bool(connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)).fetchall())


def create_schema(connection: "psycopg.Connection[Any]") -> None:
    """Make schema, tables, functions, triggers and the head before the first entry, in the caller's transaction."""
    connection.execute(f"CREATE SCHEMA {SCHEMA}")
    keys = {"event": "sequence", "head": "one", "content": "digest"}
    for table, columns in _TABLES.items():
        listed = ", ".join(f'"{name}" {kind} NOT NULL' for name, kind in columns.items())
        connection.execute(f"CREATE TABLE {SCHEMA}.{table} ({listed}, PRIMARY KEY ({keys[table]}))")
    connection.execute(f"ALTER TABLE {SCHEMA}.head ADD CHECK (one = 1)")
    connection.execute(f"INSERT INTO {SCHEMA}.head VALUES (1, 0, '{FIRST_PREVIOUS_HASH}')")
    for name in _FUNCTIONS:
        connection.execute(_created(name))
    words = {_INSERT: "INSERT", _DELETE: "DELETE", _UPDATE: "UPDATE", _TRUNCATE: "TRUNCATE"}
    for name, (table, bits, function) in _TRIGGERS.items():
        events = " OR ".join(word for bit, word in words.items() if bits & bit)
        connection.execute(
            f"CREATE TRIGGER {name} BEFORE {events} ON {SCHEMA}.{table} "
            f"FOR EACH {'ROW' if bits & _ROW else 'STATEMENT'} EXECUTE FUNCTION {SCHEMA}.{function}()"
        )
    connection.execute(f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {SCHEMA} FROM PUBLIC")
    connection.execute(f"COMMENT ON SCHEMA {SCHEMA} IS '{MARK}'")


def check_schema(connection: "psycopg.Connection[Any]", shown: str) -> None:
    """Raise ``LedgerError`` unless the schema is a ledger's, with all that guards it, and nobody has more rights."""
    row = connection.execute(_FOUND).fetchone()
    mark, tables, functions, triggers, foreign = row if row is not None else (None,) * 5
    if mark != MARK:
        raise LedgerError(
            f"ledger {shown} has the mark {mark!r} on its schema, this emdp reads {MARK!r}; install the emdp that "
            "wrote it, or name another database."
        )
    wanted = (
        {name: [True, columns] for name, columns in _TABLES.items()},
        {
            f"{name}({arguments})": [body, as_owner, [_PATH], True]
            for name, (arguments, _, as_owner, body) in _FUNCTIONS.items()
        },
        {name: [*trigger, True] for name, trigger in _TRIGGERS.items()},
    )
    for earlier in (_CHECK_EVENT_WITHOUT_TOTALS, _CHECK_EVENT_WITHOUT_ROWS, _CHECK_EVENT_BEFORE):
        if functions and functions.get("check_event()", [None])[0] == earlier:
            wanted[1]["check_event()"][0] = earlier
    if (tables, functions, triggers) != wanted:
        raise LedgerError(
            f"ledger {shown} lacks its tables, functions or triggers, or has others; put back the last good copy."
        )
    if foreign:
        raise LedgerError(
            f"ledger {shown} gives roles other than its owner's more than SELECT on its tables and USAGE of its "
            f"schema; revoke that, and see `emdp ledger roles`."
        )


def exchange_check(connection: "psycopg.Connection[Any]") -> None:
    """Give a ledger of an earlier version the check that knows all kinds; rights on the function stay as they are.

    Raises
    ------
    psycopg.errors.InsufficientPrivilege
        If it has the earlier one, and this user is no owner.
    """
    found = f"SELECT prosrc FROM pg_proc WHERE oid = '{SCHEMA}.check_event()'::regprocedure"
    if connection.execute(found).fetchall() != [(_CHECK_EVENT,)]:
        connection.execute(_created("check_event", or_replace=True))


def grants(analysts: tuple[str, ...], auditors: tuple[str, ...]) -> tuple[str, ...]:
    """Return the statements by which an owner lets analysts charge, and auditors read.

    >>> grants((), ("audit",))[0]
    'GRANT USAGE ON SCHEMA emdp_ledger TO "audit";'
    """
    everybody = ", ".join(map(_quoted, (*analysts, *auditors)))
    found = []
    if everybody:
        tables = ", ".join(f"{SCHEMA}.{table}" for table in _TABLES)
        found += [f"GRANT USAGE ON SCHEMA {SCHEMA} TO {everybody};", f"GRANT SELECT ON {tables} TO {everybody};"]
    if analysts:
        calls = ", ".join(f"{SCHEMA}.{name}({_FUNCTIONS[name][0]})" for name in ("hold", "append", "forget"))
        found.append(f"GRANT EXECUTE ON FUNCTION {calls} TO {', '.join(map(_quoted, analysts))};")
    return tuple(found)


def _created(name: str, *, or_replace: bool = False) -> str:
    arguments, result, as_owner, body = _FUNCTIONS[name]
    return (
        f"CREATE {'OR REPLACE ' if or_replace else ''}FUNCTION {SCHEMA}.{name}({arguments}) RETURNS {result} LANGUAGE "
        f"plpgsql {'SECURITY DEFINER' if as_owner else ''} SET search_path = pg_catalog, pg_temp AS $body${body}$body$"
    )


def _quoted(role: str) -> str:
    return '"' + role.replace('"', '""') + '"'
