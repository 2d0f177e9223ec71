import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { describe, test } from 'node:test';
import { ApiServer } from '../../src/api/http/server.ts';
import { readAll } from '../../../../test/support/read.ts';
import { eventually } from '../../../../test/support/wait.ts';
import { apiOptions, serve, type Carrier } from './api-harness.ts';

const DROPPED = 'warn: API: requests still in flight when it stopped were dropped';

export function stopSuite(carrier: Carrier): void {
  describe('stopping', () => {
    test('accepts no more at once, and frees the address', async () => {
      await using api = await serve(carrier);
      const held = api.app.hold('lock');
      const edit = api.client.pick('default', 'osaka');
      await held.reached;
      const stopped = api.server.stop();
      await assert.rejects(api.client.get('/v1/health'), /ECONNREFUSED|ENOENT/);
      const listen = api.server.address;
      const again = await ApiServer.start(apiOptions(listen), api.app, api.log);
      assert.equal(again.address, listen);
      await again.stop();
      held.release();
      assert.equal((await edit).status, 200);
      await stopped;
    });

    test('finishes the response under way and closes its connection', async () => {
      await using api = await serve(carrier);
      const agent = new Agent({ keepAlive: true });
      const held = api.app.hold('lock');
      const headers = { 'content-type': 'application/json' };
      const edit = api.client.ask('PUT', '/v1/routes/default', {
        headers,
        body: '{"target":"osaka"}',
        agent,
      });
      await held.reached;
      const stopped = api.server.stop();
      held.release();
      const reply = await edit;
      assert.deepEqual([reply.status, reply.headers['connection']], [200, 'close']);
      await stopped;
      assert.deepEqual(api.log.lines, []);
      agent.destroy();
    });

    test('requests pipelined behind the response under way are not served', async () => {
      await using api = await serve(carrier);
      const held = api.app.hold('reload');
      const socket = await api.client.connect();
      const request = 'POST /v1/reload HTTP/1.1\r\nHost: localhost\r\n\r\n';
      socket.write(request + request);
      await eventually('the reload', () => api.app.reloads > 0);
      const stopped = api.server.stop();
      socket.write(request);
      held.release();
      const { data } = await readAll(socket);
      socket.destroy();
      assert.match(data.toString(), /^HTTP\/1\.1 200 [^]*Connection: close/);
      await stopped;
      assert.equal(api.app.reloads, 1);
    });

    test('a reload through the API gets its response before the API stops', async () => {
      await using api = await serve(carrier);
      const held = api.app.hold('reload');
      const reload = api.client.ask('POST', '/v1/reload');
      await eventually('the reload', () => api.app.reloads > 0);
      const stopped = api.server.stop();
      held.release();
      assert.equal((await reload).status, 200);
      await stopped;
    });

    test('idle connections are closed at once', async () => {
      await using api = await serve(carrier);
      const idle = await api.client.connect();
      const halfway = await api.client.connect();
      halfway.write('GET /v1/hea');
      await api.client.get('/v1/health');
      const closed = [readAll(idle), readAll(halfway)];
      await api.server.stop();
      await Promise.all(closed);
      assert.deepEqual(api.log.lines, []);
    });

    test('after 5 seconds what is still under way is dropped, with a warning', async () => {
      await using api = await serve(carrier);
      const held = api.app.hold('lock');
      const edit = api.client.pick('default', 'osaka');
      const failed = assert.rejects(edit, /hang up|ECONNRESET/);
      await held.reached;
      const stopped = api.server.stop();
      api.app.clock.advance(4_999);
      assert.deepEqual(api.log.lines, []);
      api.app.clock.advance(1);
      await stopped;
      await failed;
      assert.deepEqual(api.log.lines, [DROPPED]);
      assert.deepEqual(api.app.abandoned, ['lock']);
    });

    test('an event stream continues until then', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events('/v1/traffic');
      const stopped = api.server.stop();
      api.app.clock.advance(1_000);
      assert.equal((await events.next())?.name, 'traffic');
      api.app.clock.advance(4_000);
      await stopped;
      while ((await events.next()) !== undefined) continue;
      assert.deepEqual(api.log.lines, [DROPPED]);
    });

    test('a traffic stream that ends with the sampler holds nothing up', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events('/v1/traffic');
      const stopped = api.server.stop();
      api.app.tracker.traffic.stop();
      assert.equal(await events.next(), undefined);
      await stopped;
      assert.deepEqual(api.log.lines, []);
    });

    test('stopping twice is the same as once', async () => {
      await using api = await serve(carrier);
      assert.equal(api.server.stop(), api.server.stop());
      await api.server.stop();
    });

    test('leaves no timer behind', async () => {
      await using api = await serve(carrier);
      const before = api.app.clock.timers;
      using events = await api.client.events('/v1/connections/events');
      assert.ok(api.app.clock.timers > before);
      const stopped = api.server.stop();
      api.app.clock.advance(5_000);
      await stopped;
      assert.equal(await events.next(), undefined);
      assert.equal(api.app.clock.timers, before);
    });
  });
}
