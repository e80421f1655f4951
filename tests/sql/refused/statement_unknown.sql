-- code: statement
-- underlined: MEAN
-- says: begins no statement
MEAN price OF visits
