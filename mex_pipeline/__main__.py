"""`python -m mex_pipeline`."""

from mex_pipeline.cli.main import main

main()
