-- code: literal-needed
-- underlined: "bar"
-- says: write 'bar'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE category WHEN "bar" THEN 1 ELSE 0 END) FROM visits
