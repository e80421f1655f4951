-- code: update
-- underlined: UPDATE
-- says: UPDATE is refused
UPDATE visits SET price = 0
