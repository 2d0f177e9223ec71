import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ProvenAgent, UnprovenApiError, type ApiProof } from '../../../src/client/proven-agent.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const OWN = process.geteuid?.() ?? 0;
const proofOf = (owners: readonly number[], isConfirmed = false): ApiProof => ({
  owners: new Set(owners),
  isConfirmed: () => Promise.resolve(isConfirmed),
});

/** A server of this process that counts what it gets. */
async function serve(where: { readonly path?: string } = {}) {
  const seen = { connections: 0, requests: 0 };
  const server = createServer((_, response) => {
    seen.requests++;
    response.end('ok');
  }).on('connection', () => seen.connections++);
  server.listen(where.path === undefined ? { host: '127.0.0.1', port: 0 } : where);
  await once(server, 'listening');
  const address = server.address() as AddressInfo | string;
  const place =
    typeof address === 'string'
      ? { socketPath: address }
      : { host: '127.0.0.1', port: address.port };
  return {
    seen,
    ask: async (agent: ProvenAgent): Promise<void> => {
      const sent = request({ ...place, agent }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe('a connection to an address that was not named', () => {
  test('is proven once, and kept for further requests', async () => {
    await using server = await serve();
    const agent = new ProvenAgent(proofOf([OWN]));
    await server.ask(agent);
    await server.ask(agent);
    assert.deepEqual(server.seen, { connections: 1, requests: 2 });
    agent.destroy();
  });

  test('gets no request where it is of a user who is not among the owners', async () => {
    await using server = await serve();
    await assert.rejects(server.ask(new ProvenAgent(proofOf([OWN + 1], true))), UnprovenApiError);
    assert.equal(server.seen.requests, 0);
  });

  test('without tables of sockets is proven by the running Weir, or not at all', async () => {
    await using server = await serve();
    const none = '/nowhere';
    await assert.rejects(server.ask(new ProvenAgent(proofOf([OWN]), none)), UnprovenApiError);
    assert.equal(server.seen.requests, 0);
    const agent = new ProvenAgent(proofOf([OWN], true), none);
    await server.ask(agent);
    assert.equal(server.seen.requests, 1);
    agent.destroy();
  });

  test('through a unix socket is proven by the owner of the file, in a folder that others cannot change', async () => {
    await using folder = await scratch();
    await using server = await serve({ path: join(folder.path, 'api.sock') });
    const agent = new ProvenAgent(proofOf([OWN]));
    await server.ask(agent);
    agent.destroy();
    await assert.rejects(server.ask(new ProvenAgent(proofOf([OWN + 1]))), UnprovenApiError);
    await chmod(folder.path, 0o777);
    await assert.rejects(server.ask(new ProvenAgent(proofOf([OWN]))), /replace that socket/);
    await chmod(folder.path, 0o700);
    assert.equal(server.seen.requests, 1);
  });

  test('that cannot be made fails with the error of the system', async () => {
    await using folder = await scratch();
    const agent = new ProvenAgent(proofOf([OWN]));
    const sent = request({ socketPath: join(folder.path, 'none.sock'), agent }).end();
    await assert.rejects(once(sent, 'response'), { code: 'ENOENT' });
  });
});
