"""Breaks the engine on purpose, many times, and looks whether a row was lost, doubled or half published."""
