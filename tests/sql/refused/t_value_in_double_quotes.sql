-- code: literal-needed
-- underlined: "bar"
-- says: write 'bar', since a text stands in single quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE() FROM visits WHERE category = "bar"
