"""How fast it is, against a reference and against the floor: `make bench`."""
