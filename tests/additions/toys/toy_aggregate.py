"""An aggregate in one file: the second moment, the mean of the expression's square."""

from dataclasses import replace

from emdp.estimators.mean.conditional import RULES, KindRule, Needed, ValueList
from emdp.expressions.functions.smooth import Power
from emdp.questions.item_kinds import ItemKind
from emdp.questions.select import Item, Select
from emdp.spaces import Space

__all__ = ["KIND", "RULE"]


def _needed(item: Item, query: Select, space: Space, values: ValueList) -> Needed:
    square = replace(item, expression=Power(item.expression, 2.0))
    return replace(RULES["avg"].needed(square, query, space, values), item=item)


KIND = ItemKind(("SECOND_MOMENT",))
RULE = KindRule(_needed, typical=RULES["avg"].typical)
