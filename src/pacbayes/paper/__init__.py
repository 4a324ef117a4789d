"""The paper's experiments: what stands for its data, its tables and figures."""
