-- A histogram of days in which every person weighs the same.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) FREQUENCY("dow(ts)") AS share_of_days
FROM gowalla;
