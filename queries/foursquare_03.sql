-- Place, category and time of day in one statement: they move in different parts of the space, so one draw of noise serves all.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20)
       AVG(DISTANCE(POINT(40.7484, -73.9857)))                      AS km_to_midtown,
       AVG(CASE WHEN category IN ('Bar', 'Coffee Shop') THEN 1 ELSE 0 END) AS drinks,
       AVG(DISTANCE("time(ts)", 13.5))                              AS hours_from_half_past_one_utc
FROM foursquare;
