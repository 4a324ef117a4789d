"""
How many of these 1000 predictions are wrong?
=============================================

A certificate is about all new examples. A batch bound is about the predictions for these 1000 rows. On the command
line, ``pacbayes predict`` prints it.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from pacbayes import CertifiedClassifier, load_dataset

data = load_dataset("waveform")
X, X_new, y, y_new = train_test_split(data.data, data.target, test_size=1000, random_state=0)
clf = CertifiedClassifier("logistic", random_state=0).fit(X, y)
batch = clf.certify_batch(X_new)
print(batch)

# %%
# The bound does not need the labels of the new rows. Here they are known, so it can be checked.
wrong = int((clf.predict(X_new) != y_new).sum())
print(f"{wrong} of the {batch.rows} predictions are wrong")

# %%
# The bound for batches of other sizes, from the same validation rows. It holds for one batch. For twenty batches
# jointly, fit with ``delta=0.05 / 20``.
sizes = np.arange(10, 2001, 10)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(sizes, [replace(batch, rows=int(size)).wrong for size in sizes], label="bound on the number of errors")
ax.plot(sizes, sizes * batch.errors / batch.m, "--", color="0.5", label="validation error rate times batch size")
ax.plot(batch.rows, wrong, "ko", label="observed")
ax.set(xlabel="rows in the batch", ylabel="wrong predictions", xlim=(0, None), ylim=(0, None))
ax.legend(frameon=False)
