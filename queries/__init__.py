"""Shipped query and report definitions; in an installed emdp this folder is ``emdp._queries``."""
