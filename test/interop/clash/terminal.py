"""clashctl as a person would use it: its Textual application, driven by keys.

Usage: terminal.py URL SECRET TEST_URL GROUP MEMBER

Prints a line of JSON with what it shows: after a pick, a test of delays, a look at connections and at the log,
and after one connection was closed.
"""

import asyncio
import json
import sys

from clashctl.config import AppConfig, Server
from clashctl.config.schema import UiConfig
from clashctl.tui import ClashCtlApp
from clashctl.tui.widgets import ConnectionListView, ProxyTreeView

URL, SECRET, TEST_URL, GROUP, MEMBER = sys.argv[1:]
PATIENCE = 30


async def until(pilot, what, condition):
    for _ in range(PATIENCE * 20):
        found = condition()
        if found:
            return found
        await pilot.pause(0.05)
    raise TimeoutError(what)


def member_node(tree):
    for group in tree.root.children:
        if group.data is not None and group.data.name == GROUP:
            group.expand()
            for member in group.children:
                if member.data.name == MEMBER:
                    return member
    return None


async def main():
    config = AppConfig(
        using=URL,
        servers=[Server(name="weir", url=URL, secret=SECRET)],
        ui=UiConfig(test_url=TEST_URL, refresh_slow_secs=0.5, refresh_fast_secs=0.5),
    )
    app = ClashCtlApp(config)
    async with app.run_test(size=(140, 40)) as pilot:
        state = app.state
        await until(pilot, "proxies", lambda: state.proxies and state.rules and state.version)
        await until(pilot, "connections", lambda: state.connections)

        await pilot.press("2")
        tree = app.screen.query_one(ProxyTreeView)
        tree.focus()
        node = await until(pilot, "the member", lambda: member_node(tree))
        await pilot.pause()
        tree.move_cursor(node)
        await pilot.press("enter")
        await until(pilot, "the pick", lambda: state.proxies.get(GROUP).now == MEMBER)
        await pilot.press("t")
        await until(pilot, "a delay", lambda: state.proxies.get(MEMBER).latest_delay)

        await pilot.press("4")
        table = app.screen.query_one(ConnectionListView)
        await until(pilot, "rows", lambda: table.row_count > 0)
        row = [str(cell) for cell in table.get_row_at(0)]
        await pilot.press("5")
        lines = await until(
            pilot,
            "the log of the reload",
            lambda: [line.payload for line in state.logs if "reloaded" in line.payload],
        )

        first = state.connections[0].connection.id
        before = len(state.connections)
        await app.clash.close_connection(first)
        await until(pilot, "the end of a connection", lambda: len(state.connections) == before - 1)
        shown = {
            "version": state.version.version,
            "mode": state.clash_config.mode.value,
            "now": state.proxies.get(GROUP).now,
            "delay": state.proxies.get(MEMBER).latest_delay,
            "row": row,
            "rules": [rule.payload for rule in state.rules.rules],
            "log": lines,
            "connections": [before, len(state.connections)],
            "traffic": len(state.traffic_history) > 0,
            "error": state.last_error,
        }
    print(json.dumps(shown))


asyncio.run(main())
