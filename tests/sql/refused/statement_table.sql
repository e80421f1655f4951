-- code: table
-- underlined: TABLE
-- says: TABLE is refused
TABLE visits
