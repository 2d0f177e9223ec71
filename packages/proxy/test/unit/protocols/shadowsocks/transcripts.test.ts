import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import {
  client,
  connectTo,
  dialOptions,
  keyFor,
  server,
  WITH_IDENTITIES,
} from '../../../../../../test/support/protocols/shadowsocks/harness.ts';
import { TRANSCRIPTS } from '../../../../../../test/support/protocols/shadowsocks/transcripts.ts';

for (const { method, keys, wall, request, response } of TRANSCRIPTS) {
  const title = keys > 1 ? `${method} with an identity` : method;
  const chain = [keyFor(method, 1), keyFor(method, 2)].slice(0, keys);

  test(`${title}: a client sends byte for byte what a real server accepted, and reads its response`, async () => {
    const from = client(method, chain, undefined, 'frozen');
    from.clock.stepWall(wall - from.clock.wall());
    const link = await from.outbound.connect({ host: '127.0.0.1', port: 18_080 }, dialOptions());
    await link.write(Buffer.from('hello'));
    const [far] = from.dialled;
    const sent = await far?.read();
    assert.equal(Buffer.from(sent ?? []).toString('hex'), request);
    await far?.write(Buffer.from(response, 'hex'));
    assert.equal(String(await link.read()), 'hello');
  });

  test(`${title}: a server accepts the same request`, async () => {
    const users = keys > 1 ? [{ key: keyFor(method, 2), email: 'u' }] : [];
    const to = server(method, { users });
    to.clock.stepWall(wall - to.clock.wall());
    const { far } = connectTo(to);
    await far.write(Buffer.from(request, 'hex'));
    await settle();
    const [stream] = to.dispatcher.streams;
    assert.deepEqual(stream?.destination, { host: '127.0.0.1', port: 18_080 });
    assert.equal(stream.origin.user, keys > 1 ? 'u' : undefined);
    far.destroy();
  });
}

test('every method has a transcript', () => {
  assert.equal(TRANSCRIPTS.length, 7 + WITH_IDENTITIES.length);
});
