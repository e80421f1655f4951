-- space: line
-- lipschitz: s=3.141592654, c=3.141592654
-- range: s=0..1, c=-1..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(SIN(PI() * price / 50)) AS s, AVG(COS(PI() * price / 50)) AS c FROM visits
