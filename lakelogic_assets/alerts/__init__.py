"""Telling people: who hears of what, and in which words."""
