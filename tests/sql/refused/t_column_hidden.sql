-- code: column-outside-space
-- underlined: note
-- says: nothing bounds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(note) FROM visits
