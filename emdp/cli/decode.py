"""``emdp decode``: what the readers of a tier estimate from messages and their keys."""

from typing import Annotated

import typer

from emdp.cli.tables import frame_text, table_width

__all__ = ["run"]


def run(
    messages: Annotated[str, typer.Argument(metavar="MESSAGES", help="File messages.json of answer.write_messages.")],
    keys: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keys of a stronger tier, which only their owner can read.")
    ] = None,
    tier: Annotated[int | None, typer.Option(help="Whose keys they are; by default as the file says.")] = None,
    level: Annotated[float, typer.Option(help="Coverage of each interval.")] = 0.95,
) -> None:
    """Estimate from messages that users sent, as the readers of a tier can; costs nothing, and reads no table.

    Without keys it is what everybody can: the last tier.

    \b
      emdp decode messages.json --keys tier-1.keys --tier 1
    """
    from emdp.sessions.decoding import decode_messages

    found = decode_messages(messages, keys=keys, tier=tier, level=level)
    print(frame_text(found.frame, width=table_width()))
    print(f"\ntier {found.tier}, messages of {found.users} users: {found.guarantee}", flush=True)
