-- space: kinds
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, model = 'local') FREQUENCY(*) AS share FROM visits
