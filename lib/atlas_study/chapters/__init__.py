"""What one chapter alone computes: a module for each chapter that needs more than its
notebook should hold.
"""
