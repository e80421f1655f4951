"""Constructs of the language, each with the parts that it may have: what is on none of these lists is refused."""

from collections.abc import Mapping

from sqlglot import exp

__all__ = ["AROUND_JOINS", "AROUND_PARTS", "OWNED_PARTS", "PARTS"]

OPERANDS = frozenset({"this", "expression"})

PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset({"expressions", "from_", "joins", "where", "group", "order", "limit", "offset", "with_"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.From: frozenset({"this"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method"}),
    exp.Where: frozenset({"this"}),
    exp.Group: frozenset({"expressions"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: frozenset({"this"}),
    exp.Null: frozenset(),
    exp.Star: frozenset(),
    exp.Paren: frozenset({"this"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Add: OPERANDS,
    exp.Sub: OPERANDS,
    exp.Mul: OPERANDS,
    exp.Div: OPERANDS | {"typed", "safe"},
    exp.IntDiv: OPERANDS,
    exp.Mod: OPERANDS,
    exp.Pow: OPERANDS,
    exp.Neg: frozenset({"this"}),
    exp.Not: frozenset({"this"}),
    exp.And: OPERANDS,
    exp.Or: OPERANDS,
    exp.EQ: OPERANDS,
    exp.NEQ: OPERANDS,
    exp.GT: OPERANDS,
    exp.GTE: OPERANDS,
    exp.LT: OPERANDS,
    exp.LTE: OPERANDS,
    exp.NullSafeEQ: OPERANDS,
    exp.NullSafeNEQ: OPERANDS,
    exp.Is: OPERANDS,
    exp.Like: OPERANDS | {"negate"},
    exp.ILike: OPERANDS | {"negate"},
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "requires_string", "safe"}),
    exp.DataType: frozenset({"this", "expressions", "values", "nested"}),
    exp.DataTypeParam: frozenset({"this"}),
    exp.Extract: OPERANDS,
    exp.Var: frozenset({"this"}),
}
"""The constructs of the language, each with the parts that it may have."""

OWNED_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    **PARTS,
    exp.Select: PARTS[exp.Select] | {"having", "distinct", "qualify"},
    exp.Having: frozenset({"this"}),
    exp.Qualify: frozenset({"this"}),
    exp.Union: frozenset({"this", "expression", "distinct"}),
    exp.Exists: frozenset({"this"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Filter: OPERANDS,
    exp.DPipe: OPERANDS | {"safe"},
    exp.RegexpLike: OPERANDS,
    exp.AtTimeZone: frozenset({"this", "zone"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Values: frozenset({"expressions", "alias"}),
    exp.Tuple: frozenset({"expressions"}),
}
"""The same of statements over rows with owners, under USER_PRIVACY."""

AROUND_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    **OWNED_PARTS,
    exp.Distinct: frozenset({"expressions"}),
    exp.Escape: OPERANDS,
    **dict.fromkeys(
        (exp.Union, exp.Intersect, exp.Except),
        frozenset({"this", "expression", "distinct", "order", "limit", "offset", "with_"}),
    ),
}
"""The same of what stands around private rows: SQL over public tables and noisy answers."""

AROUND_JOINS = ("", "INNER", "LEFT", "LEFT OUTER", "RIGHT", "RIGHT OUTER", "FULL", "FULL OUTER", "CROSS")
