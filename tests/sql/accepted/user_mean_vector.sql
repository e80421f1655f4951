-- space: pair
-- lipschitz: m_1=6, m_2=4
-- range: m_1=0..3, m_2=0..2
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, spread = 0.25)
  USER_MEAN(x, y) AS m FROM visits ORDER BY m_2_low DESC
