"""The list of cases, by their names, and how each is run."""

import json
import traceback

from wire import Client

CASES = []
ECHO = 7


def case(function):
    """Adds a case; its name is that of the function."""
    CASES.append(function)
    return function


def only(version):
    """Marks a case as one of one version of IP."""

    def mark(function):
        function.version = version
        return function

    return mark


def echo_client(wire, host, **options):
    """A connection to the echo service that works."""
    client = Client(wire, host, ECHO, **options).connect()
    client.echo(b"hello")
    return client


def run(wire, hosts, chosen):
    """Runs each case with each host, and prints a line of JSON for each."""
    for function in CASES:
        for host in hosts:
            name = function.__name__.replace("_", " ")
            version = 6 if ":" in host else 4
            if chosen not in name or getattr(function, "version", version) != version:
                continue
            wire.clear()
            failure = None
            try:
                function(wire, host)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[1]
                failure = f"{error} (line {where.lineno})"
            print(json.dumps({"case": f"{name}, IPv{version}", "failure": failure}), flush=True)
