"""Print what `pip install .` brings, in megabytes, and who needs it: `python tools/install_weight.py`.

A fresh environment in a temporary folder; pip takes packages from its cache where it has them.  The size of a package
is that of the files in its RECORD, without bytecode.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
# Runs in the new environment: name, version, bytes and unconditional requirements of every distribution.
_LIST = """
import importlib.metadata as metadata, json, re
name = lambda text: re.sub("[-_.]+", "-", text).lower()
found = {}
for one in metadata.distributions():
    sizes = [(f.suffix == ".pyc", f.locate().stat().st_size) for f in one.files or () if f.locate().exists()]
    needs = [name(re.match(r"[\\w.-]+", text)[0]) for text in one.requires or () if "extra ==" not in text]
    found[name(one.name)] = [one.version, *(sum(size for is_pyc, size in sizes if is_pyc == k) for k in (0, 1)), needs]
print(json.dumps(found))
"""


def main() -> None:
    """Install into an empty environment, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = next(path for name in ("bin/python", "Scripts/python.exe") if (path := Path(folder, name)).exists())
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", str(_ROOT)], check=True)
        output = subprocess.run([python, "-c", _LIST], check=True, capture_output=True, text=True).stdout
    packages = {name: value for name, value in json.loads(output).items() if name not in ("pip", "setuptools")}
    print(f"{'package':22}{'version':>12}{'MB':>8}  needed by")
    for name, (version, size, *_) in sorted(packages.items(), key=lambda item: -item[1][1]):
        users = [user for user, (*_, needs) in packages.items() if name in needs]
        print(f"{name:22}{version:>12}{size / 1e6:8.1f}  {', '.join(sorted(users))}")
    files, bytecode = (sum(value[i] for value in packages.values()) / 1e6 for i in (1, 2))
    print(f"{len(packages)} packages, {files:.0f} MB, and {bytecode:.0f} MB of bytecode")


if __name__ == "__main__":
    main()
