-- code: share-of-all
-- underlined: SHARE()
-- says: add WHERE or GROUP BY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE() FROM visits
