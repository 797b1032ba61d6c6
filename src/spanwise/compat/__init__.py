"""Drop-in versions of other packages' interfaces; each module is named after the package it stands in for."""
