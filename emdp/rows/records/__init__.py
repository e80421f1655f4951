"""Records of row functions, by subject; :mod:`emdp.rows.functions` puts them into one table."""
