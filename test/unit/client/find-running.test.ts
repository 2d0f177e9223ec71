import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { ControlSocket, type ControlWords } from '../../../src/app/control/control-socket.ts';
import { findRunning, type RunningSearch } from '../../../src/client/find-running.ts';
import { fullStatus } from '../../support/metrics/full-status.ts';
import { scratch } from '../../support/process/weir.ts';

/** What a server at `host` gets as a secret from a client that was found by the control socket of another Weir. */
async function secretSentTo(host: string, more: Partial<RunningSearch> = {}) {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  await writeFile(config, '[api]\nlisten = "127.0.0.1:9"\nsecret = "for-this-host"\n');
  const path = join(folder.path, 's');
  const status = () => Promise.resolve({ ...fullStatus, config, api: '127.0.0.1:9' });
  const socket = await ControlSocket.open(path, { status } as unknown as ControlWords);
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
    const socket = await ControlSocket.open(path, { status } as unknown as ControlWords);
    const weir = await findRunning({ socket: path, env: {} });
    socket.close();
    await weir.findAgain();
    const { place } = weir;
    assert.equal(place.kind === 'url' && place.url.host, '127.0.0.1:29');
  }
});
