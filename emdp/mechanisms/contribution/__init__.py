"""How far one user moves a statistic, and the cap that bounds it."""
