-- code: literal-needed
-- underlined: Bar
-- says: write 'bar'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE() FROM visits WHERE category IN ('cafe', Bar)
