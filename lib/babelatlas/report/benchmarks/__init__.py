"""What the programs in the folder `benchmarks` measured: the tables that ship, and what is read from them."""
