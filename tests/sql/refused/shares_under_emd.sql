-- code: shares-under-emd
-- underlined: SHARES(category = 'cafe')
-- says: no metric bounds SHARES
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARES(category = 'cafe') FROM visits
