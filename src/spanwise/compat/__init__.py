"""Other packages' calls, served by spanwise; each module is named after the package it stands in for."""
