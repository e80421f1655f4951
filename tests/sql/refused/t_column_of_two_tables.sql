-- code: ambiguous-column
-- underlined: floor
-- says: floor may mean 2 columns, a.floor, b.floor; write a.floor or b.floor
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits JOIN sites AS a USING (category) JOIN sites AS b USING (category) WHERE floor = 1
