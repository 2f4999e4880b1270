"""`python -m workers` from a checkout; an installed meX has `mex-worker` and `python -m mex_workers`."""

from mex_workers.__main__ import main

main()
