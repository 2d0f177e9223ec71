import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { followLog, requestStatus } from '@weir/server/control';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { Download, streamOrigin } from '../support/process/load.ts';
import { residentBytes } from '../support/process/proc.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import { Weir, weirCommand } from '../support/process/weir.ts';

const CONFIG = API + socksIn() + freedom();

/** Each reload of it logs a line of this many characters. */
const LINE = 100_000;
const REFUSED = `${CONFIG}[route]\ndefault = "${'x'.repeat(LINE)}"\n`;

/** Lines that are logged beyond the first ones that are lost: far more bytes than may wait for a reader. */
const MORE = 500;

/** `(12 lines were lost here: this command was not read)` */
const LOST = /^\((\d+) lines? (?:was|were) lost here: this command was not read\)$/gm;

const disposing = (socket: Socket): Disposable => ({
  [Symbol.dispose]: () => void socket.destroy(),
});

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

test('readers of the log that do not read lose lines, which are counted, and nobody else is held up', async () => {
  await using origin = await streamOrigin();
  await using weir = await Weir.start(CONFIG, { control: true, env: { RUST_LOG: 'trace' } });
  const control = await Control.of(weir);
  const proxy = weir.address('socks');
  const lost = async () => (await requestStatus(weir.controlPath)).missed.followed_lines;

  const stuck = connect({ path: weir.controlPath }).on('error', () => undefined);
  using _stuck = disposing(stuck);
  stuck.setEncoding('utf8').write('log {"filter":"error"}\n');
  await using shown = weirCommand(['log', '--level', 'error', '--socket', weir.controlPath]);
  const { stdout } = shown.process;
  assert.ok(stdout);
  stdout.pause();
  const abort = new AbortController();
  let read = 0;
  let lostByReader = 0;
  const reading = (async () => {
    const { signal } = abort;
    for await (const event of followLog(weir.controlPath, { filter: 'error', signal })) {
      if (event.kind === 'line') read++;
      if (event.kind === 'lost') lostByReader += event.count;
    }
  })().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });

  await control.write(REFUSED);
  let failed = 0;
  /** Logs lines, fewer than may wait for a reader, and waits until the one that reads has them. */
  const fail = async (times = 1): Promise<void> => {
    for (let n = 0; n < times; n++) assert.equal((await control.post()).status, 422);
    failed += times;
    await eventually('the lines', () => read === failed);
  };
  using download = new Download(await socksConnect(proxy, origin.target), 'origin');
  // `weir log` has begun to follow when lines are lost for two.
  let alone = 0;
  while ((await lost()) === 0) await fail();
  while (alone < 2) {
    const before = await lost();
    await fail();
    alone = (await lost()) - before;
  }

  const resident = residentBytes(weir.pid);
  for (let n = 0; n < MORE; n += 5) {
    await fail(5);
    await download.round(100_000);
  }
  const grown = residentBytes(weir.pid) - resident;
  assert.ok(grown < MORE * LINE, `${grown} bytes more, of ${2 * MORE * LINE} that were lost`);
  const socket = await socksConnect(proxy, origin.target);
  socket.destroy();
  await download.end();

  const total = await lost();
  assert.ok(total >= 2 * MORE, `${total} lines were lost`);
  stdout.resume();
  await fail();
  const said = await shown.until('the lines that were lost', () => {
    const counts = Array.from(shown.stdout.matchAll(LOST), ([, count]) => Number(count));
    return counts.length > 0 ? counts : undefined;
  });
  assert.equal(said.length, 1, 'one gap');

  // What the other one gets has the same numbers: each line is there or counted.
  let received = '';
  stuck.on('data', (text: string) => (received += text));
  const events = await eventually('the gap', () => {
    const lines = received
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as object);
    return lines.some((line) => 'lost' in line) && lines;
  });
  const [gap] = events.flatMap((event) => ('lost' in event ? [Number(event.lost)] : []));
  const lines = events.filter((event) => 'message' in event).length;
  assert.equal(lines + (gap ?? 0), failed);
  assert.equal(await lost(), sumOf(said) + (gap ?? 0), 'the status has those of both');

  assert.deepEqual([read, lostByReader], [failed, 0], 'a reader that reads has them all');
  abort.abort();
  await reading;
  await weir.stop();
});
