-- space: plain
-- lipschitz: near=67.98773829
-- range: near=0..1
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 0.3, between_users = 0)
  USER_MEAN(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1)) AS near FROM visits OFFSET 0
