"""`make demo`: a real session becomes memory, with the worker killed in the middle.

Every sentence that the demo prints behind "ok" was checked before it was printed; the first one that does
not hold ends it with status 1.
"""
