-- code: total-under-emd
-- underlined: SUM(price)
-- says: d_EM-DP does not bound
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SUM(price) FROM visits
