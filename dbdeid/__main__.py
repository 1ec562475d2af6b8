"""`python -m dbdeid`."""

from dbdeid.cli import main

main()
