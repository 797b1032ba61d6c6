"""The interfaces of other packages, served by spanwise; each module is named after its package."""
