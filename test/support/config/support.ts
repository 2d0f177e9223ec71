import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError } from '@weir/config';
import { FileReadError, type FileReader } from '@weir/config/documents';
import { loadConfig, type LoadedConfig } from '@weir/config/load';
import { RegexCache } from '@weir/proxy/names';
import type { InboundSpec, OutboundSpec, RuleSpec, Spec } from '@weir/proxy/spec';
import { encodeGeoip, encodeGeosite } from '../data/geo-fixture.ts';
import { TestAuthority } from '../data/test-certificates.ts';
import { parseConfig } from './documents.ts';

/** What a configuration means that names no files. */
export const specOf = (text: string): Spec => parse(Buffer.from(text), undefined);

function parse(bytes: Uint8Array, name: string | undefined): Spec {
  return parseConfig(bytes, { file: name });
}

/** Files that exist only in memory. Geo lists are taken from the file system all the same. */
export function fakeFiles(
  contents: Readonly<Record<string, string | Uint8Array>> = {},
): FileReader {
  const read = async (path: string): Promise<Buffer> => {
    const content = contents[path];
    if (content === undefined) throw new FileReadError('no such file or directory');
    return Buffer.from(content);
  };
  return {
    read,
    sha256: async (path) => hash('sha256', await read(path)),
    isPublic: (path) => Promise.resolve(path.includes('public')),
  };
}

/** The whole way from the text to what is started. */
export const load = (
  text: string,
  files: FileReader = fakeFiles(),
  path?: string,
  now?: number,
): Promise<LoadedConfig> =>
  loadConfig({ path, bytes: Buffer.from(text) }, files, {
    regexes: new RegexCache(),
    serveApi: true,
    now,
  });

/** The error of a configuration that must be refused. */
export function errorOf(text: string | Uint8Array, file?: string): ConfigError {
  try {
    parse(Buffer.from(text), file);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
  return assert.fail('it was accepted');
}

/** The same for one that names files. */
export async function loadErrorOf(
  text: string,
  files?: FileReader,
  path?: string,
): Promise<ConfigError> {
  try {
    await load(text, files, path);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
  return assert.fail('it was accepted');
}

export const DIRECT = '[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n';

/** A configuration with one inbound, of which `lines` are all keys but the tag `in`. */
export const inbound = (lines: string): string => `${DIRECT}[[inbound]]\ntag = "in"\n${lines}\n`;

/** A configuration with one outbound, of which `lines` are all keys but the tag `out`. */
export const outbound = (lines: string): string => `[[outbound]]\ntag = "out"\n${lines}\n`;

/** A configuration with one rule to `direct`. */
export const rule = (lines: string): string =>
  `${DIRECT}[[route.rule]]\noutbound = "direct"\n${lines}\n`;

const only = <T>(items: readonly T[]): T => {
  const [item, ...more] = items;
  assert.ok(item !== undefined && more.length === 0, `${items.length} instead of one`);
  return item;
};

export const inboundOf = (lines: string): InboundSpec => only(specOf(inbound(lines)).inbounds);
export const outboundOf = (lines: string): OutboundSpec => only(specOf(outbound(lines)).outbounds);
export const ruleOf = (lines: string): RuleSpec => only(specOf(rule(lines)).route.rules);

/** What is refused, the whole document, the exact message, and where it points. */
export type Row = readonly [what: string, text: string, message: string, place?: string];

/** One test for each row; the place is `line:column (subject)`. */
export function refuses(rows: readonly Row[]): void {
  for (const [what, text, message, place] of rows) {
    test(what, async () => {
      const error = await loadErrorOf(text);
      assert.equal(error.message, message);
      assert.equal(error.kind, 'invalid');
      assert.equal(placeOf(error), place);
    });
  }
}

/** Where an error is, as a row writes it. */
export const placeOf = ({ location, subject }: ConfigError): string | undefined =>
  location && `${location.line}:${location.column} (${subject})`;

/** The same for errors of TOML syntax: only the last line of the message, and a place without a subject. */
export function refusesShape(rows: readonly Row[]): void {
  for (const [what, text, message, place] of rows) {
    test(what, () => {
      const { location, subject, message: found } = errorOf(text);
      assert.ok(location);
      assert.equal(`${location.line}:${location.column}`, place);
      const lines = found.split('\n');
      assert.equal(
        lines[0],
        `TOML parse error at line ${location.line}, column ${location.column}`,
      );
      assert.equal(lines.at(-1), message);
      assert.equal(subject, undefined);
    });
  }
}

const EXAMPLES = join(import.meta.dirname, '../../../config');

/** The examples by name, the geo files and certificates that they name being in `folder`. */
export const exampleFiles = (folder: string): readonly [name: string, text: string][] =>
  readdirSync(EXAMPLES).map((name) => {
    const text = readFileSync(join(EXAMPLES, name), 'utf8');
    return [
      name,
      text.replaceAll(/"(geo\w+\.dat|\w+\.pem)"/g, (_, file) => JSON.stringify(join(folder, file))),
    ];
  });

/** Makes the files of the examples in a new folder. */
export function makeGeoFiles(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-examples-'));
  const site = (code: string) => ({
    code,
    domains: [{ type: 'regex', value: `^${code}[0-9]+\\.`, attributes: { ads: true } } as const],
  });
  const list = (code: string) => ({ code, networks: [{ ip: [192, 0, 2, 0], prefix: 24 }] });
  const sites = ['category-ads-all', 'google', 'de'].map(site);
  writeFileSync(join(folder, 'geosite.dat'), encodeGeosite(sites));
  writeFileSync(join(folder, 'geoip.dat'), encodeGeoip(['de', 'private', 'us'].map(list)));
  const { cert, key } = new TestAuthority().issue({ dns: ['proxy.example.com'] });
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
  return folder;
}
