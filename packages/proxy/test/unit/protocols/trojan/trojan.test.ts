import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce, HANDSHAKE_MS } from '@weir/io/time';
import { WeirError } from '@weir/base';
import { createTrojanInbound, trojanUsers } from '../../../../src/protocols/trojan/inbound.ts';
import { createTrojanOutbound } from '../../../../src/protocols/trojan/outbound.ts';
import { MAX_DATA, TrojanFraming } from '../../../../src/protocols/trojan/wire.ts';
import { trojanKey, type TrojanUser } from '../../../../src/protocols/trojan/settings.ts';
import {
  bytes,
  connectTo,
  neverAborted,
} from '../../../../../../test/support/protocols/socks/harness.ts';
import { readAll, readExactly } from '../../../../../../test/support/read-link.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import { clientOf, serverOf } from '../../../../../../test/support/protocols/tunnel-harness.ts';

const PASSWORD = 'correct horse';
/** What v2ray 4.34 sends for that password. */
const KEY = 'be678ecb0e1e13fd0c1440995f43225ca83aeb66717e8ea790b867f2';
const CONNECT = bytes(`'${KEY}' 0d0a 01 03 09 'a.example' 0050 0d0a 'hello'`);
const QUERY = bytes(`01 c0000207 0035 0005 0d0a 'query'`);

const server = (
  users: readonly TrojanUser[] = [{ password: PASSWORD, email: 'mia@example.com' }],
) => serverOf((context) => createTrojanInbound(atOnce(trojanUsers({ users })), context));
const client = () => clientOf((context) => createTrojanOutbound({ password: PASSWORD }, context));

describe('a Trojan server', () => {
  test('has no label for a user without one; of equal passwords the later counts', async () => {
    for (const [emails, label] of [
      [[''], undefined],
      [['first', 'second'], 'second'],
      [['first', ''], undefined],
    ] as const) {
      const fixture = server(emails.map((email) => ({ password: PASSWORD, email })));
      const { client, served } = connectTo(fixture);
      await client.write(CONNECT);
      await client.closeWrite();
      await served;
      assert.equal(fixture.dispatcher.streams[0]?.origin.user, label);
    }
  });

  test('takes any string for a password, the empty one too', async () => {
    for (const password of ['', 'ü€', 'x'.repeat(1000)]) {
      const fixture = server([{ password, email: password.slice(0, 3) }]);
      const { client, served } = connectTo(fixture);
      await client.write(Buffer.concat([trojanKey(password), CONNECT.subarray(56)]));
      await client.closeWrite();
      assert.equal(await served, undefined);
    }
  });
});

describe('a Trojan client', () => {
  test('names the peer of the first datagram that it sends in the request of an association', async () => {
    const { outbound, clock, dialled } = client();
    const link = await outbound.associate(neverAborted());
    const [far] = dialled;
    assert.ok(far);
    // Until then the response is not known, and what cannot be sent is not named.
    clock.advance(HANDSHAKE_MS);
    link.send({ data: Buffer.alloc(MAX_DATA + 1), peer: { host: '198.51.100.1', port: 1 } });
    link.send({ data: Buffer.alloc(1), peer: { host: 'x'.repeat(256), port: 1 } });
    link.send({ data: Buffer.from('q'), peer: { host: 'a.example', port: 53 } });
    const peer = `03 09 'a.example' 0035`;
    const expected = bytes(`'${KEY}' 0d0a 03 ${peer} 0d0a ${peer} 0001 0d0a 'q'`);
    assert.deepEqual(await readExactly(far, expected.length), expected);
    assert.equal(link.dropped, 2);
  });

  test('says nothing on a connection on which no datagram is sent', async () => {
    const { outbound, clock, dialled } = client();
    const link = await outbound.associate(neverAborted());
    const [far] = dialled;
    assert.ok(far);
    const heard = readAll(far).catch(() => Buffer.alloc(0));
    await settle();
    link.close();
    assert.equal((await heard).length, 0);
    assert.equal(clock.timers, 0);
  });
});

describe('the framing of Trojan datagrams', () => {
  const outcome = (chunks: readonly Uint8Array[]): unknown[] => {
    const framing = new TrojanFraming();
    const seen: unknown[] = [];
    try {
      for (const chunk of chunks) {
        for (const packet of framing.decode(chunk)) {
          seen.push(
            packet && { data: Buffer.from(packet.data).toString('hex'), peer: packet.peer },
          );
        }
      }
    } catch (error) {
      assert.ok(error instanceof WeirError, String(error));
      seen.push(error.message);
    }
    return seen;
  };

  test('rejects a datagram header that does not end in CR LF', () => {
    for (const end of ['0d0d', '0a0a', '0a0d', '0000']) {
      const header = bytes(`01 c0000207 0035 0005 ${end} 'query'`);
      assert.throws(() => [...new TrojanFraming().decode(header)], /without CRLF/, end);
    }
  });

  test('skips a datagram for a name that is none', () => {
    assert.deepEqual(outcome([Buffer.concat([bytes(`03 03 'a b' 0035 0001 0d0a 'x'`), QUERY])]), [
      undefined,
      { data: Buffer.from('query').toString('hex'), peer: { host: '192.0.2.7', port: 53 } },
    ]);
  });

  test('writes nothing longer than v2ray reads', () => {
    const framing = new TrojanFraming();
    const peer = { host: '192.0.2.7', port: 53 };
    assert.ok(framing.encode({ data: Buffer.alloc(MAX_DATA), peer }));
    assert.equal(framing.encode({ data: Buffer.alloc(MAX_DATA + 1), peer }), undefined);
    assert.equal(framing.encode({ data: Buffer.alloc(1), peer: { host: '', port: 1 } }), undefined);
  });
});
