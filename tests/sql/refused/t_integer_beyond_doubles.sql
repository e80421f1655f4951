-- code: integer-too-long
-- underlined: 9007199254740993
-- says: 9007199254740992
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price + 9007199254740993) FROM visits
