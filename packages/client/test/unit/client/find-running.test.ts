import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ControlHandlers } from '@weir/server/app/control/control-handlers';
import { ControlSocket } from '@weir/server/app/control/control-socket';
import { ApiClientError } from '../../../src/client/api-client.ts';
import { findRunning, type RunningSearch } from '../../../src/client/find-running.ts';
import { fullStatus } from '../../../../../test/support/metrics/full-status.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

/** What a server at `host` gets as a secret from a client that was found by the control socket of another Weir. */
async function secretSentTo(host: string, more: Partial<RunningSearch> = {}) {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  await writeFile(config, '[api]\nlisten = "127.0.0.1:9"\nsecret = "for-this-host"\n');
  const path = join(folder.path, 's');
  const status = () => Promise.resolve({ ...fullStatus, config, api: '127.0.0.1:9' });
  const socket = await ControlSocket.open(path, {
    status,
    followsUsage: () => false,
  } as unknown as ControlHandlers);
  let sent: string | undefined;
  const server = createServer((request, response) => {
    sent = request.headers.authorization;
    response.end('{"version":"2.1.1"}');
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const api = `${host}:${port}`;
  const named = more.config === undefined ? {} : { config };
  const weir = await findRunning({ api, socket: path, env: {}, ...named });
  await weir.api.ask('GET', '/v1/version');
  server.closeAllConnections();
  server.close();
  socket.close();
  return sent;
}

// Linux connects 0.0.0.0 to this host; for the search it is an address like that of any other host.
test('a named API on another host does not get the secret of a Weir that was only found', async () => {
  assert.equal(await secretSentTo('0.0.0.0'), undefined);
});

test('it gets the secret of a configuration that was named', async () => {
  assert.equal(await secretSentTo('0.0.0.0', { config: 'named' }), 'Bearer for-this-host');
});

test('one on this host gets the secret of the Weir that was found', async () => {
  assert.equal(await secretSentTo('127.0.0.1'), 'Bearer for-this-host');
});

test('the API of a Weir that has ended is still expected where it was', async () => {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  await writeFile(config, '[api]\nlisten = "127.0.0.1:29"\n');
  for (const served of [config, null]) {
    const path = join(folder.path, 's');
    const status = () => Promise.resolve({ ...fullStatus, config: served, api: '127.0.0.1:29' });
    const socket = await ControlSocket.open(path, {
      status,
      followsUsage: () => false,
    } as unknown as ControlHandlers);
    const weir = await findRunning({ socket: path, env: {} });
    socket.close();
    await weir.findAgain();
    const { place } = weir;
    assert.equal(place.kind === 'url' && place.url.host, '127.0.0.1:29');
  }
});

/** A control socket whose process says that its API is at `api`. */
async function controlSocket(path: string, api: string | null, config: string | null = null) {
  const status = () => Promise.resolve({ ...fullStatus, config, api });
  const socket = await ControlSocket.open(path, {
    status,
    followsUsage: () => false,
  } as unknown as ControlHandlers);
  return { [Symbol.dispose]: () => socket.close() };
}

/** What a request fails with, and the address of the API. */
async function placeOf(search: RunningSearch): Promise<string> {
  const { place } = await findRunning(search);
  switch (place.kind) {
    case 'url':
      return place.url.host;
    case 'unix':
      return place.path;
    case 'unknown':
      return `unknown: ${place.reason.message}`;
    default:
      return place satisfies never;
  }
}

test('the standard address is used only if nothing was named and nothing is found', async () => {
  await using folder = await scratch();
  const { path: serviceFolder } = folder;
  const at = (name: string): string => join(serviceFolder, name);
  await writeFile(at('none.toml'), '[log]\nlevel = "info"\n');
  await writeFile(at('api.toml'), '[api]\n');
  await writeFile(at('unix.toml'), '[api]\nlisten = "/run/x/api.sock"\n');
  await writeFile(at('broken.toml'), '[api\n');
  const dead = at('dead.sock');
  const find = (search: Omit<RunningSearch, 'env'>, env: RunningSearch['env'] = {}) =>
    placeOf({ ...search, env, serviceFolder: at('no-services') });

  assert.equal(await find({}), '127.0.0.1:9090');
  assert.equal(await find({ config: at('api.toml') }), '127.0.0.1:9090');
  assert.equal(await find({ config: at('unix.toml') }), '/run/x/api.sock');
  assert.match(
    await find({ config: at('none.toml') }),
    /^unknown: .*none\.toml has no \[api\]: add it/,
  );
  assert.match(await find({ config: at('broken.toml') }), /^unknown: cannot read .*TOML/s);
  const named =
    /^unknown: there is no running Weir on .*dead\.sock, which (\S+) names: connect ENOENT/;
  assert.match(await find({ socket: dead }), named);
  assert.match(await find({ socket: dead, config: at('api.toml') }), named);
  assert.equal(named.exec(await find({}, { WEIR_SOCKET: dead }))?.[1], 'WEIR_SOCKET');
  assert.equal(await find({ socket: dead, api: '127.0.0.1:1' }), '127.0.0.1:1');
  for (const more of [{}, { api: '127.0.0.1:1' }, { socket: dead }]) {
    await assert.rejects(
      find({ config: at('missing.toml'), ...more }),
      /cannot read .*missing\.toml/,
    );
  }

  const live = at('live.sock');
  {
    using _ = await controlSocket(live, null, at('none.toml'));
    assert.match(
      await find({ socket: live }),
      /^unknown: .* its configuration has no \[api\]: add it/,
    );
  }
  {
    using _ = await controlSocket(live, null, at('api.toml'));
    assert.match(await find({ socket: live }), /^unknown: the API of the running Weir .* is off/);
  }
  {
    using _ = await controlSocket(live, '127.0.0.1:2');
    assert.equal(await find({ socket: live }), '127.0.0.1:2');
  }
});

test('a request to a place that is not known fails with the reason and its hint', async () => {
  await using folder = await scratch();
  const weir = await findRunning({ socket: join(folder.path, 'dead.sock'), env: {} });
  assert.equal(weir.problem?.message.startsWith('there is no running Weir on'), true);
  await assert.rejects(weir.api.ask('GET', '/v1/version'), (error) => {
    assert.ok(error instanceof ApiClientError);
    assert.equal(error.message, weir.problem?.message);
    assert.equal(error.hint, weir.problem?.hint);
    return true;
  });
});
