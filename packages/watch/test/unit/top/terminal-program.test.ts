import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiClientError } from '@weir/client/api';
import { flowOf, trafficOf } from '../../../../../test/support/dashboard/fake-monitor.ts';
import { ProgramStage } from '../../../../../test/support/top/program.ts';

const started = Date.UTC(2026, 0, 1);
const host = (id: number, name: string, rate = 0) =>
  flowOf(id, { host: `${name}.example`, started_at: started, up: rate }, { upRate: rate });

/** Three flows, whose order differs by rate and by name. */
const FLOWS = [host(1, 'b', 10), host(2, 'a', 30), host(3, 'c', 20)];

function start(options: ConstructorParameters<typeof ProgramStage>[0] = {}): ProgramStage {
  const stage = new ProgramStage(options);
  stage.list(FLOWS);
  return stage;
}

test('flows by their rate, by age, and reversed', async () => {
  const stage = start();
  assert.deepEqual(await stage.hosts(), ['a.example', 'c.example', 'b.example']);
  await stage.press('s');
  assert.deepEqual(await stage.hosts(), ['b.example', 'a.example', 'c.example']);
  await stage.press('S');
  assert.deepEqual(await stage.hosts(), ['c.example', 'a.example', 'b.example']);
});

test('a filter is typed, wrong ones say why, and Esc removes it', async () => {
  const stage = start();
  await stage.press('/host:c');
  assert.match(await stage.terminal.text(), /^\/host:c_$/m);
  await stage.press('.example\r');
  assert.deepEqual(await stage.hosts(), ['c.example']);
  assert.match(await stage.terminal.text(), /^1 shown {2}\/host:c\.example/m);
  await stage.press('/\x15up>x\r');
  assert.match(await stage.terminal.text(), /\n.*up.*\n\/up>x_$/);
  await stage.press('\x1b');
  stage.clock.advance(50); // nothing has followed the ESC
  await stage.press('\x1b');
  stage.clock.advance(50);
  assert.equal((await stage.hosts()).length, 3);
});

test('a frozen list stays as it was, and follows again afterwards', async () => {
  const stage = start();
  await stage.press(' ');
  stage.list([host(4, 'd', 99), ...FLOWS]);
  assert.deepEqual(await stage.hosts(), ['a.example', 'c.example', 'b.example']);
  assert.match(await stage.terminal.text(), /frozen/);
  await stage.press(' ');
  stage.frame();
  assert.deepEqual(await stage.hosts(), ['d.example', 'a.example', 'c.example', 'b.example']);
});

test('the first flows are shown as they come', async () => {
  const stage = new ProgramStage();
  assert.match(await stage.terminal.text(), /The flows are not known yet/);
  stage.monitor.list(started, FLOWS);
  stage.monitor.changed();
  assert.equal((await stage.hosts()).length, 3);
});

test('details of the flow under the cursor, and back', async () => {
  const stage = start();
  await stage.press('jj\r');
  assert.match(await stage.terminal.text(), /^ Flow 3\n client {8}127\.0\.0\.1$/m);
  await stage.press('q');
  assert.deepEqual((await stage.hosts()).length, 3);
  assert.deepEqual(stage.requests, []);
});

test('a flow is closed after a question with the command that does the same', async () => {
  const stage = start();
  await stage.press('jx');
  const asked = await stage.terminal.text();
  assert.match(asked, /^ Close flow 2\?\n a\.example:443 by direct$/m);
  assert.match(asked, /^ y {2}close it\n {4}weir ctl close 2\n Esc {2}change nothing$/m);
  await stage.press('n');
  assert.deepEqual(stage.api.changes, []);
  await stage.press('y');
  assert.deepEqual(stage.api.changes, ['DELETE /v1/connections/2']);
  assert.match(await stage.terminal.text(), /^ Flow 2 is closed\.$/m);
});

test('a flow that had ended meanwhile is no failure', async () => {
  const stage = start();
  await stage.press('jx');
  stage.api.failure = new ApiClientError('no such flow', { status: 404 });
  await stage.press('y');
  assert.match(await stage.terminal.text(), /^ Flow 2 had ended\.$/m);
});

test('a target is searched for by its name, and one that is in force is said to be', async () => {
  const stage = start();
  await stage.press('pj\r/DIR');
  const searched = await stage.terminal.text();
  assert.match(searched, /^ Where "Video" goes {2}1 of 4\n>direct {2}direct$/m);
  assert.match(searched, /^\/DIR_$/m);
  await stage.press('\r');
  assert.match(await stage.terminal.text(), /^ Set "Video" to "direct"\?/m);
  await stage.press('\x1b');
  stage.clock.advance(50);
  await stage.press('\r\r');
  assert.match(
    await stage.terminal.text(),
    /^ New flows go to "tokyo" already, and open ones stay where they are\.$/m,
  );
});

test('a group is set to another target, after what that means was shown', async () => {
  const stage = start();
  await stage.press('pj\r');
  assert.match(
    await stage.terminal.text(),
    /^ Where "Video" goes\n>tokyo {2}node\n Video {2}node$/m,
  );
  await stage.press('jj\r');
  const asked = await stage.terminal.text();
  assert.match(asked, /^ Set "Video" to "direct"\?\n New flows go to "direct"\.$/m);
  assert.match(asked, /^ y {2}pick\n {4}weir ctl pick Video direct$/m);
  await stage.press('y');
  assert.deepEqual(stage.api.changes, ['PUT /v1/routes/Video {"target":"direct"} "1"']);
  assert.match(await stage.terminal.text(), /^ Applied: route\.$/m);
  await stage.press('\r');
  assert.match(await stage.terminal.text(), /^>Video/m);
});

test('Esc answers no: nothing is changed', async () => {
  const stage = start();
  await stage.press('pj\r\r');
  assert.match(await stage.terminal.text(), /change nothing/);
  await stage.press('\x1b');
  stage.clock.advance(50);
  assert.match(await stage.terminal.text(), /^>Video/m);
  assert.deepEqual(stage.api.changes, []);
});

test('a question that Esc did not wait for is not asked', async () => {
  const stage = start();
  const { promise, resolve } = Promise.withResolvers<void>();
  stage.api.waits = promise;
  await stage.press('pj\r\r');
  assert.match(await stage.terminal.text(), /looking at the open flows/);
  await stage.press('\x1b');
  stage.clock.advance(50);
  resolve();
  await stage.press('');
  assert.match(await stage.terminal.text(), /^>Video/m);
});

test('a failed change is told with its hints, and what it means', async () => {
  const stage = start();
  await stage.press('pj\r\r');
  stage.api.failure = new ApiClientError('the file has changed\nsince', {
    status: 409,
    hint: 'look again',
  });
  await stage.press('y');
  assert.match(
    await stage.terminal.text(),
    /^ That failed\.\n the file has changed\n since\n .*Nothing was written\.\n look again$/m,
  );
});

test('a change that was made is told, although the picture after it cannot be had', async () => {
  const stage = start();
  stage.monitor.refresh = () => Promise.reject(new ApiClientError('gone'));
  await stage.press('ry');
  assert.match(await stage.terminal.text(), /^ Applied: route\.$/m);
});

test('read-only, nothing is asked and nothing changed', async () => {
  const stage = start({ readOnly: true });
  for (const keys of ['r', '\rjx', '\rpj\r\r']) {
    await stage.press(keys);
    assert.match(await stage.terminal.text(), /^ weir top was started with --read-only/m);
  }
  assert.deepEqual(stage.api.changes, []);
});

test('the terminal is resized, smaller and larger', async () => {
  const stage = start();
  for (const [columns, rows] of [
    [30, 7],
    [120, 40],
    [80, 24],
  ] as const) {
    stage.terminal.resize(columns, rows);
    stage.program.redraw();
    const lines = await stage.terminal.lines();
    assert.match(lines[0] ?? '', /^weir\.toml {2}Serving$/);
    assert.equal((await stage.hosts()).length, 3);
    assert.match(lines[rows - 1] ?? '', /^3 shown {2}\? keys/);
  }
});

test('quitting gives the screen back', async () => {
  const stage = start();
  assert.deepEqual(await stage.terminal.modes(), { isAlternate: true, wraps: false });
  await stage.press('q');
  assert.deepEqual(stage.requests, ['quit']);
  await stage.program.stop();
  assert.deepEqual(await stage.terminal.modes(), { isAlternate: false, wraps: true });
  assert.equal(await stage.terminal.text().then((text) => text.trim()), '');
  assert.equal(stage.monitor.holds, 0);
  assert.equal(stage.clock.timers, 0);
  stage.terminal.volume();
  stage.frame();
  assert.equal(stage.terminal.volume(), 0);
});

test('a suspended program writes nothing, and is drawn anew when it goes on', async () => {
  const stage = start();
  await stage.press('\x1a');
  assert.deepEqual(stage.requests, ['suspend']);
  await stage.program.suspend();
  assert.deepEqual(await stage.terminal.modes(), { isAlternate: false, wraps: true });
  stage.terminal.volume();
  stage.frame();
  assert.equal(stage.terminal.volume(), 0);
  stage.program.resume();
  assert.equal((await stage.hosts()).length, 3);
});

test('host names with escapes are shown escaped', async () => {
  const stage = new ProgramStage({ columns: 120 });
  stage.list([flowOf(1, { host: '\x1b]0;owned\x07\x1b[2J\x1b[9;9Hx\u202e', user: '\r\nann' })]);
  const text = await stage.terminal.text();
  assert.ok(text.includes(String.raw`\u{1b}]0;owned\u{7}\u{1b}[2J…`), text);
  assert.match(text, /^weir\.toml /);
  assert.equal(text.split('\n').filter((line) => line.includes('owned')).length, 1);
});

/** Many flows whose ages are not shown by seconds any more. */
const MANY = Array.from({ length: 50 }, (_, id) => host(id, `h${id}`, 1_000 - id)).map((flow) => ({
  ...flow,
  view: { ...flow.view, started_at: started - 7 * 3_600_000 - 30_000 },
}));

test('a frame without changes writes nothing', () => {
  const stage = new ProgramStage();
  stage.list(MANY);
  stage.terminal.volume();
  for (let i = 0; i < 20; i++) stage.list(MANY);
  assert.equal(stage.terminal.volume(), 0);
});

test('a frame with changed rows writes these rows, at once', () => {
  const stage = new ProgramStage();
  stage.list(MANY);
  stage.terminal.volume();
  const changed = new Set([3, 7]);
  stage.list(
    MANY.map((flow) =>
      changed.has(flow.view.id) ? { ...flow, view: { ...flow.view, up: 123_456_789 } } : flow,
    ),
  );
  assert.equal(stage.terminal.writes.length, 1);
  const [frame = ''] = stage.terminal.writes;
  assert.ok(frame.startsWith('\x1b[?2026h') && frame.endsWith('\x1b[?2026l'));
  const rows = frame.split('\x1b[').filter((part) => /^\d+;1H/.test(part));
  assert.deepEqual(
    rows.map((row) => /^(\d+);1H.* (h\d+)\./.exec(row)?.slice(1)),
    [
      ['7', 'h3'],
      ['11', 'h7'],
    ],
  );
});

test('while the terminal takes nothing, at most one frame waits, and keys count', async () => {
  const stage = start();
  stage.terminal.isSlow = true;
  stage.terminal.volume();
  for (let i = 0; i < 100; i++) {
    stage.monitor.traffic = trafficOf({ at: stage.clock.wall(), upRate: i });
    stage.frame();
  }
  await stage.press('p');
  assert.equal(stage.terminal.waiting, 1);
  stage.terminal.isSlow = false;
  stage.terminal.take();
  assert.equal(stage.terminal.writes.length, 2);
  assert.match(await stage.terminal.text(), /ROUTE +GOES TO/);
  assert.match(await stage.terminal.text(), /99 B\/s/);
});

test('a terminal that does not know its size counts as one of 80 by 24', async () => {
  const stage = start();
  const size = { columns: 0, rows: 0 };
  Object.defineProperties(stage.terminal, {
    columns: { get: () => size.columns },
    rows: { get: () => size.rows },
  });
  stage.program.redraw();
  assert.equal((await stage.hosts()).length, 3);
});
