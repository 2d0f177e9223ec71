import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNowSource } from '../../../../src/dashboard/now/source.ts';
import type { LogView } from '../../../../src/dashboard/log/view.ts';
import type { UsersView } from '../../../../src/dashboard/users/view.ts';
import { contextOf } from '../../../../../../test/support/dashboard/context.ts';
import { FakeControl } from '../../../../../../test/support/dashboard/fake-control.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';
import { eventually } from '../../../../../../test/support/wait.ts';

test('a Weir that is started after the dashboard has its log and its users shown', async () => {
  await using folder = await scratch();
  const found: { socket: string | undefined; config: string | undefined } = {
    socket: undefined,
    config: undefined,
  };
  const context = {
    ...contextOf(),
    get socket() {
      return found.socket;
    },
    get config() {
      return found.config;
    },
  };
  const { topics } = createNowSource(context);
  const [log, users] = ['log', 'users'].map((name) => topics.find((topic) => topic.name === name));
  assert.ok(log && users);
  const logView = () => log.view(null) as LogView;
  const usersView = () => users.view(null) as UsersView;
  using _log = log.hold?.();
  using before = users.hold?.();
  assert.deepEqual([logView().state, logView().socket], [{ kind: 'absent' }, null]);
  assert.deepEqual([usersView().inFile, usersView().file], [null, null]);

  await using control = await FakeControl.start();
  control.log({ message: 'hello' });
  found.socket = control.path;
  found.config = join(folder.path, 'weir.toml');
  await writeFile(
    found.config,
    '[[inbound]]\ntag = "in"\nprotocol = "trojan"\nport = 1\n[inbound.settings]\nusers = [{ name = "ann", password = "x" }]\n',
  );
  before?.[Symbol.dispose]();
  using _users = users.hold?.();
  await eventually('the log', () => logView().rows.length === 1);
  await eventually('the users', () => usersView().inFile === 1);
  assert.equal(usersView().file, found.config);
});
