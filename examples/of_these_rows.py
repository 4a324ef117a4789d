"""
How many of these 1000 answers are wrong?
=========================================

The certificate is about all rows that may ever come. Here are 1000 new rows, and the question is about these. On the
command line ``pacbayes predict`` says it.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from pacbayes import CertifiedClassifier, load_dataset

data = load_dataset("waveform")
X, X_new, y, truth = train_test_split(data.data, data.target, test_size=1000, random_state=0)
clf = CertifiedClassifier("logistic", random_state=0).fit(X, y)
batch = clf.of_these(X_new)
print(batch)

# %%
# The labels of the new rows were never needed. Here they are known, so that you can check.
wrong = int((clf.predict(X_new) != truth).sum())
print(f"in truth {wrong} of the {batch.rows} are wrong")

# %%
# What the same validation rows would have said of a batch of another size. The statement is about one batch. For
# twenty batches at once fit with ``delta=0.05 / 20``.
sizes = np.arange(10, 2001, 10)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(sizes, [replace(batch, rows=int(size)).wrong for size in sizes], label="at most so many are wrong")
ax.plot(sizes, sizes * batch.errors / batch.m, "--", color="0.5", label="the share seen on the validation rows")
ax.plot(batch.rows, wrong, "ko", label="wrong in truth")
ax.set(xlabel="answers in the batch", ylabel="wrong answers", xlim=(0, None), ylim=(0, None))
ax.legend(frameon=False)
