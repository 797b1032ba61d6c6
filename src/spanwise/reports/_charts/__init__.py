"""The charts that the page and the files share, built with Altair from a result document alone."""
