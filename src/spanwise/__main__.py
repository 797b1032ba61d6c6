"""Entry point of `python -m spanwise`, the same as the `spanwise` command."""

import sys

from spanwise.cli.main import main

sys.exit(main())
