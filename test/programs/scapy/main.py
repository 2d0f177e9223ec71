"""Runs the cases of a module: main.py DEVICE MODULE [PART-OF-A-NAME]."""

import importlib
import sys

from cases import run
from wire import Wire

HOSTS = ("203.0.113.7", "2001:db8::7")

device, module, *chosen = sys.argv[1:]
importlib.import_module(module)
run(Wire(device), HOSTS, chosen[0] if chosen else "")
