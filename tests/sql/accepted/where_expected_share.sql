-- space: city
-- lipschitz: m=400.0
-- range: m=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, expected_share = 0.05) AVG(price) AS m FROM visits WHERE category = 'cafe'
