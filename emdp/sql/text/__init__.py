"""The text of a statement: tokens, header, spans, and the check that nothing vanishes."""
