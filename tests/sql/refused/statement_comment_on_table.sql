-- code: comment-on
-- underlined: COMMENT ON TABLE
-- says: COMMENT ON TABLE is refused
COMMENT ON TABLE visits IS 'x'
