import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portOf, type Address } from '../../support/data/address.ts';
import { Weir } from '../../support/process/weir.ts';
import { without } from '../../support/programs/peers.ts';
import { SERVER_NAME } from '../../support/ways/certificate.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { secureConfig } from '../support/secure-inbounds.ts';
import { startNginx } from '../support/web-servers.ts';
import { findingsOf, HOLES, SCANS } from './sslyze-findings.ts';

const PATIENCE_MS = 240_000;
const sslyze = programOrSkip('sslyze');

/**
 * What sslyze finds in nginx alone, or differently in nginx; one that
 * is no longer so fails the test.
 */
const DIFFERENCES = ['AES_128_CCM_8', 'AES_256_CCM_8'].map(
  (cipher): readonly [finding: string, weir: string, nginx: string, reason: string] => [
    `tls_1_2_cipher_suites.TLS_ECDHE_ECDSA_WITH_${cipher} ECDH 253`,
    'none',
    'accepted',
    "a short tag is below the security level of Node's OpenSSL",
  ],
);

async function scan(server: Address): Promise<Map<string, string>> {
  const options = ['--mozilla_config', 'disable', '--json_out', '-'];
  const scans = SCANS.map((name) => `--${name}`);
  const target = ['--sni', SERVER_NAME, `127.0.0.1:${portOf(server)}`];
  return findingsOf(await outputOf(sslyze.path, [...options, ...scans, ...target], PATIENCE_MS));
}

/** Findings that differ, as rows of `DIFFERENCES` without their reasons. */
function differencesOf(
  weir: ReadonlyMap<string, string>,
  nginx: ReadonlyMap<string, string>,
): string[][] {
  const names = [...new Set([...weir.keys(), ...nginx.keys()])].toSorted();
  return names
    .map((name) => [name, weir.get(name) ?? 'none', nginx.get(name) ?? 'none'])
    .filter(([, own, other]) => own !== other);
}

test(
  'sslyze finds no known hole in an inbound over TLS, and else what it finds in nginx',
  { skip: without('nginx') || sslyze.skip },
  async (t) => {
    await using weir = await Weir.start(secureConfig());
    await using nginx = await startNginx();
    const expected = await scan(nginx.address);
    for (const tag of ['trojan', 'ws']) {
      await t.test(tag, async (t) => {
        const found = await scan(weir.address(tag));
        const ciphers = [...found.keys()].filter((name) => name.includes('.TLS_'));
        t.diagnostic(`${found.size} findings, ${ciphers.length} of them accepted ciphers`);
        const holes = Object.keys(HOLES).map((name) => [name, found.get(name)]);
        assert.deepEqual(Object.fromEntries(holes), HOLES);
        assert.deepEqual(
          differencesOf(found, expected),
          DIFFERENCES.map(([name, own, other]) => [name, own, other]),
        );
      });
    }
  },
);
