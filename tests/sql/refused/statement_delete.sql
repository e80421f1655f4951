-- code: delete
-- underlined: DELETE
-- says: DELETE is refused
DELETE FROM visits
