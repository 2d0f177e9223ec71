import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { examplesFolder } from '../support/library/examples.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, Site } from '../support/netns/site.ts';
import { WireGuardPeer, withoutWireGuard } from '../support/netns/wireguard-peer.ts';
import { Child } from '../support/process/child.ts';
import { within } from '../support/wait.ts';
import { shared } from '../support/shared.ts';

const skip = withoutWireGuard();

/** The file of `wg-quick` for the outbound of a configuration. */
function wgQuick(outbound: string): string {
  const valueOf = (key: string): string => {
    const value = new RegExp(`^${key} = (.+)$`, 'm').exec(outbound)?.[1];
    assert.ok(value !== undefined, key);
    return value.replaceAll(/["[\]]/g, '');
  };
  return [
    '[Interface]',
    `PrivateKey = ${valueOf('private_key')}`,
    `Address = ${valueOf('address').replaceAll(',', ', ')}`,
    '[Peer]',
    `PublicKey = ${valueOf('peer_public_key')}`,
    `Endpoint = ${valueOf('endpoint')}`,
    'AllowedIPs = 0.0.0.0/0',
  ].join('\n');
}

if (skip !== false) test('the example wireguard.ts', { skip }, () => undefined);
else {
  inOwnNetwork(import.meta.url, () => {
    shared(async (use) => {
      use(await Site.make());
    });
    test('the example wireguard.ts gets a page from behind the tunnel, without a route to it', async () => {
      await using peer = await WireGuardPeer.start();
      await using folder = await examplesFolder();
      await writeFile(join(folder.path, 'wg0.conf'), wgQuick(peer.outbound()));
      const args = ['wireguard.ts', 'wg0.conf', `http://${FAR.host}/`];
      // Without any capability, so that it could make neither a device nor a route.
      const prefix = ['setpriv', '--bounding-set=-all', '--inh-caps=-all'];
      await using child = new Child(process.execPath, args, { cwd: folder.path, prefix });
      const { code } = await within(child.exited, 'the end of the example');
      assert.equal(code, 0, child.stderr);
      assert.match(child.stdout, /^200 <title>A page</);
      assert.notEqual(peer.show('latest-handshakes'), '0');
    });
  });
}
