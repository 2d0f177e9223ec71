import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce } from '../../../../src/net/time/turns.ts';
import { HANDSHAKE_MS } from '../../../../src/net/time/time-limits.ts';
import type { InboundContext, InboundHandler } from '../../../../src/protocols/contract.ts';
import { createShadowsocksInbound } from '../../../../src/protocols/shadowsocks/inbound.ts';
import { createTrojanInbound } from '../../../../src/protocols/trojan/inbound.ts';
import { createVlessInbound } from '../../../../src/protocols/vless/inbound.ts';
import { createVmessInbound } from '../../../../src/protocols/vmess/inbound.ts';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { uncollected } from '../../../support/process/uncollected.ts';
import { bytes, connectTo } from '../../../support/protocols/socks/harness.ts';
import { serverOf, settle } from '../../../support/protocols/tunnel-harness.ts';

const ID = 'b831381d63244d53ad4f8cda48b30811';
/** SHA-224 of the password in hex. */
const KEY = 'be678ecb0e1e13fd0c1440995f43225ca83aeb66717e8ea790b867f2';
const PASSWORD = 'correct horse';
const NOISE = bytes('55'.repeat(4096));
const STEP_MS = 500;

interface Server {
  readonly name: string;
  readonly create: (context: InboundContext) => InboundHandler;
  /** What is invalid from some byte on, each at another one, and what is incomplete. */
  readonly requests: Readonly<Record<string, Buffer>>;
}

const vlessOf = (rest: string): Buffer => bytes(`00 ${ID} ${rest}`);
const trojanOf = (rest: string): Buffer => bytes(`'${KEY}' ${rest}`);

const SERVERS: readonly Server[] = [
  {
    name: 'VLESS',
    create: (context) => atOnce(createVlessInbound({ users: [{ id: ID }] }, context)),
    requests: {
      'another version': bytes('01'),
      'all but the last byte of an id': bytes(`00 ${ID}`).subarray(0, -1),
      'another id': bytes(`00 ${ID.replace('b', 'c')}`),
      'a flow': vlessOf(`12 0a10 'xtls-rprx-vision'`),
      'an unknown command': vlessOf('00 04'),
      'an unknown type of address': vlessOf('00 01 0050 04'),
      'an invalid name': vlessOf('00 01 0050 02 01 00'),
      'a part of a name': vlessOf(`00 01 0050 02 09 'a.ex'`),
    },
  },
  {
    name: 'Trojan',
    create: (context) =>
      atOnce(createTrojanInbound({ users: [{ password: PASSWORD, email: '' }] }, context)),
    requests: {
      'all but the last byte of a key': trojanOf('').subarray(0, -1),
      'another key': bytes(`'${KEY.replace('b', 'c')}'`),
      'a key without CRLF': trojanOf('0d0d'),
      'an unknown command': trojanOf('0d0a 02'),
      'an unknown type of address': trojanOf('0d0a 01 02'),
      'an invalid name': trojanOf('0d0a 01 03 01 00 0050'),
      'a request without CRLF': trojanOf('0d0a 01 01 7f000001 0050 0a0a'),
      'a part of a request': trojanOf('0d0a 01 01 7f000001'),
    },
  },
  {
    name: 'VMess',
    create: (context) => atOnce(createVmessInbound({ users: [{ id: ID }] }, context)),
    requests: {
      'all but the last byte of an auth ID': NOISE.subarray(0, 15),
      'another auth ID': NOISE.subarray(0, 16),
      'more than that': NOISE.subarray(0, 60),
    },
  },
  {
    name: 'Shadowsocks',
    create: (context) =>
      atOnce(
        createShadowsocksInbound(
          { method: 'aes-256-gcm', key: Buffer.alloc(32, 1).toString('base64'), users: [] },
          context,
        ),
      ),
    requests: {
      'a part of a salt': NOISE.subarray(0, 31),
      'all but the last byte of a length': NOISE.subarray(0, 49),
      'an invalid length': NOISE.subarray(0, 50),
    },
  },
];

/** When and how the connection ends for a client that sends `pieces` and then stays. */
async function observe(
  { create }: Server,
  pieces: readonly Uint8Array[],
): Promise<{ readonly end: string; readonly after: number }> {
  const fixture = serverOf(create);
  const { client, served } = connectTo(fixture);
  let end: string | undefined;
  const ended = (how: string): void => void (end ??= how);
  client.read().then(
    (chunk) => ended(chunk ? 'data' : 'end of stream'),
    () => ended('reset'),
  );
  for (const piece of pieces) await client.write(piece);
  await settle();
  let after = 0;
  for (; end === undefined && after < 3 * HANDSHAKE_MS; after += STEP_MS) {
    fixture.clock.advance(STEP_MS);
    await settle();
  }
  client.destroy();
  await served;
  assert.equal(fixture.dispatcher.streams.length + fixture.dispatcher.associations.length, 0);
  assert.equal(fixture.clock.timers, 0);
  return { end: end ?? 'open', after };
}

describe('a client that is rejected observes no more than one that sends nothing', () => {
  for (const server of SERVERS) {
    test(`whatever a ${server.name} server finds invalid, and wherever it does`, async () => {
      const silent = await observe(server, []);
      assert.equal(silent.after, HANDSHAKE_MS);
      for (const [name, request] of Object.entries(server.requests)) {
        assert.deepEqual(await observe(server, [request]), silent, name);
      }
    });

    test(`also when it sends far more to a ${server.name} server`, async () => {
      const silent = await observe(server, []);
      const noise = Array.from({ length: 64 }, () => NOISE);
      assert.deepEqual(await observe(server, noise), silent);
    });

    test(`and a ${server.name} server closes at once when it has closed`, async () => {
      for (const request of Object.values(server.requests)) {
        const fixture = serverOf(server.create);
        const { client, served } = connectTo(fixture);
        await client.write(request);
        await client.closeWrite();
        await served;
        assert.equal(fixture.clock.timers, 0);
      }
    });
  }
});

/** In a frame of its own, which does not keep what it sends. */
async function sendNoise(client: Pick<ByteLink, 'write'>): Promise<WeakRef<object>> {
  const chunk = new Uint8Array(64 << 10).fill(0x55);
  await client.write(chunk);
  return new WeakRef(chunk.buffer);
}

describe('what a rejected client has sent', () => {
  for (const { name, create } of SERVERS) {
    test(`is not kept by a ${name} server until the client is closed`, async () => {
      const fixture = serverOf(create);
      const { client, served } = connectTo(fixture);
      const sent = await sendNoise(client);
      await settle();
      assert.deepEqual(await uncollected([sent]), []);
      client.destroy();
      await served;
    });
  }
});
