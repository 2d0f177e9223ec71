import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portOf, type Address } from '../../support/data/address.ts';
import { scratch, Weir } from '../../support/process/weir.ts';
import { without } from '../../support/programs/peers.ts';
import { certificate, rsaCertificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { secureConfig } from '../support/secure-inbounds.ts';
import { startNginx } from '../support/web-servers.ts';
import { findingsOf, HOLES, ROBOT, SCANS } from './sslyze-findings.ts';

const PATIENCE_MS = 240_000;
const sslyze = programOrSkip('sslyze');

type Difference = readonly [finding: string, weir: string, nginx: string, reason: string];

const SHORT_TAG = "a short tag is below the security level of Node's OpenSSL";
const withShortTag = (...names: readonly string[]): readonly Difference[] =>
  names.map((name) => [`tls_1_2_cipher_suites.TLS_${name}`, 'none', 'accepted', SHORT_TAG]);

/** What sslyze finds in nginx alone, by the key of the certificate; what is no longer so fails the test. */
const DIFFERENCES: Readonly<Record<keyof typeof ROBOT, readonly Difference[]>> = {
  ecdsa: withShortTag(
    'ECDHE_ECDSA_WITH_AES_128_CCM_8 ECDH 253',
    'ECDHE_ECDSA_WITH_AES_256_CCM_8 ECDH 253',
  ),
  rsa: withShortTag('RSA_WITH_AES_128_CCM_8', 'RSA_WITH_AES_256_CCM_8'),
};

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

for (const key of ['ecdsa', 'rsa'] as const) {
  test(
    `sslyze finds no known hole in an inbound over TLS, and else what it finds in nginx: ${key}`,
    { skip: without('nginx') || sslyze.skip },
    async (t) => {
      await using folder = await scratch();
      const files = key === 'rsa' ? rsaCertificate(folder.path) : certificate();
      await using weir = await Weir.start(secureConfig(files));
      await using nginx = await startNginx(files);
      const expected = await scan(nginx.address);
      for (const tag of ['trojan', 'ws']) {
        await t.test(tag, async (t) => {
          const found = await scan(weir.address(tag));
          const ciphers = [...found.keys()].filter((name) => name.includes('.TLS_'));
          t.diagnostic(`${found.size} findings, ${ciphers.length} of them accepted ciphers`);
          const holes = { ...HOLES, 'robot.robot_result': ROBOT[key] };
          const seen = Object.keys(holes).map((name) => [name, found.get(name)]);
          assert.deepEqual(Object.fromEntries(seen), holes);
          assert.deepEqual(
            differencesOf(found, expected),
            DIFFERENCES[key].map(([name, own, other]) => [name, own, other]),
          );
        });
      }
    },
  );
}
