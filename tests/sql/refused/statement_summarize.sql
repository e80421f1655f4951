-- code: summarize
-- underlined: SUMMARIZE
-- says: SUMMARIZE is refused
SUMMARIZE visits
