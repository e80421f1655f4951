-- code: join-condition
-- underlined: , stations
-- says: USING (key)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits, stations WHERE visits.station = stations.station
