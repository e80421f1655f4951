-- code: literal-needed
-- underlined: musuem
-- says: write 'museum'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE() FROM visits WHERE category <> musuem
