-- code: copy
-- underlined: COPY
-- says: COPY is refused
COPY visits TO 'out.csv'
