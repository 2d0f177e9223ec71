import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { freedom } from '../support/process/config.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { connectError } from '../support/netns/program.ts';
import { tunConfig } from '../support/netns/tun-config.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';

const CONFIG = tunConfig(freedom(), { routes: ['192.0.2.0/24', '2001:db8::/32'] });
const tcpdump = spawnSync('tcpdump', ['--version']).error === undefined;

inOwnNetwork(import.meta.url, () => {
  test('--pcap has the packets of both directions, for tcpdump to read', async (t) => {
    if (!tcpdump) return t.skip('tcpdump is not installed');
    await using folder = await scratch();
    const file = join(folder.path, 'tun.pcapng');
    await using weir = await Weir.start(CONFIG, { args: ['--pcap', file] });
    assert.match(weir.child.stderr, / INFO svc_app: the packets of tun inbounds are written to /);
    // There is no other route, so that the stack answers with an ICMP message.
    for (const host of ['192.0.2.1', '2001:db8::1']) await connectError(host, 80);
    await weir.stop();
    assert.match(weir.child.stderr, / INFO svc_app: \d+ packets in \S+tun\.pcapng$/m);
    const { stdout } = spawnSync('tcpdump', ['-n', '-r', file], { encoding: 'utf8' });
    for (const seen of [
      /^\S+ IP 172\.19\.0\.1\.\d+ > 192\.0\.2\.1\.80: Flags \[S\]/m,
      /^\S+ IP 192\.0\.2\.1 > 172\.19\.0\.1: ICMP net 192\.0\.2\.1 unreachable/m,
      /^\S+ IP6 fd19::1\.\d+ > 2001:db8::1\.80: Flags \[S\]/m,
      /^\S+ IP6 2001:db8::1 > fd19::1: ICMP6, destination unreachable/m,
    ]) {
      assert.match(stdout, seen);
    }
  });

  test('a file that cannot be written to is an error at the start', async () => {
    await using folder = await scratch();
    await using weir = await Weir.launch(CONFIG, {
      args: ['--pcap', join(folder.path, 'no', 'a')],
    });
    const { code } = await weir.child.exited;
    assert.equal(code, 1);
    assert.match(
      weir.child.stderr,
      /ERROR svc_app: failed to start: cannot write packets to .*ENOENT/,
    );
  });

  test('--pcap without a name is refused', async () => {
    const { ended, stderr } = await runWeir(['--pcap', '']);
    assert.equal(ended?.code, 2);
    assert.match(stderr, /--pcap needs the name of a file/);
  });
});
