-- code: struct
-- underlined: {'a': price}
-- says: values themselves
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(MAP {'a': price}) FROM visits
