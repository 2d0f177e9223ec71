import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { disposable } from '../support/data/address.ts';
import { socksIn } from '../support/process/config.ts';
import { withLoss, withoutLoss } from '../support/netns/loss.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, inside, NEAR, PORT, Site } from '../support/netns/site.ts';
import { at, download, says, upload } from '../support/netns/wireguard-flows.ts';
import { WireGuardPath, WireGuardPeer, withoutWireGuard } from '../support/netns/wireguard-peer.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { roundTrip } from '../support/read.ts';
import { socksConnect, socksReply } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

/** Seconds of the one test in real time: more than two minutes where a rekey is asked for. */
const REKEY_SECONDS = Number(process.env['WEIR_WIREGUARD_REKEY'] ?? 0);

const skip = withoutWireGuard();

if (skip !== false) test('the path of a WireGuard tunnel', { skip }, () => undefined);
else {
  inOwnNetwork(import.meta.url, () => {
    shared(async (use) => {
      use(await Site.make());
    });
    test('keep-alives are sent at their interval', async () => {
      await using peer = await WireGuardPeer.start();
      await using path = await WireGuardPath.make();
      let count = 0;
      path.passing = (datagram, fromWeir) => {
        if (fromWeir && datagram.length === 32) count++;
        return datagram;
      };
      const begun = performance.now();
      const settings = { endpoint: path.endpoint, more: 'keepalive = 1' };
      await using weir = await Weir.start(socksIn() + peer.outbound(settings));
      await says(weir.address('socks'));
      const before = count;
      await eventually('four keep-alives', () => count >= before + 4);
      // However late they are seen: those of the whole time, and two that confirm the session.
      const most = (performance.now() - begun) / 1000 + 3;
      assert.ok(count <= most, `${count} where there may be ${most}`);
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

    test('a connection outlives the restart of a peer', async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      using socket = disposable(await socksConnect(socks, at(FAR.host, PORT.echo)));
      await roundTrip(socket, 'before');
      await peer.kill();
      await peer.run();
      const [after] = await Promise.all([roundTrip(socket, 'after'), says(socks)]);
      assert.equal(String(after), 'after');
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

    const rekey = REKEY_SECONDS > 0 ? false : 'WEIR_WIREGUARD_REKEY is not set';

    test('sessions are replaced under load', { skip: rekey }, async () => {
      await using peer = await WireGuardPeer.start();
      await using weir = await Weir.start(socksIn() + peer.outbound());
      const socks = weir.address('socks');
      await says(socks);
      const first = peer.show('latest-handshakes');
      const replaced = async (): Promise<boolean> => {
        assert.deepEqual(await download(socks, FAR.host, 4 << 20), bodyOf(4 << 20));
        return peer.show('latest-handshakes') !== first;
      };
      await eventually('another session', replaced, REKEY_SECONDS * 1000);
      await says(socks);
    });
  });
}
