-- code: named-argument
-- underlined: low => 1
-- says: in their order
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(RAMP(price, low => 1, high => 2)) FROM visits
