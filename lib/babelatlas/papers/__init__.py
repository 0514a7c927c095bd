"""Printed numbers, recomputed."""
