-- code: json
-- underlined: payload ->> '$.price'
-- says: JSON
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CAST(payload ->> '$.price' AS DOUBLE)) FROM visits
