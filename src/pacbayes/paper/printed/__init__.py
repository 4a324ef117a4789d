"""The paper's own numbers, one CSV file per table, as printed; `slips.csv` lists the cells that cannot be right."""
