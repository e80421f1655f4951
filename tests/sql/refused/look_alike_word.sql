-- code: statement
-- underlined: SELΕCT
-- says: begins no statement
SELΕCT AVG(price) FROM visits
