"""`python -m spanwise` is the command `spanwise`."""

import sys

from spanwise.cli.main import main

sys.exit(main())
