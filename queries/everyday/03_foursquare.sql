-- How many people ever went to a gym, of a hundred?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       100 * AVG(CASE WHEN gyms > 0 THEN 1 ELSE 0 END) AS percent
FROM (SELECT user_id, COUNT_IF(category ILIKE 'gym%') AS gyms FROM foursquare GROUP BY user_id) AS q;
