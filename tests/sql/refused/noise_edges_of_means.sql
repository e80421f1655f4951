-- code: edges-noise
-- underlined: noise = 'edges'
-- says: write noise = 'auto'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, noise = 'edges') AVG(price) FROM visits
