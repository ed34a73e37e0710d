"""A stage whose engine does nothing but what a control file says: the rest of the way is real."""
