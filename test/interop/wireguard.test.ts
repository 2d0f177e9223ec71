import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { decode, encode, type DecodedPacket } from 'dns-packet';
import { disposable, type Address } from '../support/address.ts';
import { socksIn } from '../support/config.ts';
import { API, Control } from '../support/control.ts';
import { unboundConfig } from '../support/dns-peers.ts';
import { withLoss, withoutLoss } from '../support/netns/loss.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, inside, NEAR, PORT, Site } from '../support/netns/site.ts';
import {
  TUNNEL,
  WireGuardPath,
  WireGuardPeer,
  withoutWireGuard,
} from '../support/netns/wireguard-peer.ts';
import { bodyOf, receiveBody, sendBody, type Body } from '../support/pattern.ts';
import { without } from '../support/peers.ts';
import { readAll, readExactly, roundTrip } from '../support/read.ts';
import { socksConnect, socksReply, type Target } from '../support/socks-client.ts';
import { UdpAssociation } from '../support/socks-udp.ts';
import { eventually } from '../support/wait.ts';
import { scratch, Weir } from '../support/weir.ts';

/** Bytes of a transfer: 1 GB where that is asked for. */
const SIZE = Number(process.env['WEIR_WIREGUARD_BYTES'] ?? 32 << 20);
/** Seconds of the one test in real time: more than two minutes where a rekey is asked for. */
const REKEY_SECONDS = Number(process.env['WEIR_WIREGUARD_REKEY'] ?? 0);
/** Concurrent connections. */
const MANY = 1000;

const skip = withoutWireGuard();
const noUnbound = without('unbound');
/** Of the resolver: that of the far end's own names is taken. */
const RESOLVER = 5300;

const at = (host: string, port: number): Target => ({ host, port });

async function upload(socks: Address, host: string, size: number): Promise<Body> {
  const socket = await socksConnect(socks, at(host, PORT.digest));
  await sendBody(socket, size);
  socket.end();
  return JSON.parse((await readAll(socket)).data.toString()) as Body;
}

async function download(socks: Address, host: string, size: number): Promise<Body> {
  const socket = await socksConnect(socks, at(host, PORT.source));
  socket.write(`${size}\n`);
  const body = await receiveBody(socket);
  socket.end();
  return body;
}

/** A few bytes there and back. */
async function says(socks: Address, host = FAR.host as string): Promise<void> {
  assert.deepEqual(await download(socks, host, 1000), bodyOf(1000));
}

async function echoes(socks: Address, host: string, sizes: readonly number[]): Promise<void> {
  using association = await UdpAssociation.open(socks);
  for (const size of sizes) {
    const data = randomBytes(size);
    const back = await eventually(`a datagram of ${size} bytes`, async () => {
      association.send(at(host, PORT.echo), data);
      const received = await association.receive(1000).catch(() => undefined);
      return received?.data.equals(data) === true ? received : undefined;
    });
    assert.deepEqual(at(back.from.host, back.from.port), at(host, PORT.echo));
  }
}

/** Of the UDP sockets of this network, those that are open: one for each tunnel, where nothing else has one. */
const udpSockets = (): number =>
  ['udp', 'udp6']
    .map((name) => readFileSync(`/proc/self/net/${name}`, 'latin1').trim().split('\n').length - 1)
    .reduce((sum, count) => sum + count);

const questionFor = (name: string): Buffer =>
  encode({ type: 'query', id: 7, questions: [{ type: 'A', name }] });

async function askByUdp(socks: Address, server: Target, name: string): Promise<DecodedPacket> {
  using association = await UdpAssociation.open(socks);
  association.send(server, questionFor(name));
  return decode((await association.receive()).data);
}

async function askByTcp(socks: Address, server: Target, name: string): Promise<DecodedPacket> {
  using socket = disposable(await socksConnect(socks, server));
  const question = questionFor(name);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(question.length);
  socket.write(Buffer.concat([length, question]));
  const size = (await readExactly(socket, 2)).readUInt16BE(0);
  return decode(await readExactly(socket, size));
}

const addressesOf = ({ answers = [] }: DecodedPacket): string[] =>
  answers.flatMap((answer) => (answer.type === 'A' ? answer.data : []));

if (skip !== false) test('WireGuard', { skip }, () => undefined);
else {
  inOwnNetwork(import.meta.url, () => {
    let site: Site;
    before(async () => {
      site = await Site.make();
    });
    after(() => site[Symbol.asyncDispose]());

    for (const presharedKey of [false, true]) {
      describe(`a tunnel to wireguard-go ${presharedKey ? 'with' : 'without'} a pre-shared key`, () => {
        let peer: WireGuardPeer;
        let weir: Weir;
        let socks: Address;

        before(async () => {
          peer = await WireGuardPeer.start({ presharedKey });
          weir = await Weir.start(socksIn() + peer.outbound());
          socks = weir.address('socks');
        });
        after(async () => {
          await weir[Symbol.asyncDispose]();
          await peer[Symbol.asyncDispose]();
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
      assert.match(weir.child.stderr, /wireguard: no tunnel-local addresses configured/);
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
      assert.match(weir.child.stderr, /10\.9\.9\.2:51820: the WireGuard peer does not respond/);
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

    test('keep-alives are sent at their interval', async () => {
      await using peer = await WireGuardPeer.start();
      await using path = await WireGuardPath.make();
      const times: number[] = [];
      path.passing = (datagram, fromWeir) => {
        if (fromWeir && datagram.length === 32) times.push(performance.now());
        return datagram;
      };
      const settings = { endpoint: path.endpoint, more: 'keepalive = 1' };
      await using weir = await Weir.start(socksIn() + peer.outbound(settings));
      await says(weir.address('socks'));
      const [from, length] = [performance.now(), times.length];
      await eventually('four keep-alives', () => times.length >= length + 4);
      const interval = (performance.now() - from) / 4;
      assert.ok(interval > 500, `one in ${interval} ms`);
    });

    test('a peer that was restarted is found by the next dial', async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      await says(socks);
      await peer.kill();
      await peer.run();
      await says(socks);
    });

    test('a peer that comes back is used at once', async () => {
      await using peer = await WireGuardPeer.start();
      await peer.kill();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      assert.notEqual(await socksReply(socks, at(FAR.host, PORT.echo)), 0);
      await peer.run();
      await says(socks);
    });

    test('a peer may begin the handshake', async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      await says(socks);
      const endpoint = peer.show('endpoints');
      await peer.kill();
      await peer.run();
      inside('far', 'wg', 'set', 'wg0', 'peer', peer.ownPublicKey, 'endpoint', endpoint);
      peer.speak();
      await eventually('a handshake', () => peer.show('latest-handshakes') !== '0');
      await says(socks);
    });

    test('addresses may change on both sides', async () => {
      await using peer = await WireGuardPeer.start();
      await using path = await WireGuardPath.make();
      await using weir = await Weir.start(socksIn() + peer.outbound({ endpoint: path.endpoint }));
      const socks = weir.address('socks');
      await says(socks);
      const before = peer.show('endpoints');
      await path.move();
      await says(socks);
      assert.notEqual(peer.show('endpoints'), before);
      inside('far', 'wg', 'set', 'wg0', 'listen-port', '51821');
      // The peer's packets come from another port, if only the next ones.
      path.port = 51_821;
      await says(socks);
    });

    test('loss of 5 %, copies and garbage do not change what arrives', async () => {
      await using peer = await WireGuardPeer.start();
      await using path = await WireGuardPath.make();
      let count = 0;
      path.passing = (datagram, fromWeir) => {
        count++;
        if (count % 7 === 0 && !fromWeir) path.inject(datagram);
        if (count % 11 === 0) {
          const garbage = Buffer.from(datagram);
          garbage[20] = (garbage[20] ?? 0) ^ 1;
          path.inject(garbage);
          path.inject(randomBytes(count % 200));
        }
        return count % 20 === 0 ? undefined : datagram;
      };
      await using weir = await Weir.start(socksIn() + peer.outbound({ endpoint: path.endpoint }));
      const socks = weir.address('socks');
      const expected = bodyOf(4 << 20);
      assert.deepEqual(await download(socks, FAR.host, 4 << 20), expected);
      assert.deepEqual(await upload(socks, FAR.host, 4 << 20), expected);
    });

    test('a reload leaves flows alone, and both versions share the tunnel', async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(API + socksIn() + peer.outbound());
      const socks = weir.address('socks');
      const control = await Control.of(weir);
      const socket = await socksConnect(socks, at(FAR.host, PORT.echo));
      const echo = async (text: string): Promise<void> => {
        socket.write(text);
        const chunk = await eventually(
          'an echo',
          () => (socket.read() as Buffer | null) ?? undefined,
        );
        assert.equal(String(chunk), text);
      };
      await echo('before');
      const handshake = peer.show('latest-handshakes');
      await control.apply(
        API + socksIn() + peer.outbound({ above: 'address_family = "ipv4_only"' }),
      );
      await says(socks);
      await echo('after');
      await control.apply(API + socksIn() + peer.outbound({ more: 'mtu = 1300' }));
      await says(socks);
      await echo('later');
      assert.equal(peer.show('latest-handshakes'), handshake);
      socket.destroy();
    });

    test(
      'loss of 5 % on the way does not change what arrives',
      { skip: withoutLoss() },
      async () => {
        await using peer = await WireGuardPeer.start();
        await using weir = await Weir.start(socksIn() + peer.outbound());
        const socks = weir.address('socks');
        await withLoss(NEAR.device, 5, async () => {
          const expected = bodyOf(4 << 20);
          assert.deepEqual(await download(socks, FAR.host, 4 << 20), expected);
          assert.deepEqual(await upload(socks, FAR.host, 4 << 20), expected);
        });
      },
    );

    test('the API closes a flow in the tunnel, and no other one', async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(API + socksIn() + peer.outbound());
      const socks = weir.address('socks');
      const control = await Control.of(weir);
      const idOf = async (host: string, network: string): Promise<number> => {
        const flow = (await control.flowsTo(host)).find((one) => one.network === network);
        assert.ok(flow, `a ${network} flow to ${host}`);
        return flow.id;
      };
      const kill = async (host: string, network: string): Promise<number> => {
        const id = await idOf(host, network);
        const { status } = await control.api.ask('DELETE', `/v1/connections/${id}`);
        assert.equal(status, 204);
        return id;
      };
      const before = (await site.counts()).resets;
      using killed = disposable(await socksConnect(socks, at(FAR.host, PORT.echo)));
      using other = disposable(await socksConnect(socks, at(FAR.host6, PORT.echo)));
      using association = await UdpAssociation.open(socks);
      const datagram = async (text: string): Promise<void> => {
        association.send(at(FAR.host, PORT.echo), text);
        assert.equal(String((await association.receive()).data), text);
      };
      for (const socket of [killed, other]) await roundTrip(socket, 'hello');
      await datagram('hello');
      const handshake = peer.show('latest-handshakes');

      const ended = readAll(killed);
      await kill(FAR.host, 'tcp');
      await ended;
      await eventually('its reset at the far end', async () => {
        return (await site.counts()).resets === before + 1;
      });
      assert.equal(String(await roundTrip(other, 'still here')), 'still here');
      await datagram('still here');

      const link = await kill(FAR.host, 'udp');
      assert.equal(String(await roundTrip(other, 'and still')), 'and still');
      // The association goes on with another flow.
      await datagram('again');
      assert.notEqual(await idOf(FAR.host, 'udp'), link);
      await says(socks);
      assert.equal(peer.show('latest-handshakes'), handshake, 'in the same session');
    });

    test('unbound resolves behind the tunnel, by UDP and by TCP', { skip: noUnbound }, async () => {
      await using folder = await scratch();
      const file = join(folder.path, 'unbound.conf');
      const name = 'many.unbound.test';
      const addresses = Array.from({ length: 200 }, (_, i) => `192.0.2.${i + 1}`);
      const lines = [
        `interface: ${FAR.host}@${RESOLVER}`,
        `port: ${RESOLVER}`,
        'access-control: 0.0.0.0/0 allow',
        'local-zone: "." static',
        'local-data: "one.unbound.test. 60 IN A 192.0.2.1"',
        ...addresses.map((address) => `local-data: "${name}. 60 IN A ${address}"`),
      ];
      await writeFile(file, unboundConfig(folder.path, lines));
      await using unbound = site.start('unbound', '-d', '-p', '-c', file);
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      await eventually('unbound', async () => {
        assert.equal(unbound.ended, undefined, unbound.stderr);
        return (await socksReply(socks, at(FAR.host, RESOLVER))) === 0;
      });
      const small = await askByUdp(socks, at(FAR.host, RESOLVER), 'one.unbound.test');
      assert.deepEqual(addressesOf(small), ['192.0.2.1']);
      const large = await askByUdp(socks, at(FAR.host, RESOLVER), name);
      assert.equal(large.flag_tc, true, 'a datagram is too small for all of them');
      const whole = await askByTcp(socks, at(FAR.host, RESOLVER), name);
      assert.deepEqual(addressesOf(whole).sort(), addresses.sort());
    });

    test('a reload with another peer leaves the flows of the old one to end by themselves', async () => {
      await using first = await WireGuardPeer.start();
      await using second = await WireGuardPeer.start({ number: 1 });
      await using weir = await Weir.start(API + socksIn() + first.outbound());
      const socks = weir.address('socks');
      const control = await Control.of(weir);
      using old = disposable(await socksConnect(socks, at(FAR.host, PORT.echo)));
      await roundTrip(old, 'before');
      assert.equal(udpSockets(), 1);

      const report = await control.apply(API + socksIn() + second.outbound());
      assert.deepEqual([report.status, report.drained], ['applied', ['wg@v1']]);
      await says(socks);
      assert.equal(String(await roundTrip(old, 'after')), 'after');
      assert.notEqual(second.show('latest-handshakes'), '0');
      assert.equal(udpSockets(), 2, 'one for each tunnel');

      old.end();
      await eventually('the end of the old tunnel', () => udpSockets() === 1);
      await first.kill();
      await says(socks);
    });

    const rekey = REKEY_SECONDS > 0 ? false : 'WEIR_WIREGUARD_REKEY is not set';
    test('sessions are replaced under load', { skip: rekey }, async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      await says(socks);
      const first = peer.show('latest-handshakes');
      const end = performance.now() + REKEY_SECONDS * 1000;
      while (performance.now() < end) {
        assert.deepEqual(await download(socks, FAR.host, 4 << 20), bodyOf(4 << 20));
        await sleep(200);
      }
      assert.notEqual(peer.show('latest-handshakes'), first);
    });
  });
}
