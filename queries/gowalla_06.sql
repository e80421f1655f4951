-- By day of the week (0 is Sunday, in UTC): COUNT(*) of each, all seven from one draw.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2, max_records_per_user = 20)
       EXTRACT(DOW FROM ts) AS day,
       COUNT(*)             AS check_ins
FROM gowalla
GROUP BY day;
