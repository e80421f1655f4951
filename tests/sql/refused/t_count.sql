-- code: total-under-emd
-- underlined: COUNT(*)
-- says: SHARE() with the condition in WHERE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) COUNT(*) FROM visits
