-- space: shops
-- lipschitz: km_to_midtown=135.9754766, near_midtown=135.9754766
-- range: km_to_midtown=0..38.37022913, near_midtown=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-10)
       AVG(DISTANCE(POINT(40.7484, -73.9857)))                          AS km_to_midtown,
       AVG(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1))              AS near_midtown     -- 1 within 1 km, 0 beyond 2 km
FROM visits
GROUP BY category;
