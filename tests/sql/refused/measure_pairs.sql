-- code: measure-pairs
-- underlined: MEASURE(PAIRS())
-- says: near pairs of places are alike
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) MEASURE(PAIRS()) FROM visits
