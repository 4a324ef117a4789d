"""Support vector machines on few features of many rows."""
