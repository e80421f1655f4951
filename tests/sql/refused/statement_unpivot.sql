-- code: unpivot
-- underlined: UNPIVOT
-- says: UNPIVOT is refused
UNPIVOT visits ON price INTO NAME n VALUE v
