import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLogger } from '@weir/base/log';
import type { AccountState } from '@weir/proxy/limits';
import { Tracker } from '@weir/proxy/tracker';
import { LimitsKeeper, readLimitsAtStart } from '../../../src/app/limits/limits-keeper.ts';
import { StateFile } from '../../../src/app/limits/state-file.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { logLines } from '../../../../../test/support/engine/log-lines.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const LIMITS = '[[limit]]\nuser = "ann"\nbytes = "1 kB"\n[[limit]]\nuser = "*"\ndevices = 1\n';

async function files(text = LIMITS) {
  const folder = await scratch();
  const path = join(folder.path, 'limits.toml');
  const statePath = join(folder.path, 'limits.state.json');
  await writeFile(path, text);
  const stored = (): Promise<readonly AccountState[]> => new StateFile(statePath).read();
  const end = () => folder[Symbol.asyncDispose]();
  return { folder: folder.path, path, statePath, stored, [Symbol.asyncDispose]: end };
}

const change = (state: AccountState) => ({ user: state.user, merge: () => state });

async function running(
  paths: { readonly path: string; readonly statePath: string },
  log = silentLogger,
) {
  const clock = new ManualClock();
  const tracker = new Tracker(clock);
  const keeper = await LimitsKeeper.open(paths, { clock, log });
  keeper.start(tracker);
  const meter = (name: string) => {
    const found = tracker.limits.meterOf(name);
    assert.ok(found);
    return found;
  };
  return { clock, tracker, keeper, meter };
}

test('what accounts have used is stored, and continues in the next process', async () => {
  await using paths = await files();
  const { stored } = paths;
  const first = await running(paths);
  first.meter('ann').addUp(300);
  await first.keeper.stop();
  assert.deepEqual(await stored(), [{ user: 'ann', up: 300, down: 0, reset: 'never', period: 0 }]);
  const second = await running(paths);
  assert.equal(second.meter('ann').left, 700);
  second.meter('ann').addDown(1);
  await second.keeper.stop();
  assert.deepEqual((await stored())[0]?.down, 1);
});

test('nothing is written while nothing has changed', async () => {
  await using paths = await files();
  const { keeper } = await running(paths);
  const before = await readFile(paths.statePath);
  await rm(paths.statePath);
  await keeper.stop();
  await assert.rejects(readFile(paths.statePath), { code: 'ENOENT' });
  assert.equal(before.toString(), '{"version":1,"accounts":[]}\n');
});

test('two processes that share a file add up what both have counted', async () => {
  await using paths = await files();
  const { stored } = paths;
  const old = await running(paths);
  const next = await running(paths);
  old.meter('ann').addUp(100);
  next.meter('ann').addUp(20);
  await Promise.all([old.keeper.stop(), next.keeper.stop()]);
  old.meter('ann').addDown(3);
  await old.keeper.stop();
  assert.deepEqual(await stored(), [{ user: 'ann', up: 120, down: 3, reset: 'never', period: 0 }]);
  assert.equal(old.meter('ann').used, 123);
});

test('bytes that could not be stored are stored later, and the failure is logged once', async () => {
  await using paths = await files();
  const { stored } = paths;
  const { log, lines } = logLines('info');
  const { keeper, meter } = await running(paths, log);
  await rm(paths.statePath);
  await mkdir(paths.statePath);
  meter('ann').addUp(5);
  await keeper.stop();
  await keeper.stop();
  assert.equal(lines.filter((line) => line.includes('cannot store')).length, 1);
  await rm(paths.statePath, { recursive: true });
  await keeper.stop();
  assert.deepEqual((await stored())[0]?.up, 5);
  assert.equal(lines.filter((line) => line.includes('stored again')).length, 1);
});

for (const [what, contents, message] of [
  ['text', 'x', /it is not JSON/],
  ['another document', '[]', /it has other contents/],
  [
    'a negative count',
    '{"version":1,"accounts":[{"user":"a","up":-1,"down":0,"reset":"never","period":0}]}',
    /other contents/,
  ],
  ['a newer format', '{"version":2,"accounts":[]}', /of a newer Weir/],
] as const) {
  test(`a state file with ${what} is an error at the start, and stays as it is`, async () => {
    await using paths = await files();
    await writeFile(paths.statePath, contents);
    await assert.rejects(running(paths), message);
    assert.equal(await readFile(paths.statePath, 'utf8'), contents);
  });
}

test('a state file that cannot be written is an error at the start', async () => {
  await using paths = await files();
  await assert.rejects(
    running({ ...paths, statePath: join(paths.folder, 'none', 'limits.state.json') }),
    { message: /cannot store the used bytes of accounts in .*ENOENT/ },
  );
});

test('a start removes what killed processes have left of the state file, and nothing else', async () => {
  await using paths = await files();
  const others = ['.limits.state.json.x.tmp', '.other.json.5.tmp', 'limits.state.json.5.tmp'];
  for (const name of ['.limits.state.json.5.tmp', ...others]) {
    await writeFile(join(paths.folder, name), '');
  }
  await running(paths);
  const left = await readdir(paths.folder);
  assert.deepEqual(left.toSorted(), [...others, 'limits.state.json', 'limits.toml'].toSorted());
});

test('states whose period has ended leave the file, others stay', async () => {
  await using paths = await files();
  const { statePath, stored } = paths;
  const now = Date.UTC(2026, 0, 2);
  const counts = { up: 1, down: 2 };
  const file = new StateFile(statePath);
  await file.change(now, [
    change({ user: 'old', ...counts, reset: 'daily', period: Date.UTC(2026, 0, 1) }),
    change({ user: 'ann', ...counts, reset: 'never', period: 0 }),
    change({ user: '__proto__', ...counts, reset: 'daily', period: now }),
  ]);
  await file.change(now, []);
  assert.deepEqual(
    (await stored()).map(({ user }) => user),
    ['ann', '__proto__'],
  );
});

test('a changed limits file is put in force, and an invalid one leaves the limits as they are', async () => {
  await using paths = await files();
  const { keeper, meter, tracker } = await running(paths);
  assert.equal(await keeper.prepare(readLimitsAtStart), undefined);
  meter('ann').addUp(900);
  await writeFile(paths.path, '[[limit]]\nuser = "ann"\n');
  await assert.rejects(keeper.prepare(readLimitsAtStart), /a limit needs `bytes`/);
  assert.equal(meter('ann').left, 100);
  await writeFile(paths.path, '[[limit]]\nuser = "ann"\nbytes = "2 kB"\n');
  await (
    await keeper.prepare(readLimitsAtStart)
  )?.();
  assert.equal(meter('ann').left, 1100);
  assert.equal(tracker.limits.meterOf('bob'), undefined);
  await keeper.stop();
});

test('a slow read of the limits file does not undo a later one', async () => {
  await using paths = await files();
  const { keeper, meter } = await running(paths);
  await writeFile(paths.path, '[[limit]]\nuser = "ann"\nbytes = "2 kB"\n');
  const slow = await keeper.prepare(readLimitsAtStart);
  await writeFile(paths.path, '[[limit]]\nuser = "ann"\nbytes = "3 kB"\n');
  void (await keeper.prepare(readLimitsAtStart))?.();
  assert.equal(meter('ann').left, 3000);
  await slow?.();
  assert.equal(meter('ann').left, 3000);
  await keeper.stop();
});

test('the report has every account with its state, in pieces, and the latest events', async () => {
  await using paths = await files();
  const { log, lines } = logLines('info');
  const { keeper, meter, clock, tracker } = await running(paths, log);
  meter('ann').addUp(1000);
  clock.advance(0);
  for (let i = 0; i < 1500; i++) meter(`user${i}`);
  const first = keeper.report({});
  assert.deepEqual([first.accounts.length, first.more], [1000, 501]);
  const rest = keeper.report({ after: first.accounts.at(-1)?.user });
  assert.deepEqual([rest.accounts.length, rest.more], [501, 0]);
  const { accounts } = keeper.report({ user: 'ann' });
  assert.deepEqual(
    accounts.map(({ user, state, used, left }) => ({ user, state, used, left })),
    [{ user: 'ann', state: 'bytes', used: 1000, left: 0 }],
  );
  assert.deepEqual(keeper.report({ user: 'nobody' }).accounts, []);
  assert.equal(tracker.limits.refusalOf('user1', '192.0.2.1'), undefined);
  assert.equal(tracker.limits.refusalOf('user1', '192.0.2.2'), 'devices');
  assert.deepEqual(
    keeper.report({}).events.map(({ seq, user, state }) => ({ seq, user, state })),
    [
      { seq: 1, user: 'ann', state: 'bytes' },
      { seq: 2, user: 'user1', state: 'devices' },
    ],
  );
  assert.deepEqual(
    keeper.status().reached.map(({ user }) => user),
    ['ann', 'user1'],
  );
  assert.equal(keeper.status().accounts, 1501);
  assert.match(lines.join('\n'), /account "ann" has used its 1\.0 kB/);
  await keeper.stop();
});

test('a file that another process has written, or that is JSON in other lines, is read again', async () => {
  await using paths = await files();
  const { statePath, stored } = paths;
  const states = Array.from({ length: 2500 }, (_each, index) => {
    return { user: `user "${index}"\n,`, up: index, down: 1, reset: 'never', period: 0 } as const;
  });
  const [own, other] = [new StateFile(statePath), new StateFile(statePath)];
  await own.change(0, states.map(change));
  assert.deepEqual(await stored(), states);
  await other.change(0, [change({ ...states[0]!, up: 7 })]);
  const seen: (AccountState | undefined)[] = [];
  const merge = (known: AccountState | undefined): AccountState => {
    seen.push(known);
    return { ...states[0]!, up: (known?.up ?? 0) + 1 };
  };
  await own.change(0, [{ user: states[0]!.user, merge }]);
  const pretty = JSON.stringify(JSON.parse(await readFile(statePath, 'utf8')), undefined, 2);
  await writeFile(statePath, pretty);
  await own.change(0, [{ user: states[0]!.user, merge }]);
  assert.deepEqual(
    seen.map((state) => state?.up),
    [7, 8],
  );
  assert.deepEqual((await stored()).slice(1), states.slice(1));
});

test('twenty thousand accounts are stored in turns of the event loop', async () => {
  await using paths = await files();
  const { statePath } = paths;
  const file = new StateFile(statePath);
  let inTurn = 0;
  let most = 0;
  const changes = Array.from({ length: 20_000 }, (_each, index) => ({
    user: `user${index}`,
    merge(): AccountState {
      most = Math.max(most, ++inTurn);
      return { user: `user${index}`, up: 1, down: 1, reset: 'never', period: 0 };
    },
  }));
  const next = (): void => {
    inTurn = 0;
    looking = setImmediate(next);
  };
  let looking = setImmediate(next);
  await file.change(0, changes);
  clearImmediate(looking);
  assert.ok(most <= 2000, `${most} in a turn`);
});
