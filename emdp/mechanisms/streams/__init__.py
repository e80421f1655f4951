"""Streams: figures of many periods at one price, by days, totals to date, or both."""
