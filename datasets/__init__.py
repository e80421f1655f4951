"""Generators of realistic synthetic tables, of any size: check-ins, and messages with word vectors.

Nothing here is private or secret: a table is a function of its seed and sizes. In an installed emdp this
package is ``emdp._datasets``; :func:`emdp.resources.load_dataset_module` finds it there and in a checkout.
"""
