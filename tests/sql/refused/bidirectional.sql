-- code: character
-- underlined: ‮
-- says: U+202E
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits -- ‮ stisiv
