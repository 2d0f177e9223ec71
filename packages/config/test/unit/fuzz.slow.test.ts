import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import { ConfigError, renderConfigError } from '../../src/errors.ts';
import { loadConfig } from '../../src/load-config.ts';
import { RegexCache } from '@weir/proxy/names';
import { Router } from '@weir/proxy/router';
import { isJsonData } from '../../../../test/support/json-data.ts';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';
import { exampleFiles, fakeFiles, makeGeoFiles } from '../../../../test/support/config/support.ts';

const folder = makeGeoFiles();
after(() => rmSync(folder, { recursive: true }));

/** Valid files to start from; their patterns are compiled once, see RegexCache. */
const FILES = exampleFiles(folder).map(([, text]) => text);
const regexes = new RegexCache();

/** What a mutated file may name; nothing else is there. */
const files = fakeFiles({
  'ca.pem': new TestAuthority().cert,
  '/x': 'no certificate',
  ...Object.fromEntries(
    ['geoip.dat', 'geosite.dat', 'cert.pem', 'key.pem']
      .map((name) => join(folder, name))
      .map((path) => [path, readFileSync(path)]),
  ),
});

/** Pieces of TOML with what stands between them. */
const TOKEN = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\[\[|\]\]|[\w.-]+|\r?\n|[ \t]+|[^]/gu;

/** What gets inserted: things that some rule of the configuration is about. */
const PIECES = [
  '[', ']', '[[', ']]', '{', '}', '=', ',', '.', '"', "'", '#', '\n', '\r', '\\', '"""', "'''",
  '0', '-1', '65536', '70000', '18446744073709551616', '1.5', 'nan', 'true', '1979-05-27', '""',
  '"@x"', '"/x"', '"[::1]"', '"a:1"', '"::/0"', '"10.0.0.1/8"', '"9-1"', '"(a"', '"ws"', '"tls"',
  '"wireguard"', '"hy2"', '"tun"', '"http"', '"socks"', '"freedom"', '"direct"', '"blackhole"',
  '[api]\n', '[dns]\n', '[[balancer]]\n', '[subscribe]\n', '[route]\n', '[[route.rule]]\n',
  '[[inbound]]\n', '[[outbound]]\n', '[inbound.settings]\n', '[outbound.stream]\n', '[a.b]\n',
  'tag = "x"\n', 'protocol = "http"\n', 'outbound = "direct"\n', 'udp_bind = "x"\n', 'port = []\n',
  'domain_regex = ["["]\n', 'geoip = ["de"]\n', 'geosite = ["@a", "google@x"]\n', '"!zz"', '"any"',
  'backend = "https"\n', 'url = "https://@"\n', 'server = "[::1]:53"\n', 'ca_file = "ca.pem"\n',
  'ca_file = "/x"\n', 'ca_file = "y"\n', 'outbounds = ["home"]\n', 'strategy = "x"\n', '"home"',
  '__proto__', 'constructor', '\u0000', 'é', '💡',
]; // prettier-ignore

/** The errors of unreadable files. */
const UNREADABLE =
  /^(dns: |(?:in|out)bound .*: )?cannot read (ca_file|cert_file|key_file|geoip file|geosite file) .*: no such file or directory$/s;

/** The rule that everything else is measured by: a Spec, or one error with what it needs. */
async function check(bytes: Uint8Array): Promise<void> {
  try {
    const { spec, geo } = await loadConfig({ path: 'x.toml', bytes }, files, {
      regexes,
      serveApi: true,
    });
    // Whatever is accepted has all that routing needs.
    assert.ok(new Router(spec.route, { regexes, geo }));
    assert.ok([...spec.outbounds, ...spec.balancers].some(({ tag }) => tag === spec.route.default));
    assert.deepEqual(structuredClone(spec), spec);
    assert.ok(isJsonData(spec));
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    const { kind, location, message } = error;
    assert.equal(kind === 'io', UNREADABLE.test(message), message);
    assert.notEqual(message, '');
    if (!location) {
      assert.equal(message, 'config defines no outbounds');
      return;
    }
    assert.ok(location.line >= 1 && location.column >= 1);
    const place = `\n  at x.toml:${location.line}:${location.column}`;
    const ofSettings =
      /^(?:in|out)bound .*: (?:invalid settings: |invalid uuid "|cannot read )/s.test(message);
    assert.equal(renderConfigError(error).includes(place), !ofSettings);
    const header = `TOML parse error at line ${location.line}, column ${location.column}\n`;
    assert.equal(message.startsWith('TOML parse error'), message.startsWith(header));
  }
}

const anyFile = fc.constantFrom(...FILES);

/** A place as a share of the length, so that it means something in every file. */
const anyPlace = fc.double({ min: 0, max: 1, noNaN: true });

test('a file with tokens taken out, put in and exchanged is a Spec or an error', async () => {
  const edit = fc.record({
    place: anyPlace,
    removed: fc.nat(3),
    put: fc.oneof(fc.constant(''), fc.constantFrom(...PIECES)),
  });
  await fc.assert(
    fc.asyncProperty(
      anyFile,
      fc.array(edit, { minLength: 1, maxLength: 4 }),
      async (file, edits) => {
        const tokens = file.match(TOKEN) ?? [];
        for (const { place, removed, put } of edits) {
          tokens.splice(Math.floor(place * tokens.length), removed, put);
        }
        await check(Buffer.from(tokens.join('')));
      },
    ),
    { numRuns: 600 },
  );
});

test('a file with tokens of another is a Spec or an error', async () => {
  await fc.assert(
    fc.asyncProperty(anyFile, anyFile, anyPlace, anyPlace, async (one, other, from, to) => {
      const head = one.match(TOKEN) ?? [];
      const tail = other.match(TOKEN) ?? [];
      const text = [
        ...head.slice(0, Math.floor(from * head.length)),
        ...tail.slice(Math.floor(to * tail.length)),
      ].join('');
      await check(Buffer.from(text));
    }),
    { numRuns: 200 },
  );
});

test('a file with changed bytes is a Spec or an error', async () => {
  const edit = fc.record({
    place: anyPlace,
    removed: fc.nat(4),
    put: fc.uint8Array({ maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      anyFile,
      fc.array(edit, { minLength: 1, maxLength: 4 }),
      async (file, edits) => {
        const bytes = [...Buffer.from(file)];
        for (const { place, removed, put } of edits) {
          bytes.splice(Math.floor(place * bytes.length), removed, ...put);
        }
        await check(Uint8Array.from(bytes));
      },
    ),
    { numRuns: 500 },
  );
});

test('any bytes are a Spec or an error', async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 200, size: 'max' }), check), {
    numRuns: 200,
  });
});
