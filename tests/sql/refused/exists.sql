-- code: exists
-- underlined: EXISTS (SELECT 1 FROM stations AS s WHERE s.station = v.station)
-- says: public user column
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits AS v WHERE EXISTS (SELECT 1 FROM stations AS s WHERE s.station = v.station)
