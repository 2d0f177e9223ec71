import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Manifest, Packages } from './bundle.ts';
import { OWN, publishedManifest } from './manifest.ts';
import { ROOT } from './root.ts';
import { sourceDate } from './source-date.ts';

/*
 * A bill of materials in CycloneDX 1.6 (ECMA-424) for each form that is published: what is in it, by which version and
 * licence, and the digest under which npm has fetched it. The same build has the same one, byte by byte.
 */

export interface SbomSubject {
  /** The file that the bill is of. */
  readonly path: string;
  /** How that form is called in package URLs, such as `npm`. */
  readonly purl: string;
  /** The name of the package; that of the command's by default. */
  readonly name?: string;
  readonly packages: Packages;
  /** Versions of what npm installs beside it for each platform; those of the command's package by default. */
  readonly installed?: Readonly<Record<string, string>>;
  /** The binary of Node that it contains. */
  readonly node?: string;
}

interface Component {
  readonly type: 'application' | 'library' | 'platform';
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: 'required' | 'optional';
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly { readonly license: { readonly id: string } }[];
  readonly cpe?: string;
  readonly purl?: string;
  readonly components?: readonly Component[];
}

/** What process.versions has beside the version of a library that Node contains. */
const NO_LIBRARY: ReadonlySet<string> = new Set(['node', 'modules', 'napi', 'unicode', 'tz']);

/** @returns the document, as JSON */
export async function sbom(subject: SbomSubject): Promise<string> {
  const content = await readFile(subject.path);
  const root: Component = {
    type: 'application',
    'bom-ref': subject.purl,
    name: subject.name ?? OWN.name,
    version: OWN.version,
    hashes: [{ alg: 'SHA-256', content: createHash('sha256').update(content).digest('hex') }],
    licenses: [{ license: { id: OWN.license } }],
    purl: subject.purl,
  };
  const components = [
    ...Array.from(subject.packages, ([folder, manifest]) =>
      isNode(manifest) ? undefined : packageComponent(folder, manifest),
    ).filter((component) => component !== undefined),
    subject.node === undefined ? undefined : await nodeComponent(subject),
    ...(subject.node === undefined ? installedComponents(subject) : []),
  ].filter((component) => component !== undefined);
  const body = {
    metadata: { timestamp: new Date(sourceDate()).toISOString(), component: root },
    components,
    dependencies: [
      { ref: root['bom-ref'], dependsOn: components.map((component) => component['bom-ref']) },
      ...components.map((component) => ({ ref: component['bom-ref'] })),
    ],
  };
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(body))}`,
    version: 1,
    ...body,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

const isNode = ({ name }: Manifest): boolean => /^node-\w+-/.test(name);

const npmUrl = (name: string, version: string): string =>
  `pkg:npm/${name.replace(/^@/, '%40')}@${version}`;

function packageComponent(folder: string, { name, version, license }: Manifest): Component {
  const [, scope, rest = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const digest = integrityOf(folder);
  return {
    type: 'library',
    'bom-ref': npmUrl(name, version),
    ...(scope === undefined ? {} : { group: scope }),
    name: rest,
    version,
    scope: 'required',
    ...(digest === undefined ? {} : { hashes: [digest] }),
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
    purl: npmUrl(name, version),
  };
}

/** What npm installs beside the package for each platform; none of it is in the tarball. */
function installedComponents({
  installed = publishedManifest().optionalDependencies,
}: SbomSubject): Component[] {
  return Object.entries(installed).map(([name, version]) => ({
    ...packageComponent(join('node_modules', name), { name, version }),
    scope: 'optional',
  }));
}

/**
 * Node, with the libraries that are in it.
 * @throws {Error} where this is not the Node whose libraries are known
 */
async function nodeComponent({ packages, node = '' }: SbomSubject): Promise<Component> {
  const { name = '', version } = [...packages.values()].find(isNode) ?? {};
  if (version === undefined || process.versions.node !== version) {
    throw new Error(`the libraries in Node ${version} are not those of ${process.versions.node}`);
  }
  const binary = createHash('sha256').update(await readFile(node));
  return {
    type: 'platform',
    'bom-ref': npmUrl(name, version),
    name,
    version,
    scope: 'required',
    // Of its binary as it is published, before its symbols are removed.
    hashes: [{ alg: 'SHA-256', content: binary.digest('hex') }],
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    purl: npmUrl(name, version),
    components: Object.entries(process.versions)
      .filter(([library, known]) => !NO_LIBRARY.has(library) && Boolean(known))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([library, known = '']) => ({
        type: 'library',
        'bom-ref': `${npmUrl(name, version)}#${library}`,
        name: library,
        version: known,
      })),
  };
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
}

const LOCK = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;

/** What the lock file has of a package. */
function integrityOf(folder: string): { alg: string; content: string } | undefined {
  const { integrity = '' } = LOCK.packages[folder] ?? {};
  const [, digest] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (digest === undefined) return undefined;
  return { alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') };
}

/** A UUID of version 8 (RFC 9562 §5.8) that the content alone decides. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
