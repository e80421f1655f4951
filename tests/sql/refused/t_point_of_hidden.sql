-- code: part-column
-- underlined: note
-- says: name a column of it
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(note, 3)) FROM visits
