-- Ordinary user-level privacy: how many check-ins are there, nobody counting for more than 50?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 50)
       COUNT(*) AS check_ins
FROM gowalla;
