import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { requestStatus } from '@weir/server/control';
import { Child } from '../support/process/child.ts';
import { freedom } from '../support/process/config.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { download } from '../support/netns/program.ts';
import { FAR, Site } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { Weir } from '../support/process/weir.ts';
import { programOrSkip } from './support/program.ts';
import { shared } from '../support/shared.ts';

/*
 * scapy as the client of a `tun` inbound: segments, fragments and ICMP messages that no kernel sends, and what
 * comes back. The cases are functions of test/programs/scapy/*_cases.py.
 */

const scapy = programOrSkip('scapy');
const FOLDER = fileURLToPath(new URL('scapy', import.meta.url));
/** Bytes of resident memory that hostile packets may leave. */
const MEMORY = 128 << 20;

interface Verdict {
  readonly case: string;
  readonly failure: string | null;
}

/** The verdicts of a script about its cases, one line each. */
async function verdicts(module: string): Promise<readonly Verdict[]> {
  await using script = new Child(scapy.path, ['-B', 'main.py', TUN.name, module], { cwd: FOLDER });
  const { code } = await script.exited;
  assert.equal(code, 0, script.stderr);
  const lines = script.stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Verdict);
}

inOwnNetwork(import.meta.url, () => {
  describe('scapy as the client of a TUN inbound', { skip: scapy.skip }, () => {
    let weir: Weir;

    shared(async (use) => {
      use(await Site.make());
      weir = use(await Weir.start(tunConfig(freedom()), { control: true }));
      await download(FAR.host, 1 << 20);
    });

    for (const [what, module, least] of [
      ['IPv4, IPv6, UDP and ICMP', 'ip_cases', 40],
      ['TCP', 'tcp_cases', 80],
    ] as const) {
      test(what, async (t) => {
        const before = await requestStatus(weir.controlPath);
        const all = await verdicts(module);
        for (const { case: name, failure } of all) {
          await t.test(name, () => assert.equal(failure, null));
        }
        assert.ok(all.length >= least, `${all.length} cases`);
        assert.equal(weir.child.ended, undefined);
        const { memory, event_loop: loop } = await requestStatus(weir.controlPath);
        const grown = memory.resident - before.memory.resident;
        assert.ok(grown < MEMORY, `${grown >> 20} MiB more`);
        t.diagnostic(`${grown >> 20} MiB more; the event loop was late by ${loop?.max} ms at most`);
        // An ordinary program is served as before.
        assert.deepEqual(await download(FAR.host6, 1 << 20), bodyOf(1 << 20));
      });
    }
  });
});
