"""Reader of a ledger's path or address, for the catalog, Python and the command line.

Addresses of servers are read strictly, so that no password can be taken for something that is shown. A character that
would end the password early (such as ``@`` or ``/``) would put the rest of it into the host's name, and from there into
messages; so it must be written as ``%40`` or ``%2F``, and everything else is refused without a word of it. What only
looks like an address, or like another way of naming a server, is no path either: a file of that name would be a full
budget that nobody shares.
"""

import os
import re
from dataclasses import field
from pathlib import Path
from urllib.parse import unquote

from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError, UsageError

__all__ = ["Address", "address_of", "place_beside", "place_of", "shown_place"]

_SCHEMES = ("postgresql://", "postgres://")

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^:/?#@,\[\]\s]*)(?::[0-9]*)?"

_ADDRESS = re.compile(
    r"postgres(?:ql)?://"
    r"(?:(?P<user>[^:/?#@\s]*)(?::(?P<password>[^/?#@\s]*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?:/(?P<database>[^/?#@\s]*))?"
    r"(?:\?(?P<options>[^?#@\s]*))?"
)

_SHOWN_OPTIONS = {
    "application_name", "channel_binding", "connect_timeout", "dbname", "gssencmode", "host", "hostaddr", "krbsrvname",
    "passfile", "port", "require_auth", "service", "sslcert", "sslcrl", "sslkey", "sslmode", "sslrootcert",
    "target_session_attrs", "user",
}  # fmt: skip
"""Options of an address that may be shown; all others are left out, whatever later versions put there."""


_SIGNS = re.compile(r"[^/]*[:=]|.*://|(?i:postgres(?:ql)?//)", re.DOTALL)
"""Beginning of an address of any scheme, its colon forgotten too, or of libpq's ``dbname=city``: a path has a folder
before such a sign."""


@dataclass(frozen=True)
class Address:
    """Address of a ledger on a PostgreSQL server.

    Attributes
    ----------
    text : str
        The whole address, for the server's library alone.
    shown : str
        The same without password, for messages and receipts; opens the same ledger where the password comes from a
        password file or the environment.
    names : frozenset of str
        The options that it sets.
    """

    text: str = field(repr=False)
    shown: str
    names: frozenset[str]
    _secrets: tuple[str, ...] = field(repr=False)

    def scrub(self, message: str) -> str:
        """Return a message of the server's library in one line, with each secret of the address struck out."""
        line = " ".join(message.split())
        for secret in sorted(self._secrets, key=len, reverse=True):
            line = line.replace(secret, "***")
        return line


def address_of(place: object) -> Address | None:
    """Return an address as it was read, or None for what is none, such as a path.

    Raises
    ------
    UsageError
        If it begins as an address does, and is malformed or names no database.

    >>> address_of("postgresql://ann:secret@db.example/city").shown
    'postgresql://ann@db.example/city'
    >>> address_of("city.ledger") is None
    True
    """
    if not isinstance(place, str) or not place.lower().startswith(_SCHEMES):
        return None
    found = _ADDRESS.fullmatch(place)
    options = _options(found["options"] or "") if found else None
    if found is None or options is None or "%00" in place or "\0" in place:
        raise UsageError(
            "ledger is a malformed address; write postgresql://user@host/database, with @ : / ? # in a password as "
            "%40 %3A %2F %3F %23."
        )
    if not found["database"] and not {"dbname", "service"} & options.keys():
        raise UsageError("ledger is an address without a database; write postgresql://user@host/database.")
    kept = {name: value for name, value in options.items() if name in _SHOWN_OPTIONS}
    user = f"{found['user']}@" if found["user"] else ""
    shown = f"postgresql://{user}{found['hosts']}/{found['database'] or ''}"
    if kept:
        shown += "?" + "&".join(f"{name}={value}" for name, value in kept.items())
    raw = [found["password"] or "", *(value for name, value in options.items() if name not in kept)]
    secrets = {text for value in raw for text in (value, unquote(value)) if text}
    return Address(place, shown, frozenset(options), tuple(secrets))


def place_of(place: object) -> Address | Path:
    """Return where a ledger lies: the address of a server as it was read, or the absolute path of a local file.

    Raises
    ------
    UsageError
        If it is an address that is malformed or of another kind, or looks like a connection, as ``dbname=city`` does;
        nothing of it is shown. A file of such a name is written with its folder, ``./dbname=city``.
    LedgerError
        If it names no file.

    >>> place_of("/srv/city.ledger").name, place_of("/srv/a=b.ledger").name
    ('city.ledger', 'a=b.ledger')
    >>> try:
    ...     place_of("dbname=city")
    ... except UsageError as refusal:
    ...     print(refusal.problem)
    ledger looks like a server's connection
    """
    address = address_of(place)
    if address is not None:
        return address
    if not isinstance(place, str | os.PathLike) or not isinstance(text := os.fspath(place), str):
        raise UsageError(f"ledger must be a path, not {type(place).__name__}; pass a string or a Path.")
    if text in {"", ":memory:"} or "\0" in text:
        raise LedgerError(f"ledger {text!r} names no file, and a ledger must outlive the process; pass a path.")
    if _SIGNS.match(text):
        # It may hold a password, wherever it stands.
        raise UsageError(
            "ledger looks like a server's connection; write postgresql://user@host/database, or a file's name that has "
            ": or = with its whole folder, as /FOLDER/NAME or ./NAME."
        )
    return Path(text).absolute()


def place_beside(folder: Path, text: str) -> str:
    """Return what opens the ledger that a file in a folder names: an address as it is, or an absolute path.

    Raises
    ------
    UsageError, LedgerError
        As :func:`place_of` does.

    >>> place_beside(Path("/srv/a=b"), "city.ledger")
    '/srv/a=b/city.ledger'
    """
    place = place_of(text)
    return place.text if isinstance(place, Address) else str((folder / text).absolute())


def shown_place(place: str | os.PathLike[str]) -> str:
    """Return a ledger's place as it may be shown.

    >>> shown_place("postgres://ann:secret@/city?host=/run&password=x"), shown_place("a/city.ledger")
    ('postgresql://ann@/city?host=/run', 'a/city.ledger')
    """
    text = str(os.fspath(place))
    address = address_of(text)
    return text if address is None else address.shown


def _options(text: str) -> dict[str, str] | None:
    """Return options by name as they were written, or None if they are malformed."""
    found: dict[str, str] = {}
    for part in text.split("&") if text else ():
        name, equals, value = part.partition("=")
        if not equals or not re.fullmatch("[a-z_]+", name) or "=" in value or name in found:
            return None
        found[name] = value
    return found
