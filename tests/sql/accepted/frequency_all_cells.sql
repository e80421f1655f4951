-- space: cells
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*) FROM visits ORDER BY frequency DESC LIMIT 10
