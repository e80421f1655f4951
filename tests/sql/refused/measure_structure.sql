-- code: measure-structure
-- underlined: MEASURE(STRUCTURE('zones'))
-- says: no structure of a measure
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEASURE(STRUCTURE('zones')) FROM visits
