import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { ApiLifecycle } from '../../src/api/lifecycle.ts';
import { ApiBindError } from '../../src/api/http/server.ts';
import { parseAddress } from '../../../../test/support/data/address.ts';
import { eventually } from '../../../../test/support/wait.ts';
import { ApiClient } from './api-client.ts';
import { FakeApp } from './api-fake.ts';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { apiOptions, freeListen, logLines, type Carrier } from './api-harness.ts';

/** An API that is started and stopped as a process would. */
async function lifecycle(carrier: Carrier) {
  const [place, other] = await Promise.all([freeListen(carrier), freeListen(carrier)]);
  const app = new FakeApp();
  const log = logLines();
  const api = new ApiLifecycle(app, log, new OwnListeners());
  return {
    app,
    log,
    api,
    listen: place.listen,
    otherListen: other.listen,
    client: (secret?: string): ApiClient => new ApiClient(parseAddress(api.address ?? ''), secret),
    [Symbol.asyncDispose]: async () => {
      const stopped = api.stop();
      app.clock.advance(5_000);
      await stopped;
      app.tracker.traffic.stop();
      await Promise.all([place[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
    },
  };
}

/** Something else that listens there. */
async function occupy(
  carrier: Carrier,
  path: string,
): Promise<AsyncDisposable & { listen: string }> {
  const server = createServer();
  server.listen(carrier === 'tcp' ? { host: '127.0.0.1', port: 0 } : { path });
  await once(server, 'listening');
  const address = server.address();
  return {
    listen: typeof address === 'object' && address ? `127.0.0.1:${address.port}` : path,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

export function lifecycleSuite(carrier: Carrier): void {
  describe('the listener', () => {
    test('without [api] is off and binds nothing', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(undefined);
      assert.deepEqual([run.api.state, run.api.address, run.log.lines], ['off', undefined, []]);
    });

    test('logs where it listens: the bound address, or the path', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(apiOptions(run.listen));
      assert.equal(run.api.state, 'on');
      const [line = ''] = run.log.lines;
      assert.match(
        line,
        carrier === 'tcp'
          ? /^info: API listening on 127\.0\.0\.1:[1-9]\d*$/
          : /^info: API listening on \/.*api\.sock$/,
      );
      assert.equal(line, `info: API listening on ${run.api.address}`);
      assert.equal((await run.client().get('/v1/health')).status, 200);
    });

    test('that cannot be bound at the start fails with the configured address', async () => {
      await using run = await lifecycle(carrier);
      await using taken = await occupy(carrier, run.listen);
      await assert.rejects(run.api.start(apiOptions(taken.listen)), (error: unknown) => {
        assert.ok(error instanceof ApiBindError);
        assert.equal(error.message, `API on ${taken.listen}: address already in use`);
        return true;
      });
      assert.deepEqual([run.api.state, run.log.lines], ['failed', []]);
    });

    test('moves when a reload changes where it listens', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(apiOptions(run.listen));
      const old = run.client();
      await run.api.change(apiOptions(carrier === 'tcp' ? '127.0.0.2:0' : run.otherListen));
      await assert.rejects(old.get('/v1/health'), /ECONNREFUSED|ENOENT/);
      assert.equal((await run.client().get('/v1/health')).status, 200);
      assert.equal(run.log.lines.length, 2);
      assert.match(run.log.lines[1] ?? '', /^info: API listening on /);
    });

    test('is bound anew to the same address when only the secret changes; the old one is then 401', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(apiOptions(run.listen));
      const { address = '' } = run.api;
      await run.api.change(apiOptions(address, 'one'));
      assert.equal((await run.client('one').get('/v1/health')).status, 200);
      await run.api.change(apiOptions(address, 'two'));
      assert.equal((await run.client('one').get('/v1/health')).status, 401);
      assert.equal((await run.client('two').get('/v1/health')).status, 200);
      assert.deepEqual(
        run.log.lines,
        Array.from({ length: 3 }, () => `info: API listening on ${address}`),
      );
    });

    test('is left alone by a reload that does not change [api]', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(apiOptions(run.listen, 'one'));
      using events = await run.client('one').events('/v1/connections/events');
      await run.api.change(apiOptions(run.listen, 'one'));
      assert.equal(run.log.lines.length, 1);
      run.app.clock.advance(15_000);
      assert.equal((await events.next())?.name, ':');
    });

    test('stops when a reload removes [api], and logs it', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(apiOptions(run.listen));
      const client = run.client();
      await run.api.change(undefined);
      assert.equal(run.api.state, 'off');
      assert.equal(run.log.lines.at(-1), 'info: API stopped: the config no longer has [api]');
      await assert.rejects(client.get('/v1/health'), /ECONNREFUSED|ENOENT/);
    });

    test('starts when a reload adds [api]', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(undefined);
      await run.api.change(apiOptions(run.listen));
      assert.equal((await run.client().get('/v1/health')).status, 200);
      assert.deepEqual(run.log.lines, [`info: API listening on ${run.api.address}`]);
    });

    test('that a reload cannot bind stays off until [api] changes', async () => {
      await using run = await lifecycle(carrier);
      await using taken = await occupy(carrier, run.otherListen);
      await run.api.start(apiOptions(run.listen));
      const failure = `error: API on ${taken.listen}: address already in use; it stays off until [api] changes`;
      await run.api.change(apiOptions(taken.listen));
      assert.deepEqual([run.api.state, run.log.lines.at(-1)], ['off', failure]);
      await run.api.change(apiOptions(taken.listen));
      assert.equal(run.log.lines.length, 2);
      await run.api.change(apiOptions(taken.listen, 'secret'));
      assert.deepEqual(run.log.lines.slice(1), [failure, failure]);
      await run.api.change(apiOptions(run.listen));
      assert.equal(run.api.state, 'on');
    });

    test('that is off logs no stop when [api] is removed', async () => {
      await using run = await lifecycle(carrier);
      await using taken = await occupy(carrier, run.otherListen);
      await run.api.start(apiOptions(run.listen));
      await run.api.change(apiOptions(taken.listen));
      await run.api.change(undefined);
      assert.equal(run.log.lines.length, 2);
    });

    test('finishes the request whose reload changes [api]', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(apiOptions(run.listen));
      const held = run.app.hold('reload');
      const client = run.client();
      const reload = client.ask('POST', '/v1/reload');
      await eventually('the reload', () => run.app.reloads > 0);
      const changed = run.api.change(undefined);
      assert.equal(run.api.state, 'on');
      await eventually('the stop', () => run.api.state === 'stopping');
      held.release();
      const { status, headers } = await reload;
      assert.deepEqual([status, headers['connection']], [200, 'close']);
      await changed;
      assert.equal(run.api.state, 'off');
    });

    test('does not make a new address wait for event streams of the old one', async () => {
      await using run = await lifecycle(carrier);
      await run.api.start(apiOptions(run.listen));
      using events = await run.client().events('/v1/traffic');
      await run.api.change(apiOptions(run.api.address, 'new'));
      assert.equal((await run.client('new').get('/v1/health')).status, 200);
      run.app.clock.advance(5_000);
      while ((await events.next()) !== undefined) continue;
      const dropped = 'warn: API: requests still in flight when it stopped were dropped';
      assert.equal(run.log.lines.at(-1), dropped);
    });

    test('ends stopped when a stop and a change come together, whichever is first', async () => {
      for (const stopFirst of [true, false]) {
        await using run = await lifecycle(carrier);
        await run.api.start(apiOptions(run.listen));
        const { address } = run.api;
        const work = [() => run.api.stop(), () => run.api.change(apiOptions(address, 'x'))];
        if (!stopFirst) work.reverse();
        await Promise.all(work.map((begin) => begin()));
        assert.deepEqual([run.api.state, run.api.address], ['off', undefined]);
        await run.api.change(apiOptions(address));
        assert.equal(run.api.state, 'off');
      }
    });
  });

  if (carrier === 'unix') {
    describe('the socket file', () => {
      test('of a process that died is replaced', async () => {
        await using run = await lifecycle(carrier);
        const program = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
        spawnSync(process.execPath, ['-e', program, run.listen]);
        assert.ok(existsSync(run.listen));
        await run.api.start(apiOptions(run.listen));
        assert.equal((await run.client().get('/v1/health')).status, 200);
      });

      test('is gone when the API has stopped', async () => {
        await using run = await lifecycle(carrier);
        await run.api.start(apiOptions(run.listen));
        await run.api.stop();
        assert.equal(existsSync(run.listen), false);
      });

      test('does not replace a file that is not a socket', async () => {
        await using run = await lifecycle(carrier);
        await writeFile(run.listen, 'precious');
        await assert.rejects(run.api.start(apiOptions(run.listen)), /address already in use$/);
        assert.equal(readFileSync(run.listen, 'utf8'), 'precious');
      });

      test('in a folder that does not exist is reported as such', async () => {
        await using run = await lifecycle(carrier);
        const listen = `${run.listen}/deeper/api.sock`;
        await assert.rejects(run.api.start(apiOptions(listen)), {
          message: `API on ${listen}: no such file or directory`,
        });
      });
    });
  }
}
