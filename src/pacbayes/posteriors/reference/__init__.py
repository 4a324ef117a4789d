"""The schemes and solvers that the certified search is compared with."""
