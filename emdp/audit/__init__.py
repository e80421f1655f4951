"""Audit: tries to break the product's own promises, and reports lower bounds of the loss beside the claimed one.

Nothing here reads a private record: tables are made from the public space (:mod:`emdp.audit.points`), so that what an
audit finds may be published.
"""

from emdp.audit.bounds import clopper_pearson_lower, clopper_pearson_upper, epsilon_bounds
from emdp.audit.mechanisms import audit_mechanisms, audit_randomizer, generated_table
from emdp.audit.report import Agreement, AuditReport, AuditRow
from emdp.audit.run import audit
from emdp.audit.tester import Finding, Scores, find_losses

__all__ = [
    "Agreement",
    "AuditReport",
    "AuditRow",
    "Finding",
    "Scores",
    "audit",
    "audit_mechanisms",
    "audit_randomizer",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "epsilon_bounds",
    "find_losses",
    "generated_table",
]
