"""Numbers of a row of which all but one are nothing, 0 or NULL, whatever the row."""

from emdp.rows.nodes import Case, Literal, Node

__all__ = ["is_apart", "is_nothing"]


def is_nothing(node: Node) -> bool:
    """Say whether a number of a row is the literal 0 or NULL.

    >>> from emdp.rows.types import Kind
    >>> is_nothing(Literal(0, Kind.BIGINT)), is_nothing(Literal(None, Kind.DOUBLE)), is_nothing(Literal(1, Kind.BIGINT))
    (True, True, False)
    """
    return isinstance(node, Literal) and (
        node.value is None or (isinstance(node.value, int | float) and node.value == 0)
    )


def is_apart(one: Node | None, other: Node | None) -> bool:
    """Say whether of two numbers one is nothing in each row: two CASE of the same conditions."""
    if not (isinstance(one, Case) and isinstance(other, Case)):
        return False
    tests = [[test for test, _ in node.branches] for node in (one, other)]
    values = [(*(value for _, value in node.branches), node.otherwise) for node in (one, other)]
    return tests[0] == tests[1] and all(any(map(is_nothing, pair)) for pair in zip(*values, strict=True))
