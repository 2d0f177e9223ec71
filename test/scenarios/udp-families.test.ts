import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { portOf } from '../support/data/address.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { ip } from '../support/netns/site.ts';
import { udpEcho } from '../support/peers/servers.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';

/** A name with addresses of both families, one of which this network has no route for. */
const IPV6_HERE = { name: 'six-here.test', host: 'fd00:77::1', other: '192.0.2.10' };
const IPV4_HERE = { name: 'four-here.test', host: '198.51.100.1', other: '2001:db8::10' };

const password = 'password = "a password"\nmethod = "aes-128-gcm"';

inOwnNetwork(import.meta.url, () => {
  describe('datagrams on a network without routes of one family', () => {
    before(() => {
      ip(`-6 addr add ${IPV6_HERE.host}/128 dev lo nodad`);
      ip(`addr add ${IPV4_HERE.host}/32 dev lo`);
      const file = join(mkdtempSync(join(tmpdir(), 'weir-test-hosts-')), 'hosts');
      const lines = [IPV6_HERE, IPV4_HERE].map(
        ({ name, host, other }) => `${other} ${name}\n${host} ${name}\n`,
      );
      writeFileSync(file, `127.0.0.1 localhost\n${lines.join('')}`);
      execFileSync('mount', ['--bind', file, '/etc/hosts']);
    });

    const asks = async (weir: Weir, host: string, port: number): Promise<void> => {
      using association = await UdpAssociation.open(weir.address('socks'));
      association.send({ host, port }, 'hello');
      assert.equal(String((await association.receive()).data), 'hello');
    };

    for (const { name, host } of [IPV6_HERE, IPV4_HERE]) {
      for (const family of ['auto', 'prefer_ipv4', 'prefer_ipv6']) {
        test(`reach ${name} by ${host} with ${family}`, async () => {
          await using echo = await udpEcho(host);
          const out = freedom('direct', `address_family = "${family}"`);
          await using weir = await Weir.start(socksIn() + out);
          await asks(weir, name, echo.port);
        });
      }

      test(`reach a shadowsocks server at ${name} by ${host}`, async () => {
        await using echo = await udpEcho(host);
        await using server = await Weir.start(
          `[[inbound]]\ntag = "ss"\nprotocol = "shadowsocks"\nlisten = "${host}"\nport = 0\n` +
            `[inbound.settings]\n${password}\n${freedom()}`,
        );
        await using weir = await Weir.start(
          `${socksIn()}[[outbound]]\ntag = "ss"\nprotocol = "shadowsocks"\nserver = "${name}"\n` +
            `port = ${portOf(server.address('ss'))}\n[outbound.settings]\n${password}\n`,
        );
        await asks(weir, host, echo.port);
      });
    }
  });
});
