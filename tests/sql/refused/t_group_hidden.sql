-- code: text-without-list
-- underlined: note
-- says: session.heavy_hitters('note', ...)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY note
