-- code: unfinished
-- underlined: /* a /* b */ and more
-- says: close it with */
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits /* a /* b */ and more
