import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { type Address } from '../support/data/address.ts';
import { socksIn } from '../support/process/config.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, PORT, Site } from '../support/netns/site.ts';
import { at, download, echoes, says, upload } from '../support/netns/wireguard-flows.ts';
import {
  TUNNEL,
  WireGuardPath,
  WireGuardPeer,
  withoutWireGuard,
} from '../support/netns/wireguard-peer.ts';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { socksConnect, socksReply } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

/** Bytes of a transfer: 1 GB where that is asked for. */
const SIZE = Number(process.env['WEIR_WIREGUARD_BYTES'] ?? 16 << 20);
/** Concurrent connections. */
const MANY = 1000;

/** Waits for a line of the log, which comes by another way than the answer to a client. */
const logged = (weir: Weir, line: RegExp): Promise<true> =>
  weir.child.until(String(line), ({ stderr }) => line.test(stderr) || undefined);

const skip = withoutWireGuard();

if (skip !== false) test('WireGuard', { skip }, () => undefined);
else {
  inOwnNetwork(import.meta.url, () => {
    shared(async (use) => {
      use(await Site.make());
    });
    for (const presharedKey of [false, true]) {
      describe(`a tunnel to wireguard-go ${presharedKey ? 'with' : 'without'} a pre-shared key`, () => {
        let peer: WireGuardPeer;
        let weir: Weir;
        let socks: Address;

        shared(async (use) => {
          peer = use(await WireGuardPeer.start({ presharedKey }));
          weir = use(await Weir.start(socksIn() + peer.outbound()));
          socks = weir.address('socks');
        });
        for (const host of [FAR.host, FAR.host6]) {
          test(`carries bodies both ways to ${host}`, async () => {
            const expected = bodyOf(SIZE);
            assert.deepEqual(await download(socks, host, SIZE), expected);
            assert.deepEqual(await upload(socks, host, SIZE), expected);
          });

          test(`carries datagrams of all sizes to ${host}`, () =>
            echoes(socks, host, [0, 1, 1300, 1393, 1473, 9000, 60_000]));
        }

        test('reports a refusal', async () => {
          assert.equal(await socksReply(socks, at(FAR.host, PORT.closed)), 0x05);
        });

        test('carries both directions of a connection at once', async () => {
          const socket = await socksConnect(socks, at(FAR.host, PORT.echo));
          const [, body] = await Promise.all([
            sendBody(socket, SIZE).then(() => socket.end()),
            receiveBody(socket),
          ]);
          assert.deepEqual(body, bodyOf(SIZE));
        });

        test(`carries ${MANY} connections at once`, async () => {
          const sockets: Socket[] = [];
          // A few at a time: on a busy machine the last of a thousand would wait longer than a dial may.
          while (sockets.length < MANY) {
            const some = Array.from({ length: 100 }, () =>
              socksConnect(socks, at(FAR.host, PORT.source)),
            );
            sockets.push(...(await Promise.all(some)));
          }
          const bodies = sockets.map(async (socket) => {
            socket.write('10000\n');
            const body = await receiveBody(socket);
            socket.end();
            return body;
          });
          for (const body of await Promise.all(bodies)) assert.deepEqual(body, bodyOf(10_000));
        });
      });
    }

    test('a tunnel with an address of one family reaches that family alone', async () => {
      await using peer = await WireGuardPeer.start();
      for (const [own, host, other] of [
        [TUNNEL.own, FAR.host, FAR.host6],
        [TUNNEL.own6, FAR.host6, FAR.host],
      ] as const) {
        await using weir = await Weir.start(socksIn() + peer.outbound({ addresses: [own] }));
        const socks = weir.address('socks');
        await says(socks, host);
        assert.equal(await socksReply(socks, at(other, PORT.echo)), 0x03);
      }
    });

    test('a tunnel without addresses fails every connection', async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound({ addresses: [] }));
      assert.equal(await socksReply(weir.address('socks'), at(FAR.host, PORT.echo)), 0x01);
      await logged(weir, /wireguard: no tunnel-local addresses configured/);
    });

    test('the endpoint may be an IPv6 address', async () => {
      await using peer = await WireGuardPeer.start();
      const endpoint = `${FAR.gateway6}:${peer.port}`;
      await using weir = await Weir.start(socksIn() + peer.outbound({ endpoint }));
      await says(weir.address('socks'));
    });

    test('an endpoint in brackets does not resolve', async () => {
      await using peer = await WireGuardPeer.start();
      const endpoint = `[${FAR.gateway6}]:${peer.port}`;
      await using weir = await Weir.start(socksIn() + peer.outbound({ endpoint }));
      assert.notEqual(await socksReply(weir.address('socks'), at(FAR.host, PORT.echo)), 0);
    });

    test('a peer with another key is silent, which fails a dial within its 10 s', async () => {
      await using peer = await WireGuardPeer.start();
      const peerPublicKey = randomBytes(32).toString('base64');
      await using weir = await Weir.start(socksIn() + peer.outbound({ peerPublicKey }));
      assert.notEqual(await socksReply(weir.address('socks'), at(FAR.host, PORT.echo)), 0);
      await logged(weir, /10\.9\.9\.2:51820: the WireGuard peer does not respond/);
    });

    test('reserved bytes are in every datagram, and ignored in those that come', async () => {
      await using peer = await WireGuardPeer.start();
      await using path = await WireGuardPath.make();
      const wrong: string[] = [];
      let seen = 0;
      path.passing = (datagram, fromWeir) => {
        if (!fromWeir) {
          randomBytes(3).copy(datagram, 1);
          return datagram;
        }
        seen++;
        const reserved = datagram.subarray(1, 4).toString('hex');
        if (reserved !== '0b16ff') wrong.push(reserved);
        return datagram.fill(0, 1, 4);
      };
      const settings = { endpoint: path.endpoint, more: 'reserved = [11, 22, 255]' };
      await using weir = await Weir.start(socksIn() + peer.outbound(settings));
      const socks = weir.address('socks');
      assert.deepEqual(await download(socks, FAR.host, 1 << 20), bodyOf(1 << 20));
      assert.deepEqual(await upload(socks, FAR.host, 1 << 20), bodyOf(1 << 20));
      assert.deepEqual(wrong, []);
      assert.ok(seen > 500);
    });
  });
}
