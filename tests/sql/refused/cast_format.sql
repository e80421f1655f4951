-- code: cast-format
-- underlined: CAST(ts AS TEXT FORMAT 'YYYY')
-- says: FORMAT reads or writes a value as text
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CAST(ts AS TEXT FORMAT 'YYYY')) FROM visits
