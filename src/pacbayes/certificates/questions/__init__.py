"""What else people ask of validated rows: which errors, on which rows to answer, and how two models differ."""
