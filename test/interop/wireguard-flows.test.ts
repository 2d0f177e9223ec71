import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { decode, encode, type DecodedPacket } from 'dns-packet';
import { disposable, type Address } from '../support/data/address.ts';
import { socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { unboundConfig } from '../support/peers/dns-peers.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, LAST_WORDS, PORT, Site } from '../support/netns/site.ts';
import { at, says } from '../support/netns/wireguard-flows.ts';
import { WireGuardPeer, withoutWireGuard } from '../support/netns/wireguard-peer.ts';
import { without } from '../support/programs/peers.ts';
import { readAll, readExactly, roundTrip } from '../support/read.ts';
import { socksConnect, socksReply, type Target } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { eventually } from '../support/wait.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const noUnbound = without('unbound');
/** Of the resolver: that of the far end's own names is taken. */
const RESOLVER = 5300;

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

const skip = withoutWireGuard();

if (skip !== false) test('flows in a WireGuard tunnel', { skip }, () => undefined);
else {
  inOwnNetwork(import.meta.url, () => {
    let site: Site;
    shared(async (use) => {
      site = use(await Site.make());
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

    test('a response before a reset arrives whole, and then the reset', async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      const once = async (host: string): Promise<string> => {
        using socket = disposable(await socksConnect(socks, at(host, PORT.lastWords)));
        socket.on('error', () => undefined).write(Buffer.alloc(3000, 'an upload '));
        const { data, clean } = await readAll(socket);
        return `${data.length} bytes, then ${clean ? 'an end' : 'a reset'}`;
      };
      const hosts = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? FAR.host : FAR.host6));
      const seen = await Promise.all(hosts.map(once));
      for (const host of hosts) seen.push(await once(host));
      assert.deepEqual([...new Set(seen)], [`${LAST_WORDS} bytes, then a reset`]);
    });

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
  });
}
