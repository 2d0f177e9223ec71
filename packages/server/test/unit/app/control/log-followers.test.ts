import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { followLog } from '../../../../src/app/control/control-client.ts';
import type { ControlHandlers } from '../../../../src/app/control/control-handlers.ts';
import { ControlSocket } from '../../../../src/app/control/control-socket.ts';
import { LogFollowers, MAX_FOLLOWERS } from '../../../../src/app/control/log-followers.ts';
import type { LogEvent } from '../../../../src/app/control/messages.ts';
import { chooseFilter, type Logger, createLogger, FilterSwitch, RecentLines } from '@weir/base/log';
import { scratch } from '../../../../../../test/support/process/weir.ts';
import { eventually } from '../../../../../../test/support/wait.ts';

interface FollowedLog extends AsyncDisposable {
  readonly path: string;
  readonly log: Logger;
  readonly recent: RecentLines;
  readonly followers: LogFollowers;
}

/** A log at `info` that is followed through a unix socket. */
async function followedLog(): Promise<FollowedLog> {
  const recent = new RecentLines();
  const filter = new FilterSwitch(chooseFilter(undefined, 'info'));
  const log = createLogger(filter, { write: () => undefined }, () => '', 'app', recent);
  const followers = new LogFollowers(recent);
  const folder = await scratch();
  const path = join(folder.path, 's');
  const serveLog = async (...asked: Parameters<LogFollowers['serve']>): Promise<void> =>
    followers.serve(...asked);
  const socket = await ControlSocket.open(path, {
    log: serveLog,
    followsUsage: () => false,
  } as unknown as ControlHandlers);
  return {
    path,
    log,
    recent,
    followers,
    async [Symbol.asyncDispose]() {
      socket.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The messages of lines, and what else the follower was told. */
const shown = (event: LogEvent | undefined): string => {
  if (event?.kind === 'line') return `${event.level} ${event.target} ${event.message}`;
  return event?.kind === 'lost' ? `lost ${event.count}` : (event?.kind ?? 'end');
};

const next = async (events: AsyncGenerator<LogEvent, void>): Promise<string> =>
  shown((await events.next()).value ?? undefined);

describe('a follower of the log', () => {
  test('has the latest lines first, then what is logged, each only if it passes the filter', async () => {
    await using process = await followedLog();
    const { path, log } = process;
    log.debug('not logged');
    log.info('before', { host: 'a.example', port: 443 });
    log.warn('serious\u001b[2J');
    const all = followLog(path, { tail: true });
    const some = followLog(path, { filter: 'warn,app::part=info' });
    const first = (await all.next()).value;
    assert.ok(first?.kind === 'line');
    assert.deepEqual(first.fields, { host: 'a.example', port: 443 });
    assert.ok(Math.abs(first.at - Date.now()) < 60_000);
    assert.equal(await next(all), String.raw`warn app serious\u{1b}[2J`);
    assert.equal(await next(all), 'live');
    assert.equal(await next(some), 'live');
    log.info('later');
    log.target('app::part').info('detail');
    log.error(['one', 'two']);
    for (const line of ['info app later', 'info app::part detail', 'error app one\ntwo']) {
      assert.equal(await next(all), line);
    }
    assert.equal(await next(some), 'info app::part detail');
    assert.equal(await next(some), 'error app one\ntwo');
    await all.return();
    await some.return();
    await eventually('no followers', () => process.recent.reader === undefined);
    const tail = await Array.fromAsync(followLog(path, { tail: true, follow: false }));
    assert.deepEqual(tail.slice(-2).map(shown), ['error app one\ntwo', 'live']);
  });

  test('that does not read loses lines, which are counted in their place', async () => {
    await using process = await followedLog();
    const slow = followLog(process.path);
    assert.equal(await next(slow), 'live');
    const prompt = followLog(process.path, { filter: 'warn' });
    assert.equal(await next(prompt), 'live');
    const text = 'x'.repeat(1000);
    const written = 5000;
    for (let count = 0; count < written; count++) process.log.info(text);
    const { lost } = process.followers;
    assert.ok(lost > 1000 && lost < written, String(lost));
    process.log.warn('last');
    // Lost as well, because the backlog is still full; a later one is not.
    const rest: string[] = [];
    let logged = false;
    for await (const event of slow) {
      if (event.kind === 'lost' && !logged) {
        logged = true;
        process.log.warn('after');
      }
      rest.push(event.kind === 'line' && event.message === text ? 'x' : shown(event));
      if (rest.at(-1) === 'warn app after') break;
    }
    const lines = rest.filter((line) => line === 'x').length;
    assert.deepEqual(rest.slice(lines), [`lost ${written + 1 - lines}`, 'warn app after']);
    assert.equal(process.followers.lost, written + 1 - lines);
    assert.equal(await next(prompt), 'warn app last');
    await prompt.return();
    await eventually('no followers', () => process.recent.reader === undefined);
    assert.equal(process.followers.lost, written + 1 - lines, 'counted for those who have left');
  });

  test('that has left loses nothing, even before its leaving is noticed', async () => {
    await using followed = await followedLog();
    const { followers, log, path } = followed;
    const client = connect(path);
    client.write('log {}\n');
    await once(client, 'data');
    client.destroy();
    log.info('written to a closed socket');
    await eventually('the follower is gone', () => followed.recent.reader === undefined);
    assert.equal(followers.lost, 0);
  });

  test('is refused with the reason: an invalid filter or request, one too many', async () => {
    await using process = await followedLog();
    const { path } = process;
    await assert.rejects(followLog(path, { filter: 'warning' }).next(), {
      code: 'log_refused',
      message: /"warning" is not a log filter/,
    });
    const others = Array.from({ length: MAX_FOLLOWERS }, () => followLog(path));
    for (const each of others) assert.equal(await next(each), 'live');
    await assert.rejects(followLog(path).next(), { message: '16 clients follow the log already' });
    const tail = await Array.fromAsync(followLog(path, { tail: true, follow: false }));
    assert.deepEqual(tail.map(shown), ['live']);
    for (const each of others) await each.return();
    await eventually('room again', () => process.recent.reader === undefined);
    const invalid = connect(path);
    invalid.write('log {"depth":1}\n');
    assert.match(String(await invalid.toArray()), /^\{"kind":"failed","line":"expected /);
  });

  test('ends with the reason of its signal', async () => {
    await using process = await followedLog();
    const leaving = new AbortController();
    const events = followLog(process.path, { signal: leaving.signal });
    assert.equal(await next(events), 'live');
    const ended = events.next();
    const reason = new Error('enough');
    leaving.abort(reason);
    await assert.rejects(ended, (error) => error === reason);
    await eventually('no followers', () => process.recent.reader === undefined);
  });
});

test('200 lines are kept, and 65,536 characters', () => {
  const recent = new RecentLines();
  for (let index = 0; index < 300; index++) recent.add('info', 'app', String(index), undefined);
  const kept = recent.latest().map(({ message }) => message);
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [200, '100', '299']);
  recent.add('info', 'app', 'x'.repeat(65_536 - 10), undefined);
  assert.deepEqual(
    recent.latest().map(({ message }) => message.length),
    [3, 3, 3, 65_526],
  );
  recent.add('info', 'app', 'x'.repeat(65_537), undefined);
  assert.deepEqual(recent.latest(), []);
});
