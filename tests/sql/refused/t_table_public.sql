-- code: public-table
-- underlined: kinds
-- says: FROM visits JOIN kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(rent) FROM kinds
