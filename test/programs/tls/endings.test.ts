import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portOf } from '../../support/data/address.ts';
import { Weir } from '../../support/process/weir.ts';
import { within } from '../../support/wait.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { secureConfig } from '../support/secure-inbounds.ts';
import { trojanRequest } from '../support/trojan-request.ts';

const tlslite = programOrSkip('tls-probes');

/** How the connection at the far end of a tunnel ends; it echoes what comes. */
function endOf(socket: Socket): Promise<'end' | 'reset'> {
  const { promise, resolve } = Promise.withResolvers<'end' | 'reset'>();
  socket.on('data', (chunk) => socket.write(chunk));
  socket.on('end', () => resolve('end'));
  socket.on('error', () => resolve('reset'));
  return promise;
}

for (const [how, expected] of [
  ['close_notify', 'end'],
  ['truncated', 'reset'],
  ['alert', 'reset'],
  ['oversized', 'reset'],
] as const) {
  test(
    `a client of tlslite-ng that ends by ${how} ends its destination by ${expected}`,
    { skip: tlslite.skip },
    async (t) => {
      await using weir = await Weir.start(secureConfig());
      const server = createServer({ allowHalfOpen: false });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.after(() => server.close());
      const { port } = server.address() as AddressInfo;
      const ended = once(server, 'connection').then(([socket]) => endOf(socket as Socket));
      const script = fileURLToPath(new URL('endings.py', import.meta.url));
      const target = String(portOf(weir.address('trojan')));
      const args = ['-B', script, target, trojanRequest(port), how];
      assert.equal(await outputOf(tlslite.path, args, 60_000), `${how}\n`);
      assert.equal(await within(ended, 'the end at the destination'), expected);
    },
  );
}
